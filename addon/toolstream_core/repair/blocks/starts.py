"""Starts of blocks as the client needs them: index, id, name, and no arguments."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_text import meaning, says_nothing
from toolstream_core.defects.arguments import (
    NULL_ARGUMENTS,
    PREFILLED_ARGUMENTS,
)
from toolstream_core.defects.finish import (
    REPEATED_START,
)
from toolstream_core.defects.framing import (
    MISSING_INPUT,
)
from toolstream_core.defects.identity import (
    DOUBLED_CALL,
    DUPLICATE_ID,
    LATE_ID,
    LATE_NAME,
    MISSING_ID,
    MISSING_TYPE,
)
from toolstream_core.model import ABSENT
from toolstream_core.repair.blocks import arguments as truth
from toolstream_core.repair.blocks.message import Block, Sent, Waiting
from toolstream_core.repair.blocks.protocol import (
    ARGUMENTS,
    ID,
    INDEX,
    NAME,
    TYPE,
)
from toolstream_core.repair.identity import judge_id, judge_name

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.repair.blocks.events import BlockEvents
    from toolstream_core.repair.blocks.stream import BlockStream

_SPACE: Final = re.compile(r"\s+")


class BlockStarts:
    """Starts of blocks as the client needs them, for one stream."""

    def __init__(self, stream: BlockStream, client: BlockEvents) -> None:
        """For one stream."""
        self._stream, self._client = stream, client
        self.context, self.protocol, self.message = stream.context, stream.protocol, stream.message

    def start(self, block: Block, one: Waiting) -> None:
        if block.sent is not Sent.NOTHING:
            self._start_again(block, one)
            return
        if self.is_double(block) and self._stream.report(
            DOUBLED_CALL, self._stream.now, "the call repeats an earlier one", block.call
        ):
            block.sent = Sent.LEFT_OUT
            self.message.started += 1
            return
        self.find_place(block)
        block.started_with = self.protocol.get(one.parsed, ARGUMENTS)
        wanted: dict[str, Json] = {INDEX: block.place}
        if block.call is not None:
            wanted |= self._identity(block, block.call, one)
            wanted |= self._no_arguments(block, block.call, one)
        block.sent = Sent.OPEN
        self.message.note_id(block)
        if block.call is not None and block.call.name in self.context.parameterless:
            block.decided = True
        self._stream.pass_on(one.event.frame, one.parsed, wanted, first=one.first)
        if self.protocol.start.get(ARGUMENTS) == "" and block.call is not None:
            self._rest_of_start(block, block.call, one)

    def is_double(self, block: Block) -> bool:
        """Whether the client has the same call."""
        call = block.call
        if call is None or not self._client.whole(block, call):
            return False
        means = meaning(truth.intended(block, call, over=True).text or "{}")
        alike = [one for one in self.message.earlier_alike(block) if one.call is not None and not one.text.free]
        return any(
            one.call is not None and self._client.whole(one, one.call) and meaning(one.text.text or "{}") == means
            for one in alike
        )

    def _start_again(self, block: Block, one: Waiting) -> None:
        """A repeated start. It is left out if no arguments came after the first one."""
        call = block.call
        gone = self._stream.report(REPEATED_START, self._stream.number, "the block starts again", call)
        came = self.protocol.get(one.parsed, ARGUMENTS)
        adds = self._client.arguments_of(one) and not (self.protocol.late_identity or came == block.started_with)
        if (
            gone
            and call is not None
            and (block.sent is Sent.ENDED or ((call.at_most_begun or not one.size) and not adds))
        ):
            if self._client.arguments_of(one):
                self._client.put_delta(block, call, upto=one.size)
            block.again = one if block.sent is Sent.OPEN else None
            return
        if call is not None:
            self._client.put_delta(block, call, upto=one.size, over=True)
            block.begin_anew(one.size)
        self._client.send_again(block, one)

    def find_place(self, block: Block) -> None:
        """Choose the index of a block for the client."""
        message, protocol, given = self.message, self.protocol, block.index
        rows, expected = protocol.index_rows, message.started
        message.started += 1
        lawful_number = type(given) is int and given >= 0
        if protocol.counted:
            lawful = type(given) in {int, float} and given == expected
            place: Json = len(message.places)
            place = given if given == place and lawful else place
        else:
            lawful = lawful_number and given not in message.places
            number = block.number
            free = number is not None and number >= 0 and number not in message.places
            place = given - sum(gap < given for gap in message.gaps) if lawful else number if free else message.top + 1
        repair = True
        if not lawful:
            if given is ABSENT or given is None:
                row, why = rows.missing, "the block starts without an index"
            elif not lawful_number:
                row, why = rows.odd, f"the index is {given!r}"
            elif block.number in message.numbers or rows.offset is None:
                row, why = rows.reused, f"index {given} is that of an earlier block"
            else:
                row, why = rows.offset, f"the index is {given} where {expected} comes next"
            repair = self._stream.report(row, self._stream.number, why, block.call)
        block.place = place if repair or self.message.moved else given
        self.message.moved = self.message.moved or block.moved
        message.note_place(block.place)
        message.numbers.add(block.number)
        message.top = max(message.top, block.number or 0)

    def _identity(self, block: Block, call: OpenCall, one: Waiting) -> dict[str, Json]:
        """The id, name and type that the start of a call needs."""
        protocol, message, parsed = self.protocol, self.message, one.parsed
        came_id, came_name = nonblank(protocol.get(parsed, ID)), nonblank(protocol.get(parsed, NAME))
        given = call.id
        wanted: dict[str, Json] = {}

        def judge(row: Row, message: str) -> bool:
            return self._stream.report(row, self._stream.number, message, call)

        if given and not came_id:
            block.lacks[ID] = judge(LATE_ID, "the id comes after the call's start")
            wanted |= {ID: given} if block.lacks[ID] else {}
        name = call.name
        if not came_name:  # a later delta has the name
            block.lacks[NAME] = bool(name) and judge(LATE_NAME, "the name comes after the call's start")
            wanted |= {NAME: name} if block.lacks[NAME] else {}
        if not given:
            make = judge(MISSING_ID, "the call starts without an id") and name != ""
            block.lacks |= {} if make else {ID: False}
        else:
            make = given in message.ids and judge(DUPLICATE_ID, f"id {given} is that of another call")
        if make:
            wanted[ID] = self.context.ids.make(self.context.id_prefix)
            self.context.ids.stands_for(str(wanted[ID]), given, name)
        judge_id(given, self._earlier_ids, judge, protocol.usual_id)
        block.id = str(wanted.get(ID, given))
        message.ids.add(block.id)
        plain = judge_name(name, self.context.schemas, judge)
        if plain != name:
            wanted[NAME] = plain
        if TYPE in protocol.start and protocol.get(parsed, TYPE) in (None, ABSENT) and judge(MISSING_TYPE, "no type"):
            wanted[TYPE] = protocol.start[TYPE]
        return wanted

    @cached_property
    def _earlier_ids(self) -> frozenset[str]:
        return self.protocol.earlier_ids(self.context.exchange.request)

    def _no_arguments(self, block: Block, call: OpenCall, one: Waiting) -> dict[str, Json]:
        """The value that a start needs in place of arguments."""
        came, none = self.protocol.get(one.parsed, ARGUMENTS), self.protocol.start.get(ARGUMENTS, ABSENT)
        if came == none:
            return {}
        if came is None and none == "":
            return (
                {ARGUMENTS: none}
                if self._stream.report(NULL_ARGUMENTS, self._stream.number, "arguments are null", call)
                else {}
            )
        if came in (None, ABSENT, "") or (none != "" and isinstance(came, str) and says_nothing(came)):
            lacks = none == {} and self._stream.report(
                MISSING_INPUT, self._stream.number, "the block starts without input", call
            )
            return {ARGUMENTS: none} if lacks else {}
        if came == {}:
            return {}
        if isinstance(came, str) and came.lstrip()[:1] not in {"{", '"', "n"}:
            self._stream.report(
                PREFILLED_ARGUMENTS, self._stream.number, "the block starts with text that is not arguments", call
            )
            block.text.free = True
            return {}
        if self._stream.report(PREFILLED_ARGUMENTS, self._stream.number, "the block starts with its arguments", call):
            return {ARGUMENTS: none}
        block.text.free = True
        return {}

    def _rest_of_start(self, block: Block, call: OpenCall, one: Waiting) -> None:
        """Send arguments that came in a start as a delta."""
        came = self.protocol.get(one.parsed, ARGUMENTS)
        if isinstance(came, str | dict) and came and not block.text.free:
            self._client.put_delta(block, call, upto=one.size)
