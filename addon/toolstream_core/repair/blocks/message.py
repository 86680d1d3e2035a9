"""The blocks of one message: as the wire starts and stops them, and as the client has them."""

from __future__ import annotations

from collections import deque
from enum import StrEnum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.model import Kind
from toolstream_core.repair.blocks.form import What, number_of
from toolstream_core.repair.client_text import ClientText
from toolstream_core.repair.in_step import is_in_step
from toolstream_core.repair.meaning import Meaning

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event, Json
    from toolstream_core.repair.blocks.form import Said
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
    said: Said
    """Of no block, where it only came behind one that waits."""
    call: OpenCall | None = None
    size: int = 0
    """Characters of the call's arguments, with this event's."""
    guessed: bool = False
    """Whether it was a guess that the event is of this call."""
    first: bool = True
    """Whether the event's own frame is rewritten for it; an event that says several blocks makes new ones."""


class Block:
    """One block, from its start on."""

    def __init__(self, call: OpenCall | None, index: Json, order: int) -> None:
        """`index` as its start spells it."""
        self.call = call if call is not None and call.kind is Kind.FUNCTION else None
        """The call that it is, where the client runs it."""
        self.others = call if self.call is None else None
        """The call that it is, where the provider runs it."""
        self.index = index
        self.order = order
        self.waiting: deque[Waiting] = deque()
        self.left_out: list[Waiting] = []
        """The events that did not go since the client has the same call."""
        self.stopped = False
        """Whether its own stop has come."""
        self.settled = False
        """Whether nothing that comes decides who it is."""
        self.sent = Sent.NOTHING
        self.lacks: dict[str, bool] = {}
        """Fields that its start lacked, and whether the client has them from there all the same."""
        self.place: Json = index
        """The index under which the client has it."""
        letter = ArgumentText() if self.call is None else self.call.arguments
        self.meaning = Meaning(letter)
        """What its arguments mean, as far as they came."""
        self.text = ClientText(letter)
        """Its arguments as the client has joined them."""
        self.kind: Json = ...
        """The type of the delta that first brought arguments; `...` before any did."""
        self.seen = 0
        """Characters of the call's arguments that `meaning` knows."""
        self.mended = False
        """Whether a fragment of it was changed."""
        self.unfit = False
        """Whether it was reported that what follows its arguments makes them unfit to run."""
        self.decided = False
        """Whether a first `{}` is what is meant."""
        self.again: Waiting | None = None
        """Its start, which came again and was left out."""
        self.started_with: Json = None
        """What its start says of arguments."""
        self.id = ""
        """Under which the client knows the call."""
        self.foreign: list[Waiting] = []
        """Text that came inside although it is a call."""

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
        stops = last is not None and last.guessed and last.said.what is What.STOP
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
        if self.call is None or self.call.arguments is self.meaning.letter:
            return
        self.meaning, self.seen = Meaning(self.call.arguments), 0
        self.text = ClientText(self.call.arguments)
        self.waiting = deque(one._replace(size=0) for one in self.waiting)
        self.note(self.call)

    def begin_anew(self, begin: int) -> None:
        """The client forgets the arguments that it has; they begin at a position of what came."""
        self.meaning.begin_at(begin)
        self.text.begin_anew(self.meaning.source)


class Message:
    """One message: its blocks, in the order of their starts."""

    def __init__(self) -> None:
        """Nothing came."""
        self.head: Json = None
        """What the event says that began it."""
        self.blocks: list[Block] = []
        self.by_index: dict[int | None, Block] = {}
        """By the index of the start, the newest."""
        self.by_call: dict[int, Block] = {}
        """By `id(call)`; calls live as long as the stream."""
        self.turn = 0
        """How many blocks, from the first on, wait for nothing any more."""
        self.started = 0
        """How many blocks the wire has started, those included that the client does not get."""
        self.places: set[Json] = set()
        """Indexes under which the client has blocks."""
        self.numbers: set[int | None] = set()
        """Indexes at which blocks were started."""
        self.top = -1
        """The highest of both."""
        self.gone: list[Frame] = []
        """Events that stopped waiting at the event that is being dealt with: after a bug of ours they go as they came."""
        self.waiting = 0
        """How many events wait."""
        self.by_id: dict[tuple[str, str], list[Block]] = {}
        """Calls by id and name, the last of each."""
        self.ids: set[str] = set()
        """Ids that the client knows."""
        self.finish: str | None = None
        """The reason that was said."""
        self.finished_with = 0
        """How many blocks the client had by then."""
        self.cut = False
        """Whether the answer says itself that it is cut off, or failed."""
        self.failed = False
        """Whether the provider reported an error."""
        self.torn = False
        """Whether an event could not be read, so that a call may lack a part."""
        self.lost = False
        """Whether arguments came that are nobody's, or that their call cannot take."""
        self.done = False
        """Whether the last event has come."""
        self.over = False
        """Whether a stop of a call that is half waits no longer: what it means is decided behind all stages."""
        self.moved = False
        """Whether any block has another place than its index."""

    @property
    def waits(self) -> bool:
        """Whether any event waits."""
        return self.waiting > 0 or any(block.foreign for block in self.blocks[-2:])

    @property
    def calls(self) -> list[Block]:
        """The calls that the client has."""
        return [block for block in self.blocks if block.call is not None and block.sent is not Sent.LEFT_OUT]

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
