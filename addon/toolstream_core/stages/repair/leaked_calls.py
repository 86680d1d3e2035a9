"""Calls that are text, in any protocol: told, and made where that was asked for by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.defects.leak import LEAKED_TWICE
from toolstream_core.stages.leaks.scanner import Leaked, Scanner
from toolstream_core.stages.promotion import Promotion
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.stages.stage import Holds, Indifferent
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

# A call is made of text only where the answer's finish comes: until then it may still be made properly, and would be
# run twice. Only a tool that the request offers is called, and the text stays where it is.

_PLACES: Final = frozenset({"index", "output_index", "contentBlockIndex"})
"""Keys of the place of a content block or output item."""


class LeakedCallRepairer(Repairer, Holds, Indifferent):
    """Watches the text and the thoughts of one stream. Stands before the protocol's own mender."""

    holding = False
    """Whether text may go on with a markup."""

    def __init__(self, context: Context) -> None:
        """As `Repairer`."""
        super().__init__(context)
        self._text = Scanner(context.schemas)
        self._thought = Scanner(context.schemas)
        self._found: list[Leaked] = []
        self._made: set[str] = set()
        self._calls: set[int] = set()
        self._top = -1
        """The highest place that anything has, or may get where places are mended."""
        self._over = False
        self.holding = self._text.open

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, said = event.frame, event.content
        if frame.data is None:
            return (frame,)
        for fragment, call in resolved:
            self._made.add(call.name)
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
        if said.text or said.thought:
            self._look_at(event)
        if said.end or (said.finishes and any(finish.reason for finish in said.finishes)):
            return self._finished(event)
        return (frame,)

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        del clean
        return ()

    def _look_at(self, event: Event) -> None:
        """Look at the text and the thoughts of an event."""
        said = event.content
        if said.text and not said.end:
            self._report_all(self._text.add(said.text), event)
        if said.thought:
            self._report_all(self._thought.add(said.thought), event)
        self.holding = self._text.open or self._thought.pending

    def _finished(self, event: Event) -> Iterable[Frame]:
        """The answer is over: what the whole text is, and calls to be made of it."""
        if self._over:
            return (event.frame,)
        self._over = True
        self._report_all([*self._text.end(), *self._thought.end()], event)
        self.holding = self._text.open or self._thought.pending
        twice = [one for one in self._found if one.name in self._made]
        if twice:
            message = f"{twice[0].name} is called in text and made as a call too"
            self.report(LEAKED_TWICE, event.frame.number, message)
        wanted = [one for one in self._found if one.name in self._context.schemas and one not in twice]
        wanted = [one for one in wanted if self.on(one.row)]
        promote = self._context.promote
        if not wanted or promote is None or not event.content.finishes:
            return (event.frame,)
        for one in wanted:
            self.report(one.row, event.frame.number, f"a call of {one.name} is text")
        calls = [(self._context.ids.make(self._context.id_prefix), one) for one in wanted]
        out = promote(Promotion(event, calls, self._top + 1, len(self._calls), self._context.writer))
        self.audit(event.frame.number, [event.frame], out)
        return out

    def _report_all(self, found: list[Leaked], event: Event) -> None:
        for one in found:
            self._found.append(one)
            self.report(one.row, event.frame.number, f"a call of {one.name} is text")
