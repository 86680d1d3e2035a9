"""The state of one stream: its blocks as the provider sent them and as the client has them."""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import InitVar, dataclass, field
from enum import StrEnum, auto
from typing import Final, NamedTuple

from toolstream_core.calls import OpenCall
from toolstream_core.calls.arguments import ArgumentText, Reading
from toolstream_core.calls.json_text import has_nothing, is_object
from toolstream_core.calls.placeholders import LONGEST_PLACEHOLDER
from toolstream_core.defects.arguments import (
    MERGED_CALLS,
    NULL_ARGUMENTS,
    OBJECT_ARGUMENTS,
    PLACEHOLDER_ARGUMENTS,
    REPLAYED_ARGUMENTS,
    SNAPSHOT_ARGUMENTS,
    TRAILING_GARBAGE,
)
from toolstream_core.defects.defect import Defect
from toolstream_core.model import Event, Json, Kind
from toolstream_core.repair.blocks.protocol import BlockEvent, number_of
from toolstream_core.repair.client_text import ClientText, is_in_step
from toolstream_core.repair.meaning import Meaning
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame


class BlockState(StrEnum):
    """The state of a block at the client."""

    NOTHING = auto()
    OPEN = auto()
    ENDED = auto()
    """A stop was added; its own has not arrived."""
    STOPPED = auto()
    """Its own stop was sent."""
    LEFT_OUT = auto()
    """The client has the same call already."""


class Waiting(NamedTuple):
    """One event of a block that was not sent yet."""

    event: Event
    parsed: BlockEvent
    """Without a block if it only waits for its turn."""
    call: OpenCall | None = None
    size: int = 0
    """Characters of the call's arguments, with this event's."""
    first: bool = True
    """Whether it replaces the event's own frame. Of an event with several blocks, the others are new frames."""


_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_ESCAPE: Final = re.compile(r'(\\(?:["\\/bfnrt]|u(?:[0-9a-fA-F]{4}|[0-9a-fA-F]{0,3}\Z)))|\\|[\x00-\x1f]')
"""A valid escape, or else a backslash or control character that JSON requires to be escaped in a string."""


def with_valid_escapes(text: str) -> str:
    """JSON text whose strings escape exactly the characters that JSON requires."""
    return _STRING.sub(lambda string: _ESCAPE.sub(lambda one: one[1] or json.dumps(one[0])[1:-1], string[0]), text)


def has_none(call: OpenCall) -> bool:
    """Whether no arguments have arrived, or only a placeholder."""
    if call.arguments.empty:
        return call.start_input is None or has_nothing(call.start_input)
    return call.arguments.size < LONGEST_PLACEHOLDER and has_nothing(call.arguments.text())


def text_of(received: Json) -> str:
    """The text of a fragment."""
    if isinstance(received, str):
        return received
    text = json_access.argument_delta(received)[0] if isinstance(received, dict | int | float) else ""
    return text if isinstance(text, str) else ""


