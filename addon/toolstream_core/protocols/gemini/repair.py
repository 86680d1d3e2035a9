"""Gemini streams, judged and repaired: `functionCall` parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_text import says_nothing
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.arguments import PLACEHOLDER_ARGUMENTS
from toolstream_core.defects.finish import IN_BAND_ERROR
from toolstream_core.defects.identity import (
    DOUBLED_CALL,
    DUPLICATE_ID,
)
from toolstream_core.protocols.gemini.edit import Payload, Piece, Place, edited, pieces
from toolstream_core.protocols.gemini.half_answers import GeminiHalfAnswerRepairer
from toolstream_core.protocols.requests.tools import earlier_ids
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.stages.repair.sse import SseRepairer
from toolstream_core.stages.repair.whole_call import WholeCallJudge
from toolstream_core.stages.stage import Holds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

# A part with a name and no arguments may be followed by a nameless part with them (vscode-unify-chat-provider#48).
# So an event waits for the next one where its last call is such a part, unless the tool takes no arguments or the
# event finishes the answer.

FAILED: Final = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "MISSING_THOUGHT_SIGNATURE",
        "TOO_MANY_TOOL_CALLS",
        "UNEXPECTED_TOOL_CALL",
    }
)
"""Finish reasons of an answer that was given up: https://ai.google.dev/api/generate-content#FinishReason."""
_PATIENCE = 8
"""Comments behind an event that waits: where more come the stream is slow, and the event goes on."""

MAX_TWINS = 16
"""Calls of one id with which a further one is compared."""

type Edits = dict[Place, tuple[Payload, ...]]


