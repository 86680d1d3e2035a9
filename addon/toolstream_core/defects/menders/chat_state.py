"""What is remembered of a Chat Completions stream while it is mended: choices, entries, events on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.menders.chat_forms import Form
from toolstream_core.defects.menders.chat_twins import Twins
from toolstream_core.defects.menders.chat_unfinished import Unfinished

if TYPE_CHECKING:
    from toolstream_core.defects.menders.chat_call import KnownCall
    from toolstream_core.defects.menders.told import Told
    from toolstream_core.model import Event, Fragment, Json


class Choice:
    """The calls of one choice, as the client has been told them."""

    def __init__(self, number: int) -> None:
        """A choice of which nothing has been told."""
        self.number = number
        self.known: list[KnownCall] = []
        self.taken: dict[int, KnownCall] = {}
        self.free_index = 0
        """The index that comes next."""
        self.ids: dict[str, KnownCall] = {}
        self.twins = Twins()
        self.placeholders: dict[int, KnownCall] = {}
        """By `id`: calls whose first `{}` may stand for what follows."""
        self.doubtful: dict[int, KnownCall] = {}
        """By `id`: calls that are settled where the next one opens."""
        self.keeping: dict[int, KnownCall] = {}
        """By `id`: calls of which some arguments may have been kept back."""
        self.unsettled: list[KnownCall] = []
        self.unfinished = Unfinished()
        self.finish: str | None = None
        """The finish reason that the client has."""
        self.finish_event = self.held_event = 0
        self.resumed = False
        """Whether calls went on behind it."""
        self.loose = False
        """Whether a finish went on a second time when there was no call yet."""
        self.said: set[str] = set()
        """Every finish reason that came."""
        self.shortened: frozenset[int] = frozenset()
        """By `id`, the calls that were half where the client was told `length` for their sake."""
        self.held: str | None = None
        """A finish reason that came too early and is still owed."""

    def add(self, known: KnownCall) -> None:
        """A call opens."""
        self.known.append(known)
        self.unsettled.append(known)
        self.unfinished.touch(known)

    def take(self, index: int, known: KnownCall) -> None:
        """An index is a call's from now on."""
        self.taken[index] = known
        self.free_index = max(self.free_index, index + 1)

    def settle(self) -> None:
        """Nothing more is waited for."""
        waiting, self.unsettled = self.unsettled, []
        for known in waiting:
            known.settle()
        self.placeholders.clear()
        self.doubtful.clear()

    @property
    def calls(self) -> bool:
        """Whether it has any call; an entry of nothing is none."""
        return any(not known.nothing for known in self.known)

    @property
    def whole(self) -> bool:
        """Whether it has calls, and all are whole where the answer has said how it finished."""
        return self.calls and not self.unfinished.any_lacking


class Part:
    """One entry of one event."""

    __slots__ = ("form", "fragment", "fresh", "known", "place", "told")

    def __init__(
        self, fragment: Fragment, known: KnownCall, told: Told, place: int, form: Form, *, fresh: bool = False
    ) -> None:
        """`place` is the entry's among those of its choice; `fresh`: it says an id or a name for the first time."""
        self.fragment = fragment
        self.known = known
        self.told = told
        self.place = place
        self.form = form
        self.fresh = fresh

    @property
    def stays(self) -> bool:
        """Whether it goes on as it came: arguments in a form of their own, or that do not fit the whole call.

        Nobody knows whose they are, so they are not made that call's where the entry does not say so itself.
        """
        fragment, known = self.fragment, self.known
        if self.form is Form.FOREIGN and known.forms.mixed:
            return True
        if not (self.told.stray and known.told):
            return False
        return fragment.index == known.index and not fragment.as_wanted if isinstance(fragment.index, int) else True

    @property
    def says_more(self) -> bool:
        """Whether it says more than whose it is, or that for the first time."""
        return self.fresh or bool(self.told.text)


class Waiting:
    """One event on its way."""

    __slots__ = ("bare", "early", "entries", "event", "frame", "moved", "parts", "said")

    def __init__(self, event: Event, parts: list[Part]) -> None:
        """`parts` are its entries."""
        self.event = event
        self.frame = event.frame
        self.said = event.said
        self.parts = parts
        self.entries: dict[int, list[Json]] | None = None
        """Its entries as they stand in the payload, by choice; looked up where somebody asks."""
        self.bare = False
        """Whether choices without a delta are to get one."""
        self.early: set[Choice] = set()
        """Choices whose finish it says although their calls lack a part: it waits to see whether that follows."""
        self.moved: dict[int, bool] = {}
        """Choices whose final message's calls were said as deltas, and whether no delta has said anything else."""

    @property
    def ready(self) -> bool:
        """Whether it brings something of calls, all of which the client can be told."""
        for part in self.parts:
            if part.known.pending:
                return False
        return bool(self.parts)

    @property
    def speaks(self) -> bool:
        """Whether it says something that can come behind a finish which came too early, or ends the answer."""
        return bool(self.said.finishes) or self.goes_on

    @property
    def goes_on(self) -> bool:
        """Whether it says more than a finish."""
        said = self.said
        more = any(part.says_more for part in self.parts)
        return bool(more or said.end or said.error or said.text.strip() or said.thought.strip())