@dataclass(slots=True, eq=False)
class Block:
    """One block, from its start on."""

    started_as: InitVar[OpenCall | None]
    """Its call; `call` if the client runs it, else `server_call`."""
    index: Json
    """The index of its start, as spelled there."""
    order: int
    type: str = ""
    """The type in its start."""
    call: OpenCall | None = field(init=False)
    """Its call if the client runs it."""
    server_call: OpenCall | None = field(init=False)
    """Its call if the provider runs it."""
    place: Json = field(init=False)
    """Its index for the client."""
    meaning: Meaning = field(init=False)
    """The meaning of its arguments so far."""
    text: ClientText = field(init=False)
    """The arguments that the client has."""
    waiting: deque[Waiting] = field(default_factory=deque)
    stopped: bool = False
    """Whether its own stop has arrived."""
    settled: bool = False
    """Whether no later event can change which call it is."""
    state: BlockState = BlockState.NOTHING
    lacks: dict[str, bool] = field(default_factory=dict)
    """Fields that its start lacks, each with whether they were added there."""
    kind: Json = ...
    """The type of the first delta with arguments; `...` before it."""
    seen: int = 0
    """Characters of the call's arguments that `meaning` knows."""
    repaired: bool = False
    """Whether a fragment of it was changed."""
    unfit: bool = False
    """Whether it was reported that text after its arguments makes the call unusable."""
    decided: bool = False
    """Whether a first `{}` is known to be the arguments, or not."""
    also: list[Json] = field(default_factory=list)
    """The other indexes at which it was started again."""
    id: str = ""
    """The id of the call for the client."""
    foreign: list[Waiting] = field(default_factory=list)
    """Text deltas inside a call."""

    def __post_init__(self, started_as: OpenCall | None) -> None:
        """Take the start of the block."""
        runs = started_as is not None and started_as.kind is Kind.FUNCTION
        self.call, self.server_call = (started_as, None) if runs else (None, started_as)
        self.place = self.index
        received = ArgumentText() if self.call is None else self.call.arguments
        self.meaning, self.text = Meaning(received), ClientText(received)

    @property
    def number(self) -> int | None:
        """The index of its start, in any spelling."""
        return number_of(self.index)

    @property
    def moved(self) -> bool:
        """Whether its index for the client is another."""
        return self.place is not self.index and self.place != self.index

    @property
    def finished(self) -> bool:
        """Whether the client needs nothing more of it."""
        return self.state in {BlockState.ENDED, BlockState.STOPPED, BlockState.LEFT_OUT}

    @property
    def in_step(self) -> bool:
        """Whether the client has all text so far of an object that is not closed."""
        if self.call is None or self.state is not BlockState.OPEN or self.waiting or self.foreign:
            return False
        return is_in_step(self.meaning, self.text)

    @property
    def may_stand_for_more(self) -> bool:
        """Whether a first `{}` or `null` may stand for what follows."""
        return not self.decided and self.meaning.may_be_placeholder

    def note(self, call: OpenCall, fragment: str = "") -> None:
        """Take a fragment that the resolver has added to the call; `fragment`: its text if nothing else is new."""
        received = call.arguments
        if self.call is call and (received.truncated or self.meaning.is_too_long):
            self.text.diverged = True
        elif self.call is call and received.size > self.seen:
            is_all = received.size - self.seen == len(fragment)
            self.meaning.add(fragment if is_all else received.text()[self.seen :], received)
            self.seen = received.size

    def intended(self, call: OpenCall, *, over: bool = False, fix_escapes: bool = False) -> Reading:
        """The certain part of the arguments; `over`: the provider sends no more of them."""
        arguments = call.arguments
        if arguments.empty and not self.meaning.begin:
            prefilled = call.start_input if over and not has_nothing(call.start_input) else None
            return Reading(arguments.text() if prefilled is None else prefilled)
        if not over and self.may_stand_for_more:
            return Reading("", PLACEHOLDER_ARGUMENTS)
        if fix_escapes and arguments.ended and not arguments.scanner.is_complete:
            return Reading(with_valid_escapes(arguments.text()))
        return self.meaning.read(over=over)

    def is_complete(self, call: OpenCall, *, may_be_empty: bool) -> bool:
        """Whether all arguments have arrived."""
        if not call.is_complete(may_be_empty=may_be_empty):
            return False
        return not self.meaning.begin or is_object(self.meaning.read(over=True).text)

    def defect_of(self, call: OpenCall, received: Json) -> Defect:
        """The deviation of a fragment that is not forwarded unchanged."""
        if received is None:
            return NULL_ARGUMENTS
        if not isinstance(received, str):
            return OBJECT_ARGUMENTS
        return self.intended(call).defect or REPLAYED_ARGUMENTS

    def contradiction(self, call: OpenCall) -> Defect | None:
        """The defect that makes ended arguments unusable, if it is not repaired."""
        arguments = call.arguments
        if arguments.truncated or not arguments.spilled:
            return None
        reading = self.meaning.read(over=False)
        if reading.defect is not None and (
            reading.stands or (reading.defect is SNAPSHOT_ARGUMENTS and self.text.diverged)
        ):
            return reading.defect
        complete = None if arguments.is_complete or self.repaired else arguments.ended_object()
        if complete is None:
            return None
        return MERGED_CALLS if "{" in arguments.text()[len(complete) :] else TRAILING_GARBAGE


@dataclass(slots=True)
class Message:
    """One message: its blocks, in the order of their starts."""

    head: Json = None
    """The event that began it."""
    blocks: list[Block] = field(default_factory=list)
    by_index: dict[int | None, Block] = field(default_factory=dict)
    """The newest block of each start index."""
    by_call: dict[int, Block] = field(default_factory=dict)
    """By `id(call)`; the resolver keeps calls until the end of the stream."""
    turn: int = 0
    """The number of leading blocks that wait for nothing."""
    started: int = 0
    """The number of blocks that the provider started, including those that were not sent."""
    places: set[Json] = field(default_factory=set)
    """The indexes of the blocks that the client has."""
    numbers: set[int | None] = field(default_factory=set)
    """The indexes at which the provider started blocks."""
    top: int = -1
    """The highest index of both."""
    gone: list[Frame] = field(default_factory=list)
    """Events that stopped waiting at the current event: after an internal error they are forwarded unchanged."""
    waiting: int = 0
    """The number of waiting events."""
    ids: set[str] = field(default_factory=set)
    """The ids that the client has."""
    finish: str | None = None
    """The finish reason."""
    finished_with: int = 0
    """The number of calls that the client had at the finish."""
    cut: bool = False
    """Whether the finish reason or an error shows that the response is truncated."""
    failed: bool = False
    """Whether the provider reported an error."""
    truncated: bool = False
    """Whether an event could not be read: a call may lack a fragment."""
    lost: bool = False
    """Whether arguments arrived that belong to no call, or that their call cannot take."""
    done: bool = False
    """Whether the last event has arrived."""
    over: bool = False
    """Whether the stop of an incomplete call no longer waits: `IncompleteCalls` decides about it."""
    moved: bool = False
    """Whether any block has another index for the client."""

    @property
    def waits(self) -> bool:
        """Whether any event waits."""
        return self.waiting > 0 or any(block.foreign for block in self.blocks[-2:])

    @property
    def calls(self) -> list[Block]:
        """The calls that the client is to have and can run."""
        calls = ((block, block.call) for block in self.blocks if block.state is not BlockState.LEFT_OUT)
        return [block for block, call in calls if call is not None and not call.cancelled]

    def note_place(self, place: Json) -> None:
        """Record that a block was sent with this index."""
        self.places.add(place if not isinstance(place, dict | list) else None)
        self.top = max(self.top, place) if isinstance(place, int) else self.top
