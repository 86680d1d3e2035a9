"""Sends the starts, deltas and stops of blocks, with the parts that the client lacks."""

from __future__ import annotations

from functools import partial

from toolstream_core.calls import OpenCall, nonblank
from toolstream_core.calls.json_text import canonical, has_nothing, lost_beginning
from toolstream_core.calls.repetition import Compared, SameId, beginning
from toolstream_core.defects.arguments import (
    INVALID_ARGUMENTS,
    MISSING_DELTAS,
    NULL_ARGUMENTS,
    OBJECT_ARGUMENTS,
    PLACEHOLDER_ARGUMENTS,
    PREFILLED_ARGUMENTS,
    REPLAYED_ARGUMENTS,
)
from toolstream_core.defects.defect import Defect
from toolstream_core.defects.finish import REPEATED_START, REPEATED_STOP
from toolstream_core.defects.framing import FOREIGN_DELTA, MISSING_INPUT
from toolstream_core.defects.identity import (
    CHANGING_ID,
    DOUBLED_CALL,
    DUPLICATE_ID,
    LATE_ID,
    LATE_NAME,
    MISSING_ID,
    MISSING_TYPE,
    REPEATED_ID,
    REPEATED_NAME,
    REUSED_INDEX,
    UNKNOWN_BLOCK,
)
from toolstream_core.model import ABSENT, Json
from toolstream_core.repair.blocks.message import Block, BlockState, Waiting, has_none, text_of
from toolstream_core.repair.blocks.protocol import ARGUMENTS, CALLER, DELTA_TYPE, ID, INDEX, NAME, TYPE, number_of
from toolstream_core.repair.blocks.stream import BlockStream
from toolstream_core.repair.client_text import is_in_step
from toolstream_core.repair.identity import judge_id, judge_name
from toolstream_core.stages.inject.codec import What
from toolstream_core.wire.json_paths import unknown_only


