"""Ollama streams, judged and mended: `message.tool_calls` in JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.ending import CALLS_IN_DONE, IN_BAND_ERROR
from toolstream_core.defects.framing import UNTERMINATED_EVENT
from toolstream_core.defects.identity import DECORATED_NAME, MISSING_NAME
from toolstream_core.defects.menders.names import plain_name
from toolstream_core.defects.stage import Mender
from toolstream_core.model import ABSENT
from toolstream_core.wire import look
from toolstream_core.wire.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard
    from toolstream_core.model import Event, Json


class OllamaMender(Mender):
    """Judges and mends one Ollama stream."""

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        frame, number = event.frame, event.frame.number
        if event.said.error:
            self.tell(IN_BAND_ERROR, number, f"the provider reports an error: {event.said.error}")
        out = [self._named(frame, heard)]
        if heard and look.get(frame.json, "done") is True:
            message = "the line that says done carries calls"
            if self.tell(CALLS_IN_DONE, number, message, heard[0].call):
                out = self._split(out[0])
        if frame.trailing and frame.json is not ABSENT and self.on(UNTERMINATED_EVENT):
            self.tell(UNTERMINATED_EVENT, number, "the last line lacks its line feed")
            last = out[-1]
            out[-1] = Frame(last.raw.rstrip(b"\n") + b"\n", last.number, last.data)
        if len(out) != 1 or out[0] is not frame:
            self.audit(number, [frame], out)
        return out

    def _named(self, frame: Frame, heard: Sequence[Heard]) -> Frame:
        """The line with the names of the tools that are offered."""
        names: dict[str, str] = {}
        for fragment, call in heard:
            name = fragment.name if isinstance(fragment.name, str) else ""
            if not name:
                self.tell(MISSING_NAME, frame.number, "the call has no name", call)
                continue
            plain = plain_name(name, self._context.schemas)
            message = f"the name is {name!r}, the tool is {plain}"
            if plain != name and self.tell(DECORATED_NAME, frame.number, message, call):
                names[name] = plain
        if not names:
            return frame
        entries = [_renamed(entry, names) for entry in look.items(look.get(frame.json, "message", "tool_calls"))]
        return self._context.writer.rewrite(frame, _with_calls(frame.json, entries))

    def _split(self, frame: Frame) -> list[Frame]:
        """The calls in a line of their own before the one that ends the answer."""
        payload: Json = frame.json
        entries = look.items(look.get(payload, "message", "tool_calls"))
        model = {"model": payload["model"]} if "model" in payload else {}
        calls = {"role": "assistant", "content": "", "tool_calls": entries}
        first = self._context.writer.make({**model, "message": calls, "done": False}, frame.number)
        rest = {key: value for key, value in payload["message"].items() if key != "tool_calls"}
        return [first, self._context.writer.rewrite(frame, {**payload, "message": rest})]


def _renamed(entry: Json, names: dict[str, str]) -> Json:
    function = look.get(entry, "function")
    name = look.get(function, "name")
    if not isinstance(function, dict) or not isinstance(name, str) or name not in names:
        return entry
    return {**entry, "function": {**function, "name": names[name]}}


def _with_calls(payload: Json, entries: list[Json]) -> Json:
    return {**payload, "message": {**payload["message"], "tool_calls": entries}}
