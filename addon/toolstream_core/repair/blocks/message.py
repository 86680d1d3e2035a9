"""The blocks of one message: as the wire starts and stops them, and as the client has them."""

from __future__ import annotations

from collections import deque
from dataclasses import InitVar, dataclass, field
from enum import StrEnum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.defects.causes.what import What
from toolstream_core.model import Kind
from toolstream_core.repair.blocks.protocol import number_of
from toolstream_core.repair.client_text import ClientText
from toolstream_core.repair.in_step import is_in_step
from toolstream_core.repair.meaning import Meaning

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event, Json
    from toolstream_core.repair.blocks.protocol import BlockEvent
    from toolstream_core.wire.frame import Frame


MAX_TWINS: Final = 16
"""Calls of one id with which a further one is compared."""


class Sent(StrEnum):
    """What the client has of a block."""

    NOTHING = auto()
    OPEN = auto()
    ENDED = auto()
    """A stop was made for it; its own has not come."""
    STOPPED = auto()
    """It was given the block's own stop."""
    LEFT_OUT = auto()
    """The client has the same call already."""


class Waiting(NamedTuple):
    """One event of a block, from its arrival to the client."""

    event: Event
    parsed: BlockEvent
    """Of no block, where it only came behind one that waits."""
    call: OpenCall | None = None
    size: int = 0
    """Characters of the call's arguments, with this event's."""
    guessed: bool = False
    """Whether it was a guess that the event is of this call."""
    first: bool = True
    """Whether the event's own frame is rewritten for it; an event that says several blocks makes new ones."""


@dataclass(slots=True, eq=False)
class Block:
    """One block, from its start on."""

    started_as: InitVar[OpenCall | None]
    """The call that it is; `call` if the client runs it, else `others`."""
    index: Json
    """As its start spells it."""
    order: int
    call: OpenCall | None = field(init=False)
    """The call that it is, where the client runs it."""
    others: OpenCall | None = field(init=False)
    """The call that it is, where the provider runs it."""
    place: Json = field(init=False)
    """The index under which the client has it."""
    meaning: Meaning = field(init=False)
    """What its arguments mean, as far as they came."""
    text: ClientText = field(init=False)
    """Its arguments as the client has joined them."""
    waiting: deque[Waiting] = field(default_factory=deque)
    left_out: list[Waiting] = field(default_factory=list)
    """The events that did not go since the client has the same call."""
    stopped: bool = False
    """Whether its own stop has come."""
    settled: bool = False
    """Whether nothing that comes decides who it is."""
    sent: Sent = Sent.NOTHING
    lacks: dict[str, bool] = field(default_factory=dict)
    """Fields that its start lacked, and whether the client has them from there all the same."""
    kind: Json = ...
    """The type of the delta that first brought arguments; `...` before any did."""
    seen: int = 0
    """Characters of the call's arguments that `meaning` knows."""
    mended: bool = False
    """Whether a fragment of it was changed."""
    unfit: bool = False
    """Whether it was reported that what follows its arguments makes them unfit to run."""
    decided: bool = False
    """Whether a first `{}` is what is meant."""
    again: Waiting | None = None
    """Its start, which came again and was left out."""
    started_with: Json = None
    """What its start says of arguments."""
    id: str = ""
    """Under which the client knows the call."""
    foreign: list[Waiting] = field(default_factory=list)
    """Text that came inside although it is a call."""

    def __post_init__(self, started_as: OpenCall | None) -> None:
        """Nothing of it came but its start."""
        runs = started_as is not None and started_as.kind is Kind.FUNCTION
        self.call, self.others = (started_as, None) if runs else (None, started_as)
        self.place = self.index
        letter = ArgumentText() if self.call is None else self.call.arguments
        self.meaning, self.text = Meaning(letter), ClientText(letter)

    @property
    def number(self) -> int | None:
        """The index of its start, in any spelling."""
        return number_of(self.index)

    @property
    def moved(self) -> bool:
        """Whether the client has it under another index."""
        return self.place is not self.index and self.place != self.index

    @property
    def finished(self) -> bool:
        """Whether the client needs nothing more of it."""
        return self.sent in {Sent.ENDED, Sent.STOPPED, Sent.LEFT_OUT}

    @property
    def stop_waits(self) -> bool:
        """Whether a stop waits that came under another index, and is its own."""
        last = self.waiting[-1] if self.waiting else None
        stops = last is not None and last.guessed and last.parsed.what is What.STOP
        return stops and self.call is not None and self.call.guessed

    @property
    def in_step(self) -> bool:
        """Whether the client has all that came of an object that is open."""
        if self.call is None or self.sent is not Sent.OPEN or self.waiting or self.foreign:
            return False
        return is_in_step(self.meaning, self.text)

    @property
    def may_stand_for_more(self) -> bool:
        """Whether a first `{}` or `null` may stand for what follows."""
        return not self.decided and self.meaning.may_be_placeholder

    def note(self, call: OpenCall) -> None:
        """A fragment came, and is in the call's arguments already."""
        letter = call.arguments
        if self.call is call and (letter.truncated or self.meaning.source.truncated):
            self.text.free = True  # too long to keep: the rest is forwarded unchanged
        elif self.call is call and letter.size > self.seen:
            self.meaning.add(letter.text()[self.seen :], letter)
            self.seen = letter.size

    def note_taken_back(self) -> None:
        """If the arguments that the call got are another's after all, nothing of its own came with what waits."""
        if self.call is None or self.call.arguments is self.meaning.came:
            return
        self.meaning, self.seen = Meaning(self.call.arguments), 0
        self.text = ClientText(self.call.arguments)
        self.waiting = deque(one._replace(size=0) for one in self.waiting)
        self.note(self.call)

    def begin_anew(self, begin: int) -> None:
        """The client forgets the arguments that it has; they begin at a position of what came."""
        self.meaning.begin_at(begin)
        self.text.begin_anew(self.meaning.source)