class BlockEvents:
    """Sends deltas and stops, for one stream."""

    def __init__(self, stream: BlockStream) -> None:
        self._stream = stream
        self.context, self.protocol, self.message = stream.context, stream.protocol, stream.message

    def delta(self, block: Block, waiting: Waiting) -> None:
        call, parsed, received = block.call, waiting.parsed, self.protocol.get(waiting.parsed, ARGUMENTS)
        wanted = self.continued(block, waiting)
        if call is None or received is ABSENT:
            self._without_arguments(block, waiting, wanted)
            return
        if block.state in {BlockState.ENDED, BlockState.STOPPED} and self._late(block, call, waiting):
            return
        inside = isinstance(received, dict) and block.text.size > 0 and not call.arguments.is_complete
        block.text.diverged = block.text.diverged or inside
        value = isinstance(received, int | float) and block.text.size > 0
        if inside or not (value or isinstance(received, str | dict | None)):
            self._stream.report(OBJECT_ARGUMENTS, OBJECT_ARGUMENTS.meaning, call)
            self._stream.send(waiting.event.frame, parsed, wanted, first=waiting.first, call=call)
            return
        if block.kind is ... and received not in (None, ""):
            block.kind = self.protocol.get(parsed, DELTA_TYPE)
        free = block.text.diverged
        more = self._more(block, call, waiting, received)
        if more != received:
            defect = block.defect_of(call, received)
            at = self._stream.now if defect is PLACEHOLDER_ARGUMENTS else self._stream.number
            if self._stream.report(defect, defect.meaning, call, at=at):
                wanted[ARGUMENTS], block.repaired = more, True
            elif (
                isinstance(more, str) and isinstance(received, str) and more.endswith(received)
            ):  # and what was withheld
                wanted[ARGUMENTS], block.text.diverged = more, True
            else:
                more, block.text.diverged = received if isinstance(received, str) else "", True
        block.text.add(more if isinstance(more, str) else "", block.reader.source)
        if not (free or block.contradiction_reported) and (found := block.contradiction(call)) is not None:
            self._stream.report(found, found.meaning, call)
            block.contradiction_reported = True
        self._stream.send(waiting.event.frame, parsed, wanted, first=waiting.first, call=call)

    def _more(self, block: Block, call: OpenCall, waiting: Waiting, received: Json) -> Json:
        """The arguments to send at this event: those that the client lacks, or `received` if it has other ones."""
        had, arguments, reader = block.text, call.arguments, block.reader
        is_last = waiting.size == arguments.size
        if had.diverged or (is_last and isinstance(received, str) and received and is_in_step(reader, had, received)):
            return received
        begun = had.text
        goal = block.intended(call, fix_escapes=self._stream.fixes_escapes).text
        if not is_last:  # waiting events have the rest
            known = arguments.text().startswith(goal[max(0, -reader.begin) :], max(0, reader.begin))
            goal = goal[: max(0, waiting.size - reader.begin)] if known else begun
        if goal.startswith(begun):
            return goal[len(begun) :]
        if begun.startswith(goal) and (goal or not begun or not is_last):
            return ""
        had.diverged = True
        return received

    def _late(self, block: Block, call: OpenCall, waiting: Waiting) -> bool:
        """Whether a delta after the stop is dropped because the client has its arguments."""
        has_arguments = self.arguments_of(waiting)
        repeats = block.intended(call, final=True).text == block.text.text
        if repeats and block.state is BlockState.ENDED:
            return True
        if repeats and has_arguments:
            repair = self._stream.report(REPLAYED_ARGUMENTS, "the complete arguments came again", call)
            if repair and not unknown_only(waiting.parsed.body, self.protocol.delta_keys):
                return True
        elif block.state is BlockState.STOPPED:
            self._stream.report(UNKNOWN_BLOCK, "the block of a delta has stopped", call)
        if has_arguments:
            block.text.diverged = self.message.has_unassigned = True
        return False

    def _without_arguments(self, block: Block, waiting: Waiting, wanted: dict[str, Json]) -> None:
        """Handle a delta without arguments: text inside a call is sent after the call."""
        text = self.text_of(waiting)
        if block.call is not None and text is not None:
            why = "text comes in a block that is a call"
            if self._stream.report(FOREIGN_DELTA, why, block.call):
                block.foreign.append(waiting)
                if block.finished:
                    self._foreign_text(block)
                return
        elif block.finished:
            self._stream.report(UNKNOWN_BLOCK, "the block of a delta has stopped", block.server_call)
        elif (kind := self.protocol.get(waiting.parsed, DELTA_TYPE)) in self.protocol.other_deltas.get(block.type, ()):
            repair = self._stream.report(FOREIGN_DELTA, f"a {kind} comes in a {block.type} block")
            if repair and self.protocol.get(waiting.parsed, ARGUMENTS) == "":
                return
        if text is not None:
            self.send_foreign(block)
        self._stream.send(waiting.event.frame, waiting.parsed, wanted, first=waiting.first, call=block.call)

    def without_block(self, waiting: Waiting) -> None:
        """Send an event whose block was never started, or has stopped; a delta of a call gets an unused index."""
        message, parsed = self.message, waiting.parsed
        index = number_of(self.protocol.get(parsed, INDEX))
        if parsed.what is What.DELTA and waiting.call is None:
            self.send_foreign(None)
            if index in message.places:
                self._stream.report(UNKNOWN_BLOCK, f"no block {index} was started")
            self._stream.send(waiting.event.frame, parsed)
            return
        known = message.by_index.get(index)
        why = (
            f"no block {self.protocol.get(parsed, INDEX)!r} was started"
            if known is None
            else f"block {index} has stopped"
        )
        defect = UNKNOWN_BLOCK
        if self.protocol.get(parsed, INDEX) is ABSENT:
            defect, why = self._index_defect(ABSENT)
        repair = self._stream.report(defect, why, waiting.call)
        if parsed.what is What.STOP:
            if not (repair and message.blocks and parsed.body.keys() <= self.protocol.bare):
                self._stream.send(waiting.event.frame, parsed)
            return
        message.has_unassigned = True
        apart = repair and (index is None or index < self.protocol.unused_index)
        self._stream.send(
            waiting.event.frame, parsed, {INDEX: self.protocol.unused_index + abs(index or 0)} if apart else {}
        )

    def continued(self, block: Block, waiting: Waiting) -> dict[str, Json]:
        """The index, id and name to send in a delta or stop."""
        protocol, parsed, call = self.protocol, waiting.parsed, block.call
        received, wanted = protocol.get(parsed, INDEX), {}
        if received == block.index and type(received) is type(block.index):
            if block.moved:
                wanted[INDEX] = block.place
        elif received in block.other_indexes:
            if self._stream.on(REPEATED_START):
                self._stream.attribute_to(REPEATED_START)
                wanted[INDEX] = block.place
        else:
            defect, why = self._index_defect(received)
            if self._stream.report(defect, why, call) or block.moved:
                wanted[INDEX] = block.place
        if call is None or not protocol.late_identity:
            return wanted
        for name in (ID, NAME):
            given = nonblank(protocol.get(parsed, name))
            if given and self._is_known(block, call, name, given):
                wanted[name] = ABSENT
        return wanted

    def _is_known(self, block: Block, call: OpenCall, name: str, given: str) -> bool:
        """Whether an id or name after the start is removed; reports it."""
        if name in block.lacks:
            return block.lacks.pop(name)
        defect, why = REPEATED_NAME, "the name comes again"
        if name == ID:
            defect, why = (
                (REPEATED_ID, "the id comes again") if given == call.id else (CHANGING_ID, f"the id is {given}")
            )
        return self._stream.report(defect, why, call)

    def _index_defect(self, received: Json) -> tuple[Defect, str]:
        defects = self.protocol.index_defects
        if received is ABSENT or received is None:
            return defects.missing, "the event has no index"
        if type(received) is not int or received < 0:
            return defects.odd, f"the index is {received!r}"
        if number_of(received) in self.message.by_index:
            return defects.changing, f"the index is {received}"
        return UNKNOWN_BLOCK, f"no block {received} was started"

    def stop(self, block: Block, waiting: Waiting) -> None:
        call, wanted = block.call, self.continued(block, waiting)
        if block.finished:
            added = block.state is BlockState.ENDED
            block.state = BlockState.STOPPED
            repair = added or self._stream.report(REPEATED_STOP, "the block stops twice", call)
            if not (repair and waiting.parsed.body.keys() <= self.protocol.bare):
                self._stream.send(waiting.event.frame, waiting.parsed, wanted, first=waiting.first, call=call)
            return
        if call is not None:
            wanted |= self._arguments_of_stop(block, call, waiting)
            if ABSENT in (wanted.get(ID), wanted.get(NAME)) and not self.arguments_of(waiting):
                wanted = {INDEX: wanted[INDEX]} if INDEX in wanted else {}
                wanted["whole"] = self.protocol.rest_of_call(waiting.parsed)
            self._complete(block, call, upto=waiting.size)
        block.state = BlockState.STOPPED
        self._stream.send(waiting.event.frame, waiting.parsed, wanted, first=waiting.first, call=call)
        self._foreign_text(block)

    def _arguments_of_stop(self, block: Block, call: OpenCall, waiting: Waiting) -> dict[str, Json]:
        """The fields to send in a stop with arguments: without them, because a delta has them."""
        received = self.protocol.get(waiting.parsed, ARGUMENTS)
        if not (self.protocol.has(waiting.parsed, ARGUMENTS) and text_of(received).strip()):
            return {}
        why = "the arguments come only with the event that ends the call"
        if not block.text.size and self._stream.report(MISSING_DELTAS, why, call):
            return {"whole": self.protocol.rest_of_call(waiting.parsed)}
        block.text.diverged = True
        return {}

    def _complete(self, block: Block, call: OpenCall, *, upto: int | None = None) -> None:
        """Send the missing arguments of an ended call; `upto`: the number of characters received before its stop."""
        self.put_delta(block, call, upto=upto, final=True)
        nothing = call.arguments.empty and call.start_input is None
        arguments = block.reader.without_placeholder
        if arguments.ended and not (arguments.is_complete or arguments.scanner.is_complete):
            begin = lost_beginning(arguments.text())
            lack = f": {begin} is missing at their beginning" if begin else ""
            self._stream.report(INVALID_ARGUMENTS, f"the arguments are finished and no JSON{lack}", call)
        if nothing and call.name and not self.context.may_be_empty(call.name):
            self.message.without_arguments.append((call, self._stream.number))

    def close(self, block: Block) -> None:
        """Send a stop for a block whose stop has not arrived."""
        if block.call is not None:
            self._complete(block, block.call)
        block.state = BlockState.ENDED
        self._stream.send_new(What.STOP, self.protocol.filled(What.STOP, **{INDEX: block.place}), block.call)
        self._foreign_text(block)

    def put_delta(self, block: Block, call: OpenCall, *, upto: int | None = None, final: bool = False) -> None:
        """Send a delta with the arguments that the client lacks."""
        had = block.text
        if had.diverged:
            return
        begun = had.text
        goal = block.intended(call, final=final, fix_escapes=self._stream.fixes_escapes).text
        if upto is not None and upto < call.arguments.size:
            goal = call.arguments.text()[block.reader.begin : upto]
        if not goal.startswith(begun) or goal == begun:
            return
        more = goal[len(begun) :]
        had.add(more, block.reader.source)
        fields: dict[str, Json] = {INDEX: block.place, ARGUMENTS: more}
        if DELTA_TYPE in self.protocol.paths[What.DELTA] and block.kind is not ...:
            fields[DELTA_TYPE] = block.kind
        self._stream.send_new(What.DELTA, self.protocol.filled(What.DELTA, **fields), call)

    def send_foreign(self, block: Block | None) -> None:
        """Send text that arrived inside open calls, except `block`."""
        for other in self.message.blocks[-2:]:
            if self._stream.shaping.is_left_out(other.call):
                self._foreign_text(other)
            foreign, other.foreign = (other.foreign, []) if other is not block else ([], other.foreign)
            for one in foreign:
                self._stream.send(
                    one.event.frame, one.parsed, {INDEX: other.place} if other.moved else {}, first=one.first
                )

    def _foreign_text(self, block: Block) -> None:
        """Send text that arrived inside a call as a new block; APIs reject a block of white space."""
        text, block.foreign = "".join([self.text_of(one) or "" for one in block.foreign]), []
        if not text.strip():
            return
        for what, body in self.protocol.text_block(self.new_place(), text):
            self._stream.send_new(what, body)

    def new_place(self) -> int:
        """The index of a new block."""
        message = self.message
        place = len(message.places) if self.protocol.counted else message.highest_index + 1
        message.note_place(place)
        message.moved = True
        return place

    def text_of(self, waiting: Waiting) -> str | None:
        """The text of a delta without a call."""
        content = waiting.event.content
        return content.text if content.text and not content.fragments else None

    def arguments_of(self, waiting: Waiting) -> bool:
        """Whether an event has arguments."""
        return self.protocol.get(waiting.parsed, ARGUMENTS) not in (ABSENT, None, "", {}, "{}")

    def has_all_arguments(self, block: Block, call: OpenCall) -> bool:
        return block.is_complete(call, may_be_empty=self.context.may_be_empty(call.name))

    def is_complete(self, block: Block, call: OpenCall, *, ended: bool) -> bool:
        """Whether a call only lacks its stop; `ended`: an event ended the message."""
        if not has_none(call):
            return self.has_all_arguments(block, call)
        return ended and self._stream.proves_empty(call) and self.has_all_arguments(block, call)


