"""Reports tool calls that a model wrote as text, and converts them to calls if the repair is on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, override

from toolstream_core.calls import ResolvedFragment
from toolstream_core.defects.leak import LEAKED_TWICE
from toolstream_core.model import Event, Json
from toolstream_core.stages.context import Context, Promotion
from toolstream_core.stages.leaks.scanner import Leaked, Scanner
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame

# Text becomes a call only at the finish reason: until then the same call may still arrive as a proper tool call, and
# would run twice. Only tools that the request offers are called, and the text itself is not removed.

_PLACES: Final = frozenset({"index", "output_index", "contentBlockIndex"})
"""Keys for the position of a content block or output item."""


class LeakedCallRepairer(Repairer):
    """Scans the text and the reasoning of one stream. Runs before the protocol's own repairer."""

    skips_calls = True
    holding = False
    """Whether the text ends with the possible beginning of a call's markup."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._text = Scanner(context.schemas)
        self._thought = Scanner(context.schemas)
        self._found: list[Leaked] = []
        self._called: set[str] = set()
        """Names of the tools that are called properly."""
        self._calls: set[int] = set()
        """Those calls, by `id`."""
        self._top = -1
        """The highest index in use, or that another repair may assign."""
        self._has_ended = False
        self.holding = self._text.open

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, content = event.frame, event.content
        if frame.data is None:
            return (frame,)
        for fragment, call in resolved:
            self._called.add(self._context.tool(call.name))
            self._calls.add(id(call))
            place = fragment.index if isinstance(fragment.index, int) else -1
            self._top = max(self._top, place, len(self._calls) - 1)
        payload: Json = frame.json if frame.parsed else None
        if isinstance(payload, dict) and not _PLACES.isdisjoint(payload):
            for key in _PLACES:
                at = payload.get(key, -1)
                if type(at) is not int:
                    at = json_access.integer(at)
                if isinstance(at, int) and at > self._top:
                    self._top = at
        if content.text or content.thought:
            self._scan(event)
        if content.end or (content.finishes and any(finish.reason for finish in content.finishes)):
            return self._finished(event)
        return (frame,)

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        return ()

    def _scan(self, event: Event) -> None:
        """Scan the text and the reasoning of an event."""
        content = event.content
        if content.text and not content.end:
            self._report_all(self._text.add(content.text), event)
        if content.thought:
            self._report_all(self._thought.add(content.thought), event)
        self.holding = self._text.open or self._thought.pending

    def _finished(self, event: Event) -> Iterable[Frame]:
        """At the end of the response: report the calls in the complete text, and convert them if that is on."""
        if self._has_ended:
            return (event.frame,)
        self._has_ended = True
        self._report_all([*self._text.end(), *self._thought.end()], event)
        self.holding = self._text.open or self._thought.pending
        twice = [one for one in self._found if self._context.tool(one.name) in self._called]
        if twice:
            message = f"{twice[0].name} is called in text and made as a call too"
            self.report(LEAKED_TWICE, event.frame.number, message)
        wanted = [one for one in self._found if one.name in self._context.schemas and one not in twice]
        wanted = [one for one in wanted if self.on(one.defect)]
        promote = self._context.promote
        if not wanted or promote is None or not event.content.finishes:
            return (event.frame,)
        for one in wanted:
            self.report(one.defect, event.frame.number, f"a call of {one.name} is text")
        calls = [(self._context.ids.make(self._context.id_prefix), one) for one in wanted]
        choice = event.content.finishes[0].choice
        out = promote(Promotion(event, calls, self._top + 1, len(self._calls), self._context.writer, choice))
        self.audit(event.frame.number, [event.frame], out)
        return out

    def _report_all(self, found: list[Leaked], event: Event) -> None:
        for one in found:
            self._found.append(one)
            self.report(one.defect, event.frame.number, f"a call of {one.name} is text")