@dataclass(slots=True)
class Message:
    """One message: its blocks, in the order of their starts."""

    head: Json = None
    """What the event says that began it."""
    blocks: list[Block] = field(default_factory=list)
    by_index: dict[int | None, Block] = field(default_factory=dict)
    """By the index of the start, the newest."""
    by_call: dict[int, Block] = field(default_factory=dict)
    """By `id(call)`; calls live as long as the stream."""
    turn: int = 0
    """How many blocks, from the first on, wait for nothing any more."""
    started: int = 0
    """How many blocks the wire has started, those included that the client does not get."""
    places: set[Json] = field(default_factory=set)
    """Indexes under which the client has blocks."""
    numbers: set[int | None] = field(default_factory=set)
    """Indexes at which blocks were started."""
    top: int = -1
    """The highest of both."""
    gone: list[Frame] = field(default_factory=list)
    """Events that stopped waiting at the event that is being dealt with: after a bug of ours they go as they came."""
    waiting: int = 0
    """How many events wait."""
    by_id: dict[tuple[str, str], list[Block]] = field(default_factory=dict)
    """Calls by id and name, the last of each."""
    ids: set[str] = field(default_factory=set)
    """Ids that the client knows."""
    finish: str | None = None
    """The reason that was parsed."""
    finished_with: int = 0
    """How many blocks the client had by then."""
    cut: bool = False
    """Whether the answer says itself that it is cut off, or failed."""
    failed: bool = False
    """Whether the provider reported an error."""
    torn: bool = False
    """Whether an event could not be read, so that a call may lack a part."""
    lost: bool = False
    """Whether arguments came that are nobody's, or that their call cannot take."""
    done: bool = False
    """Whether the last event has come."""
    over: bool = False
    """Whether the stop of an incomplete call waits no longer: the last stage decides about it."""
    moved: bool = False
    """Whether any block has another place than its index."""

    @property
    def waits(self) -> bool:
        """Whether any event waits."""
        return self.waiting > 0 or any(block.foreign for block in self.blocks[-2:])

    @property
    def calls(self) -> list[Block]:
        """The calls that the client has, and is to run."""
        calls = ((block, block.call) for block in self.blocks if block.sent is not Sent.LEFT_OUT)
        return [block for block, call in calls if call is not None and not call.cancelled]

    def twins(self, block: Block) -> list[Block]:
        """The earlier calls of the same id and name."""
        call = block.call
        known = self.by_id.get((call.id, call.name), []) if call is not None and call.id else []
        return [one for one in known if one is not block]

    def note_id(self, block: Block) -> None:
        """The client has got a call."""
        if block.call is not None:
            known = self.by_id.setdefault((block.call.id, block.call.name), [])
            known.append(block)
            del known[:-MAX_TWINS]

    def note_place(self, place: Json) -> None:
        """The client has got a block under an index."""
        self.places.add(place if not isinstance(place, dict | list) else None)
        self.top = max(self.top, place) if isinstance(place, int) else self.top