class BlockStarts:
    """Sends the starts of blocks, for one stream."""

    def __init__(self, stream: BlockStream, client: BlockEvents) -> None:
        self._stream, self._client = stream, client
        self.context, self.protocol, self.message = stream.context, stream.protocol, stream.message
        self._same_id = SameId(self._compared)

    def start(self, block: Block, waiting: Waiting) -> None:
        if block.state is not BlockState.NOTHING:
            self._start_again(block, waiting)
            return
        if self.repeats(block) and self._stream.report(
            DOUBLED_CALL, "the call repeats an earlier one", block.call, at=self._stream.now
        ):
            block.state = BlockState.LEFT_OUT
            self.message.started += 1
            return
        self.find_place(block)
        wanted: dict[str, Json] = {INDEX: block.place}
        if block.call is not None:
            wanted |= self._identity(block, block.call, waiting)
            wanted |= self._no_arguments(block, block.call, waiting)
        block.state = BlockState.OPEN
        if block.call is not None:
            self._same_id.add(block.call.id, block)
        if block.call is not None and self.context.has_no_parameters(block.call.name):
            block.placeholder_decided = True
        self._stream.send(waiting.event.frame, waiting.parsed, wanted, first=waiting.first, call=block.call)
        if self.protocol.start.get(ARGUMENTS) == "" and block.call is not None:
            self._rest_of_start(block, block.call, waiting)

    def start_text(self, waiting: Waiting) -> Block | None:
        """Start the block of a text delta that has none. `None` while another block is open."""
        message, index = self.message, self.protocol.get(waiting.parsed, INDEX)
        why = "no block was started" if index is ABSENT else f"no block {index!r} was started"
        starts = self._stream.report(UNKNOWN_BLOCK, why, at=waiting.event.frame.number)
        if any(block.state is BlockState.OPEN for block in message.blocks):
            return None
        block = Block(None, index, len(message.blocks), "text")
        block.state = BlockState.OPEN
        message.blocks.append(block)
        message.by_index[block.number] = block
        counts = index == message.started
        message.started += counts
        if starts:
            block.place = self._client.new_place()
            what, body = next(iter(self.protocol.text_block(block.place, "")))
            self._stream.send_new(what, body)
        elif counts:
            message.note_place(index)
        return block

    def repeats(self, block: Block) -> bool | None:
        """Whether a call repeats one that the client has; `None` while that is unknown."""
        call = block.call
        return self._same_id.repeats(call.id, block) if call is not None and call.id else False

    def _compared(self, block: Block) -> Compared:
        """The facts of a call for comparison with others of its id."""
        call = block.call
        assert call is not None
        complete = self._client.has_all_arguments(block, call) and not block.text.diverged
        same = canonical(block.intended(call, final=True).text or "{}") if complete else None
        return Compared(call.name, same, beginning(call.arguments), block.stopped)

    def _start_again(self, block: Block, waiting: Waiting) -> None:
        """Handle a repeated start: it is dropped before any arguments. After some, the call is forwarded unchanged."""
        call, index = block.call, self.protocol.get(waiting.parsed, INDEX)
        if number_of(index) != block.number:
            block.other_indexes.append(index)
            self.message.started += 1
        repair = self._stream.report(REPEATED_START, "the block starts again", call)
        begun = self._client.arguments_of(waiting) or (waiting.size and not (call and call.at_most_begun))
        if repair and call is not None and (block.state is BlockState.ENDED or not begun):
            return
        block.text.diverged = True
        wanted: dict[str, Json] = {INDEX: block.place} if block.moved else {}
        wanted |= {ID: block.id} if call is not None and block.id != call.id else {}
        self._stream.send(waiting.event.frame, waiting.parsed, wanted, first=waiting.first, call=call)

    def find_place(self, block: Block) -> None:
        """Choose the index of a block for the client, and report another one."""
        message, protocol, given = self.message, self.protocol, block.index
        defects, expected = protocol.index_defects, message.started
        message.started += 1
        is_number = type(given) is int and given >= 0
        if protocol.counted:
            valid = type(given) in {int, float} and given == expected
            place: Json = len(message.places)
            place = given if given == place and valid else place
        else:
            valid = is_number and given not in message.places
            number = block.number
            free = number is not None and number >= 0 and number not in message.places
            place = given if valid else number if free else message.highest_index + 1
        repair = True
        if not valid:
            if given is ABSENT or given is None:
                defect, why = defects.missing, "the block starts without an index"
            elif not is_number:
                defect, why = defects.odd, f"the index is {given!r}"
            elif block.number in message.numbers or defects.offset is None:
                defect, why = REUSED_INDEX, f"index {given} is that of an earlier block"
            else:
                defect, why = defects.offset, f"the index is {given} where {expected} comes next"
            repair = self._stream.report(defect, why, block.call)
        block.place = place if repair or self.message.moved else given
        self.message.moved = self.message.moved or block.moved
        message.note_place(block.place)
        message.numbers.add(block.number)
        message.highest_index = max(message.highest_index, block.number or 0)

    def _identity(self, block: Block, call: OpenCall, waiting: Waiting) -> dict[str, Json]:
        """The id, name and type to send in the start of a call."""
        protocol, message, parsed = self.protocol, self.message, waiting.parsed
        came_id, came_name = nonblank(protocol.get(parsed, ID)), nonblank(protocol.get(parsed, NAME))
        given = call.id
        wanted: dict[str, Json] = {}
        judge = partial(self._stream.report, call=call)
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
            self.context.ids.map_to(str(wanted[ID]), given, name)
        judge_id(given, self.context, judge, protocol.usual_id)
        block.id = str(wanted.get(ID, given))
        message.ids.add(block.id)
        plain = judge_name(name, self.context.schemas, judge)
        if plain != name:
            wanted[NAME] = plain
        if TYPE in protocol.start and protocol.get(parsed, TYPE) in (None, ABSENT) and judge(MISSING_TYPE, "no type"):
            wanted[TYPE] = protocol.start[TYPE]
        return wanted

    def _no_arguments(self, block: Block, call: OpenCall, waiting: Waiting) -> dict[str, Json]:
        """The value to send in a start in place of arguments."""
        received, none = self.protocol.get(waiting.parsed, ARGUMENTS), self.protocol.start.get(ARGUMENTS, ABSENT)
        if received == none:
            return {}
        if received is None and none == "":
            return {ARGUMENTS: none} if self._stream.report(NULL_ARGUMENTS, NULL_ARGUMENTS.meaning, call) else {}
        if received in (None, ABSENT, "") or (none != "" and isinstance(received, str) and has_nothing(received)):
            lacks = none == {} and self._stream.report(MISSING_INPUT, "the block starts without input", call)
            return {ARGUMENTS: none} if lacks else {}
        if received == {}:
            return {}
        by_model = self.protocol.get(waiting.parsed, CALLER) in (ABSENT, "direct")
        if by_model and self._stream.report(PREFILLED_ARGUMENTS, "the block starts with its arguments", call):
            return {ARGUMENTS: none}
        block.text.diverged = True
        return {}

    def _rest_of_start(self, block: Block, call: OpenCall, waiting: Waiting) -> None:
        """Send the arguments of a start as a delta."""
        received = self.protocol.get(waiting.parsed, ARGUMENTS)
        if isinstance(received, str | dict) and received and not block.text.diverged:
            self._client.put_delta(block, call, upto=waiting.size)
