"""The truth: what is meant of each function call, as far as it is sure. Asked again at every event."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_text import is_json
from toolstream_core.model import ABSENT, Kind, Phase
from toolstream_core.protocols.requests.tools import custom_tools, earlier_ids
from toolstream_core.repair.meaning import Meaning
from toolstream_core.repair.reading import Reading
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.calls.arguments import ArgumentText
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Fragment
    from toolstream_core.protocols.responses.repair.client import ClientItem
    from toolstream_core.repair.fields import Payload
    from toolstream_core.stages.context import Context


class Meant:
    """One function call: what came of it, and what the client has of it."""

    __slots__ = (
        "_adopts",
        "added",
        "call",
        "copies",
        "disordered",
        "dropped",
        "early",
        "has",
        "in_pieces",
        "items",
        "meaning",
        "order",
        "passed",
        "queued",
        "said_again",
        "text_row",
    )

    def __init__(self, call: OpenCall, order: int) -> None:
        """A call whose first event is at hand."""
        self.call = call
        self.order = order
        self.added = False
        """Whether an event added it."""
        self.has: ClientItem | None = None
        self.meaning = Meaning(call.arguments)
        self.items: set[str] = set()
        """Ids of the items that opened it."""
        self.copies: set[str] = set()
        """Ids of the items that only say it again."""
        self.in_pieces = False
        """Whether each of its pieces comes in an item of its own."""
        self.passed = False
        """Whether its events go as they come: nobody can say who it is."""
        self.dropped: dict[str, Payload] = {}
        """By item id, events that would have added it again, of which the client was not told."""
        self.disordered = False
        """Whether pieces in items of their own came behind events of another call, so that nobody knows their order."""
        self._adopts: bool | None = None
        """Whether deltas that say neither a place nor an item are its own; `None` before one came."""
        self.said_again: bool | None = None
        """Whether it only says an earlier call again; `None` while nobody knows."""
        self.early = ""
        """What deltas said before the event that adds it."""
        self.queued = 0
        """How many events of it wait."""
        self.text_row: Row | None = None
        """Why the client was last not given what a delta said."""

    @property
    def passes(self) -> bool:
        """Whether its events go as they come, because nobody can say whose they are."""
        return self.passed or self.call.guessed or self.disordered or self._adopts is False

    @property
    def is_too_long(self) -> bool:
        """Whether its arguments are longer than what is kept: the rest of them is forwarded unchanged."""
        return self.call.arguments.truncated or self.meaning.source.truncated

    @property
    def rank(self) -> tuple[bool, int]:
        """Which of two calls under one id is the original: one that an event added or that was sent, then the first."""
        return not (self.added or self.has is not None), self.order

    @property
    def letter(self) -> ArgumentText:
        """What its pieces mean, joined: the very text that came, most often."""
        return self._current.source

    @property
    def _current(self) -> Meaning:
        """The meaning of the arguments, which an event may have said anew."""
        if self.meaning.came is not self.call.arguments:
            self.meaning.add("", self.call.arguments)
        return self.meaning

    @property
    def is_inside(self) -> bool:
        """Whether an object is open, and every piece so far was its next part."""
        return self._current.is_inside and self.call.start_input is None

    @property
    def says_letter(self) -> bool:
        """Whether what it says is `letter` itself."""
        return self._current.read(over=False).text == self.letter.text()

    def reading(self, *, over: bool) -> Reading:
        """What it says."""
        return self._current.read(over=over)

    def take(self, fragment: Fragment, *, behind_own: bool) -> None:
        """The next piece of it is in the call; `behind_own`: the event of a call before it was its own."""
        if fragment.phase is Phase.MORE and fragment.index is ABSENT and not nonblank(fragment.item_id):
            late = self.call.runs.more_than(2)  # behind the event that adds it, and one of its arguments
            self._adopts = not late if self._adopts is None else self._adopts
        item = nonblank(fragment.item_id)
        if fragment.phase is Phase.MORE and isinstance(fragment.arguments, str) and fragment.arguments:
            self.meaning.add(fragment.arguments, self.call.arguments)
        elif fragment.phase is not Phase.OPEN and fragment.phase is not Phase.MORE:
            self._current.settle()
        if fragment.phase is Phase.OPEN:
            self.added = True
            if self.items and item not in self.items:
                again = self.call.whole() and not self.in_pieces
                self.in_pieces = not again
                if again:
                    self.copies.add(item)
            self.items.add(item)
        elif fragment.phase is Phase.CLOSE and not self.items:
            self.items.add(item)
        if self.in_pieces and not behind_own and fragment.phase in {Phase.MORE, Phase.OPEN}:
            self.disordered = True


class Truth:
    """All calls of one answer."""

    def __init__(self, context: Context) -> None:
        """None came."""
        self._context = context
        self.calls: dict[int, Meant] = {}
        self._by_id: dict[str, list[Meant]] = {}
        self._indexed: set[int] = set()
        self._nameless: list[Meant] = []
        self.failed = False
        """Whether the provider reported an error."""

    def of(self, call: OpenCall) -> Meant:
        """What is meant of a call of which an event is at hand."""
        one = self.calls.get(id(call))
        if one is None:
            one = self.calls[id(call)] = Meant(call, len(self.calls))
            if not (call.id or call.name):
                self._nameless.append(one)
        if call.id and id(call) not in self._indexed:
            self._indexed.add(id(call))
            self._by_id.setdefault(call.id, []).append(one)
        return one

    @cached_property
    def earlier_ids(self) -> frozenset[str]:
        """Ids of the calls of earlier turns."""
        return earlier_ids(self._context.exchange.request)

    @cached_property
    def custom_tools(self) -> frozenset[str]:
        """Names of tools that take text."""
        return custom_tools(self._context.exchange.request)

    @property
    def has_strays(self) -> bool:
        """Whether arguments came that belong to no known call: they may be a part of one in pieces."""
        self._nameless = [one for one in self._nameless if not (one.call.id or one.call.name)]
        return any(not one.call.arguments.empty for one in self._nameless)

    # -- who it is

    def twins(self, one: Meant) -> list[Meant]:
        """Earlier calls under its id, which it may say again."""
        call = one.call
        if not call.id or call.kind is not Kind.FUNCTION:
            return []
        same = self._by_id.get(call.id, ())[-64:]
        return [other for other in same if other.rank < one.rank and call.name in ("", other.call.name)]

    def says_again(self, one: Meant) -> bool | None:
        """Whether it only says an earlier call again; `None` while nobody knows."""
        twins = self.twins(one)
        if not twins:
            return False
        if self.whole(one) and any(self.whole(twin) and _alike(one, twin) for twin in twins):
            return True
        return False if one.call.closed and all(twin.call.closed for twin in twins) else None

    def whole(self, one: Meant) -> bool:
        """Whether nothing is missing of it, by what came."""
        return one.call.whole(may_be_empty=self._context.may_be_empty(one.call.name))

    def whole_by_itself(self, one: Meant) -> bool:
        """Whether its arguments are an object and no placeholder, although nothing said that they are over."""
        follows_placeholder = one.meaning.begin > 0 and one.meaning.source.whole
        if one.meaning.stale or not (follows_placeholder or one.call.whole()):
            return False
        value = parse(self.reading(one, over=True).text.encode("utf-8", "replace"))
        return isinstance(value, dict) and (bool(value) or one.call.name in self._context.parameterless)

    # -- what it says

    def text_waits(self, one: Meant) -> bool:
        """Whether the last delta may stand for what follows, or be all so far."""
        if one.meaning.suspect is not None:
            return True
        return one.call.name not in self._context.parameterless and one.meaning.may_be_placeholder

    def reading(self, one: Meant, *, over: bool) -> Reading:
        """Its arguments as far as they are sure; `over`: nothing more comes of them."""
        call = one.call
        if call.start_input is not None and not over:
            return Reading("")
        return one.reading(over=over)

    def ends_in_piece(self, one: Meant) -> bool:
        """Whether what closes it says only a part of its arguments, so that the rest may come in another item."""
        call = one.call
        return not call.cut and (not self.whole(one) or (call.arguments.empty and not is_json(call.arguments.text())))


def _alike(one: Meant, other: Meant) -> bool:
    mine, theirs = one.call.arguments, other.call.arguments
    return mine.meaning == theirs.meaning
