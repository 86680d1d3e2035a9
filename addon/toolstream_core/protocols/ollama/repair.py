"""Ollama streams, judged and repaired: `message.tool_calls` in JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.defects.finish import CALLS_IN_DONE, IN_BAND_ERROR
from toolstream_core.defects.framing import UNTERMINATED_EVENT
from toolstream_core.protocols.ollama.edit import Entry, Payload, entries, out_of_done, with_calls
from toolstream_core.protocols.ollama.half_answers import OllamaHalfAnswerRepairer
from toolstream_core.protocols.requests.tools import earlier_ids
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.stages.repair.whole_call import WholeCallJudge
from toolstream_core.stages.stage import Holds
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.sse import BOM

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context


class OllamaRepairer(Repairer, Holds):
    """Judges and repairs one Ollama stream."""

    holding = False

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._judge = WholeCallJudge(context, self.reporter, earlier_ids)
        self._last: tuple[Frame, list[Frame]] | None = None
        """The last line, which lacks its line feed, and what it becomes where the body ends cleanly."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, number = event.frame, event.frame.number
        if event.content.error:
            self.report(IN_BAND_ERROR, number, f"the provider reports an error: {event.content.error}")
        for fragment, call in resolved:
            self._judge.identity(fragment, call, number)
        out = self._with_calls_repaired(event, entries(frame.json, resolved))
        before = () if self._last is None else self.release()
        if frame.trailing and frame.data is not None:
            self._last, self.holding = (frame, out), True
            return before
        self._changed(frame, out)
        return [*before, *out]

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`: the last line gets its line feed; half a line stays half, and at a break any."""
        last = self._last
        self._last, self.holding = None, False
        if last is None:
            return ()
        frame, out = last
        if not clean:
            return [frame]
        message = "the last line lacks its line feed"
        if isinstance(frame.json, dict) and self.report(UNTERMINATED_EVENT, frame.number, message):
            out = [*out[:-1], Frame(out[-1].raw + b"\n", frame.number, out[-1].data)]
        self._changed(frame, out)
        return out

    @override
    def release(self) -> Iterable[Frame]:
        last = self._last
        self._last, self.holding = None, False
        return [] if last is None else [last[0]]

    def _changed(self, frame: Frame, out: list[Frame]) -> None:
        if len(out) != 1 or out[0] is not frame:
            self.audit(frame.number, [frame], out)

    def _with_calls_repaired(self, event: Event, found: list[Entry]) -> list[Frame]:
        """The line with its calls as they have to be: under the tools' names, and before the line that says done."""
        frame = event.frame
        calls = [self._repaired(one, frame.number) for one in found]
        changed = [call for call, one in zip(calls, found, strict=True) if call is not one.entry]
        payload, writer = frame.json, self._context.writer
        if found and event.content.end:
            message = "the line that says done carries calls, and readers may stop at that first"
            if self.report(CALLS_IN_DONE, frame.number, message, found[0].call):
                ahead, rest = out_of_done(payload, calls)
                return _marked(writer.make(ahead, frame.number), writer.rewrite(frame, rest))
        return [writer.rewrite(frame, with_calls(payload, calls)) if changed else frame]

    def _repaired(self, one: Entry, number: int) -> Payload:
        """The call under the name of the tool that is offered, its arguments an object."""
        arguments = ("arguments", one.entry["function"].get("arguments"))
        edits = self._judge.changes(one.fragment, one.call, arguments, number)
        return one.with_function(**edits) if edits else one.entry


def _marked(first: Frame, second: Frame) -> list[Frame]:
    """Two lines for one; a byte order mark stands before the first of them."""
    if not second.raw.lstrip().startswith(BOM):
        return [first, second]
    rest = second.raw.lstrip().removeprefix(BOM)
    return [
        Frame(BOM + first.raw, first.number, first.data),
        Frame(rest, second.number, second.data, trailing=second.trailing),
    ]


REPAIRS: Final[tuple[type[Repairer], ...]] = (OllamaRepairer,)
AT_END: Final[type[Repairer]] = OllamaHalfAnswerRepairer
