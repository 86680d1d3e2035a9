"""The blocks of a message: as the provider sent them, and as the client has them."""

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
from toolstream_core.repair.arguments_reader import ArgumentsReader
from toolstream_core.repair.blocks.protocol import BlockEvent, number_of
from toolstream_core.repair.client_text import ClientText, is_in_step
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame


class BlockState(StrEnum):
    """The state of a block at the client."""

    NOTHING = auto()
    OPEN = auto()
    ENDED = auto()
    """A stop was added; the provider's has not arrived."""
    STOPPED = auto()
    """The provider's stop was sent."""
    LEFT_OUT = auto()
    """The client has the same call already."""


class Waiting(NamedTuple):
    """An event of a block that was not sent yet."""

    event: Event
    parsed: BlockEvent
    """Of kind `What.OTHER` if it belongs to no block."""
    call: OpenCall | None = None
    size: int = 0
    """Characters of the call's arguments up to this event."""
    first: bool = True
    """Whether it is sent in the frame of the event. Later blocks of the same event get new frames."""


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
    """One content block, from its start on."""

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
    """Its index at the client."""
    reader: ArgumentsReader = field(init=False)
    """Reads its intended arguments."""
    text: ClientText = field(init=False)
    """The arguments that the client has."""
    waiting: deque[Waiting] = field(default_factory=deque)
    stopped: bool = False
    """Whether the provider's stop has arrived."""
    identified: bool = False
    """Whether no later event can change which call it is."""
    state: BlockState = BlockState.NOTHING
    lacks: dict[str, bool] = field(default_factory=dict)
    """The fields that its start lacks; `True` if they were added to it."""
    kind: Json = ...
    """The type of the first delta with arguments; `...` before that."""
    seen: int = 0
    """Number of characters that `reader` has."""
    repaired: bool = False
    """Whether a fragment was changed."""
    contradiction_reported: bool = False
    """Whether text after the arguments was reported that makes the call unusable."""
    placeholder_decided: bool = False
    """Whether it is known if a first `{}` is the arguments or a placeholder."""
    other_indexes: list[Json] = field(default_factory=list)
    """Other indexes at which it was started again."""
    id: str = ""
    """The id of the call for the client."""
    foreign: list[Waiting] = field(default_factory=list)
    """Text deltas that arrived inside a call."""

    def __post_init__(self, started_as: OpenCall | None) -> None:
        """Take the start of the block."""
        runs = started_as is not None and started_as.kind is Kind.FUNCTION
        self.call, self.server_call = (started_as, None) if runs else (None, started_as)
        self.place = self.index
        received = ArgumentText() if self.call is None else self.call.arguments
        self.reader, self.text = ArgumentsReader(received), ClientText(received)

    @property
    def number(self) -> int | None:
        """The index of its start, in any spelling."""
        return number_of(self.index)

    @property
    def moved(self) -> bool:
        """Whether its index differs for the client."""
        return self.place is not self.index and self.place != self.index

    @property
    def finished(self) -> bool:
        """Whether the client gets no more of it."""
        return self.state in {BlockState.ENDED, BlockState.STOPPED, BlockState.LEFT_OUT}

    @property
    def is_in_step(self) -> bool:
        """Whether the client has all received text of an open object."""
        if self.call is None or self.state is not BlockState.OPEN or self.waiting or self.foreign:
            return False
        return is_in_step(self.reader, self.text)

    @property
    def may_stand_for_more(self) -> bool:
        """Whether a first `{}` or `null` may be a placeholder."""
        return not self.placeholder_decided and self.reader.may_be_placeholder

    def note(self, call: OpenCall, fragment: str = "") -> None:
        """Read the arguments that the resolver added to the call; `fragment`: their text, if it is one."""
        received = call.arguments
        if self.call is call and (received.truncated or self.reader.is_too_long):
            self.text.diverged = True
        elif self.call is call and received.size > self.seen:
            is_all = received.size - self.seen == len(fragment)
            self.reader.add(fragment if is_all else received.text()[self.seen :], received)
            self.seen = received.size

    def intended(self, call: OpenCall, *, final: bool = False, fix_escapes: bool = False) -> Reading:
        """The intended arguments as far as they are certain; `final`: no more fragments arrive."""
        arguments = call.arguments
        if arguments.empty and not self.reader.begin:
            prefilled = call.start_input if final and not has_nothing(call.start_input) else None
            return Reading(arguments.text() if prefilled is None else prefilled)
        if not final and self.may_stand_for_more:
            return Reading("", PLACEHOLDER_ARGUMENTS)
        if fix_escapes and arguments.ended and not arguments.scanner.is_complete:
            return Reading(with_valid_escapes(arguments.text()))
        return self.reader.read(final=final)

    def is_complete(self, call: OpenCall, *, may_be_empty: bool) -> bool:
        """Whether all arguments have arrived."""
        if not call.is_complete(may_be_empty=may_be_empty):
            return False
        return not self.reader.begin or is_object(self.reader.read(final=True).text)

    def defect_of(self, call: OpenCall, received: Json) -> Defect:
        """The defect of a fragment that is rewritten."""
        if received is None:
            return NULL_ARGUMENTS
        if not isinstance(received, str):
            return OBJECT_ARGUMENTS
        return self.intended(call).defect or REPLAYED_ARGUMENTS

    def contradiction(self, call: OpenCall) -> Defect | None:
        """The defect of complete arguments that cannot be repaired."""
        arguments = call.arguments
        if arguments.truncated or not arguments.has_trailing_text:
            return None
        reading = self.reader.read(final=False)
        if reading.defect is not None and (
            reading.is_ambiguous or (reading.defect is SNAPSHOT_ARGUMENTS and self.text.diverged)
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
    current: int = 0
    """The position of the block whose events are sent now."""
    started: int = 0
    """The number of starts that arrived, also of blocks that are not sent."""
    places: set[Json] = field(default_factory=set)
    """The indexes of blocks at the client."""
    numbers: set[int | None] = field(default_factory=set)
    """The indexes of blocks at the provider."""
    highest_index: int = -1
    """The highest index of both."""
    released: list[Frame] = field(default_factory=list)
    """Events that stopped waiting at the current event: after an internal error they are forwarded unchanged."""
    waiting: int = 0
    """The number of waiting events."""
    ids: set[str] = field(default_factory=set)
    """The ids that the client has."""
    finish: str | None = None
    """The finish reason."""
    without_arguments: list[tuple[OpenCall, int]] = field(default_factory=list)
    """Calls that lack required arguments, each with the event that ended it: the finish reason shows why."""
    finished_with: int = 0
    """The number of calls that the client had at the finish."""
    cut: bool = False
    """Whether the finish reason or an error shows that the response is truncated."""
    failed: bool = False
    """Whether the provider reported an error."""
    truncated: bool = False
    """Whether an event could not be read: a call may lack a fragment."""
    has_unassigned: bool = False
    """Whether arguments arrived that belong to no call, or after the end of their call."""
    done: bool = False
    """Whether the last event has arrived."""
    sends_stops: bool = False
    """Whether the stop of an incomplete call need not wait any more: `IncompleteCalls` may withhold it."""
    moved: bool = False
    """Whether the index of any block differs for the client."""

    @property
    def waits(self) -> bool:
        """Whether any event waits."""
        return self.waiting > 0 or any(block.foreign for block in self.blocks[-2:])

    @property
    def calls(self) -> list[Block]:
        """The blocks with calls that the client gets and may run."""
        calls = ((block, block.call) for block in self.blocks if block.state is not BlockState.LEFT_OUT)
        return [block for block, call in calls if call is not None and not call.cancelled]

    def note_place(self, place: Json) -> None:
        """Record that a block was sent with this index."""
        self.places.add(place if not isinstance(place, dict | list) else None)
        self.highest_index = max(self.highest_index, place) if isinstance(place, int) else self.highest_index
