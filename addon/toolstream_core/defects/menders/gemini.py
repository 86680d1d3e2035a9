"""Gemini streams, judged and mended: `functionCall` parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls import known
from toolstream_core.defects.ending import IN_BAND_ERROR
from toolstream_core.defects.identity import DECORATED_NAME, MISSING_NAME, ODD_ID, REUSED_ID
from toolstream_core.defects.menders.names import plain_name
from toolstream_core.defects.stage import Context, Mender
from toolstream_core.defects.wording import PLACEHOLDER_ARGUMENTS
from toolstream_core.dialects import request
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame

# A part with a name and no arguments may be followed by a nameless part with them (vscode-unify-chat-provider#48). So
# an event whose last call is such a part waits for the next event, unless the tool is known to take nothing.

_MAX_ID = 64
_FAILED = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"})


class GeminiMender(Mender):
    """Judges and mends one Gemini stream."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self._held: Frame | None = None
        """An event that ends in a call without arguments."""
        self._earlier: frozenset[str] | None = None
        self._partial = False

    @property
    def holding(self) -> bool:
        """As `Stage.holding`."""
        return self._held is not None

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        frame, number = event.frame, event.frame.number
        if frame.data is None:
            return [*self.release(), frame]
        if event.said.error:
            self.tell(IN_BAND_ERROR, number, f"the provider reports an error: {event.said.error}")
        for finish in event.said.finishes:
            if finish.reason in _FAILED and not event.said.error:
                self.tell(IN_BAND_ERROR, number, f"the provider gave up on a call: {finish.reason}")
        held = self._merged(frame, heard)
        if held is not None:
            return held
        named = self._named(frame, heard)
        before = list(self.release())
        if self._may_be_placeholder(named, heard):
            self._held = named
            return before
        return [*before, named]

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        del clean
        return self.release()

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`."""
        held, self._held = self._held, None
        return [] if held is None else [held]

    def _merged(self, frame: Frame, heard: Sequence[Heard]) -> list[Frame] | None:
        """The event that waited, with the arguments of a nameless part that follows it."""
        if self._held is None or len(heard) != 1 or known(heard[0].fragment.name):
            return None
        part = _calls(frame.json)
        args = look.get(part[0], "functionCall", "args") if part else None
        if not isinstance(args, dict) or not args:
            return None
        held = self._held
        message = "the call's part has no arguments, and a nameless part brings them"
        if not self.tell(PLACEHOLDER_ARGUMENTS, frame.number, message, heard[0].call):
            return None
        self._held = None
        payload = _with_call(held.json, _calls(held.json)[-1], lambda call: {**call, "args": args})
        merged = self._context.writer.rewrite(held, payload)
        rest = _without_call(frame.json, part[0])
        out = [merged, self._context.writer.rewrite(frame, rest)]
        self.audit(frame.number, [held, frame], out)
        return out

    def _named(self, frame: Frame, heard: Sequence[Heard]) -> Frame:
        """The event with the names of the tools that are offered."""
        out = frame
        for fragment, call in heard:
            name = fragment.name if isinstance(fragment.name, str) else ""
            self._identity(frame.number, call.id, name, heard)
            plain = plain_name(name, self._context.schemas) if name else name
            message = f"the name is {name!r}, the tool is {plain}"
            if plain != name and self.tell(DECORATED_NAME, frame.number, message, call):
                mine = [one for one in _calls(out.json) if look.get(one, "functionCall", "name") == name]
                payload = _with_call(out.json, mine[0], lambda call, plain=plain: {**call, "name": plain})
                out = self._context.writer.rewrite(out, payload)
        if out is not frame:
            self.audit(frame.number, [frame], [out])
        return out

    def _identity(self, number: int, identity: str, name: str, heard: Sequence[Heard]) -> None:
        call = heard[0].call
        if self._earlier is None:
            self._earlier = request.earlier_ids(self._context.exchange.request)
        if identity in self._earlier:
            self.tell(REUSED_ID, number, f"id {identity} was that of a call of an earlier turn", call)
        if len(identity) > _MAX_ID:
            self.tell(ODD_ID, number, f"the id has {len(identity)} characters", call)
        if not name and not any(one.call.name for one in heard):
            self.tell(MISSING_NAME, number, "the call has no name", call)

    def _may_be_placeholder(self, frame: Frame, heard: Sequence[Heard]) -> bool:
        if not heard or not self.on(PLACEHOLDER_ARGUMENTS):
            return False
        fragment, call = heard[-1]
        function = look.get(_calls(frame.json)[-1], "functionCall") if _calls(frame.json) else None
        if not isinstance(function, dict) or {"willContinue", "partialArgs"} & function.keys():
            return False
        empty = function.get("args") in ({}, None)
        return bool(known(fragment.name)) and empty and not self._context.takes_none(call.name)


def _calls(payload: Json) -> list[Json]:
    """The parts that are calls."""
    return [
        part
        for candidate in look.items(look.get(payload, "candidates"))
        for part in look.items(look.get(candidate, "content", "parts"))
        if isinstance(look.get(part, "functionCall"), dict)
    ]


def _with_call(payload: Json, wanted: Json, change: object) -> Json:
    """The payload with one part's call changed."""
    assert callable(change)
    return _parts(
        payload, lambda part: {**part, "functionCall": change(part["functionCall"])} if part is wanted else part
    )


def _without_call(payload: Json, unwanted: Json) -> Json:
    return _parts(payload, lambda part: None if part is unwanted else part)


def _parts(payload: Json, change: object) -> Json:
    assert callable(change)
    candidates: list[Json] = []
    for candidate in look.items(look.get(payload, "candidates")):
        content = look.get(candidate, "content")
        if not isinstance(content, dict):
            candidates.append(candidate)
            continue
        parts = [changed for part in look.items(content.get("parts")) if (changed := change(part)) is not None]
        candidates.append({**candidate, "content": {**content, "parts": parts}})
    return {**payload, "candidates": candidates}