class GeminiRepairer(Repairer, Holds):
    """Judges and repairs one Gemini stream."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._held: Frame | None = None
        """An event whose last call has no arguments."""
        self._edits: Edits = {}
        """What is to be changed in it."""
        self._comments: list[Frame] = []
        """What came behind it."""
        self._blank: dict[int, Piece] = {}
        """The parts without arguments of the last event, by their call."""
        self._judge = WholeCallJudge(context, self.reporter, earlier_ids)
        self._earlier_calls: dict[tuple[int, str], list[tuple[str, str]]] = {}
        """Names and arguments by candidate and id."""

    @property
    @override
    def holding(self) -> bool:
        return self._held is not None

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, number = event.frame, event.frame.number
        if frame.data is None:
            return self._queued(frame)
        if event.content.error or event.content.finishes:
            self._failed(event)
        found = pieces(frame.json, resolved)
        edits: Edits = {}
        for piece in found:
            self._judge.identity(piece.fragment, piece.call, number)
            arguments = ("args", piece.part[piece.key].get("args"))
            changes = self._judge.changes(piece.fragment, piece.call, arguments, number)
            if changes:
                _edit(edits, piece, changes)
            self._again(piece, edits, number)
        blank = self._joined(found, edits, number)
        out = self._let_go() if self._held is not None or self._comments else []
        self._blank = {} if event.content.finishes else blank
        if self._blank and self.on(PLACEHOLDER_ARGUMENTS):
            self._held, self._edits = frame, edits
            return out
        return [*out, self._written(frame, edits)]

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        del clean
        return self._let_go()

    @override
    def release(self) -> Iterable[Frame]:
        held, self._held = self._held, None
        comments, self._comments = self._comments, []
        return comments if held is None else [held, *comments]

    def _let_go(self) -> list[Frame]:
        """What waited, with its changes."""
        if self._held is None:
            return list(self.release())
        first = self._written(self._held, self._edits)
        self._edits = {}
        return [first, *list(self.release())[1:]]

    def _written(self, frame: Frame, edits: Edits) -> Frame:
        if not edits:
            return frame
        out = self._context.writer.rewrite(frame, edited(frame.json, edits))
        self.audit(frame.number, [frame], [out])
        return out

    def _queued(self, frame: Frame) -> Iterable[Frame]:
        """A comment stays behind the event that waits."""
        if self._held is not None and len(self._comments) < _PATIENCE:
            self._comments.append(frame)
            return ()
        return [*self._let_go(), frame]

    def _failed(self, event: Event) -> None:
        content, number = event.content, event.frame.number
        if content.error:
            self.report(IN_BAND_ERROR, number, f"the provider reports an error: {content.error}")
            return
        for finish in content.finishes:
            if finish.reason in FAILED:
                self.report(IN_BAND_ERROR, number, f"the provider gave up on a call: {finish.reason}")

    def _again(self, piece: Piece, edits: Edits, number: int) -> None:
        """A call under the id of an earlier one: that call again, or another, which gets an id of its own."""
        identity, arguments = nonblank(piece.fragment.id), piece.fragment.arguments
        name = nonblank(piece.fragment.name)
        if not identity or not name or piece.partial or not isinstance(arguments, str) or says_nothing(arguments):
            return
        before = self._earlier_calls.setdefault((piece.fragment.choice, identity), [])
        if [one for one in before if one[0] == name and same_arguments(one[1], arguments)]:
            if self.report(DOUBLED_CALL, number, "the call was said before", piece.call):
                edits[piece.place] = ()
            return
        if before and self.report(DUPLICATE_ID, number, f"id {identity} is that of another call", piece.call):
            _edit(edits, piece, {"id": self._context.ids.make("call_")})
        if len(before) < MAX_TWINS:
            before.append((name, arguments))

    def _joined(self, found: list[Piece], edits: Edits, number: int) -> dict[int, Piece]:
        """Put arguments to the name before them; the parts that may still get some."""
        here: dict[int, Piece] = {}
        last = {piece.fragment.choice: id(piece.call) for piece in found}
        for piece in found:
            key = id(piece.call)
            if nonblank(piece.fragment.name):
                if _may_be_blank(piece) and piece.call.name not in self._context.parameterless:
                    here[key] = _as_edited(piece, edits)
                continue
            opener = here.pop(key, None)
            changed, where = (opener, edits) if opener else (self._blank.pop(key, None), self._edits)
            if changed is None or piece.partial or says_nothing(piece.fragment.arguments):
                continue
            message = "a part names the call without arguments, and a nameless one brings them"
            repair = self.report(PLACEHOLDER_ARGUMENTS, number, message, piece.call)
            if repair and (opener or self._held is not None):
                where[changed.place] = (_merged(changed, _as_edited(piece, edits)),)
                edits[piece.place] = ()
                fragment = changed.fragment._replace(arguments=piece.fragment.arguments)
                self._again(changed._replace(fragment=fragment), where, number)
        return {key: piece for key, piece in here.items() if key in last.values()}


def _as_edited(piece: Piece, edits: Edits) -> Piece:
    """A part with what was changed in it so far."""
    changed = edits.get(piece.place)
    return piece._replace(part=changed[0]) if changed else piece


def _edit(edits: Edits, piece: Piece, fields: Payload) -> None:
    """Change what a part says of its call, beside what was changed in it before."""
    part = _as_edited(piece, edits).part
    edits[piece.place] = ({**part, piece.key: {**part[piece.key], **fields}},)


def _may_be_blank(piece: Piece) -> bool:
    """Whether the part names a call and may leave its arguments to a nameless one."""
    return says_nothing(piece.fragment.arguments) and not piece.partial


def _merged(opener: Piece, piece: Piece) -> Payload:
    """The part that names the call, with the arguments of the nameless one and what else only that has."""
    function_call = {
        **opener.function_call,
        **{key: value for key, value in piece.function_call.items() if not opener.function_call.get(key)},
    }
    rest = {key: value for key, value in piece.part.items() if key not in opener.part and key != piece.key}
    return {**opener.with_function_call(function_call), **rest}


REPAIRS: Final[tuple[type[Repairer], ...]] = (SseRepairer, GeminiRepairer)
AT_END: Final[type[Repairer]] = GeminiHalfAnswerRepairer
