"""One Chat Completions call as the client has been told it, and how an entry has to read for it to go on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.calls import known
from toolstream_core.defects.identity import (
    CHANGING_ID,
    CHANGING_INDEX,
    DECORATED_NAME,
    DUPLICATE_ID,
    EMPTY_ID,
    EMPTY_NAME,
    LATE_ID,
    LATE_NAME,
    MISSING_ID,
    MISSING_INDEX,
    MISSING_NAME,
    MISSING_TYPE,
    NULL_IDENTITY,
    ODD_ID,
    ODD_INDEX,
    OFFSET_INDEX,
    REPEATED_ID,
    REPEATED_NAME,
    REUSED_ID,
    REUSED_INDEX,
    SPLIT_NAME,
)
from toolstream_core.defects.menders.chat_edits import DROP, Edits
from toolstream_core.defects.menders.names import may_grow, plain_name
from toolstream_core.defects.menders.spelling import Spelling
from toolstream_core.defects.row import NOTE
from toolstream_core.model import ABSENT, Phase

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.menders.chat import ChatMender
    from toolstream_core.defects.menders.chat_state import Choice
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Fragment, Json

_USUAL_ID = re.compile(r"[\w.:|/+=-]{1,64}", re.ASCII)


class KnownCall:
    """What the client has been told of one call."""

    __slots__ = (
        "call",
        "choice",
        "doubled",
        "event",
        "id",
        "index",
        "may_repeat",
        "mender",
        "name",
        "name_open",
        "said",
        "settled",
        "spelling",
        "told",
        "wire_index",
    )

    def __init__(self, mender: ChatMender, choice: Choice, call: OpenCall) -> None:
        """A call of which nothing has been told."""
        self.mender = mender
        self.choice = choice
        self.call = call
        self.event = 0
        self.spelling = Spelling(mender.on)
        self.told = False
        """Whether the client has its header."""
        self.said = False
        """Whether the client has anything of its arguments."""
        self.settled = False
        """Whether nothing is waited for any more."""
        self.index: int = 0
        self.wire_index: object = ABSENT
        self.id = ""
        self.name = ""
        self.name_open = False
        """Whether the name may still grow."""
        self.doubled = False
        """Whether it says an earlier call again."""
        self.may_repeat = False
        """Whether it may turn out to say an earlier call again."""

    def judge(self, row: Row, message: str) -> bool:
        """Tell a defect of this call at the event that is looked at."""
        return self.mender.tell(row, self.event, message, self.call)

    @property
    def nothing(self) -> bool:
        """Whether nothing has come that a call could be known by."""
        return not (self.call.id or self.call.name) and self.call.arguments.empty

    @property
    def pending(self) -> bool:
        """Whether the header, or a first `{}`, has to wait."""
        if self.settled:
            return False
        if self.spelling.waiting or self.may_repeat:
            return True
        if self.told:
            return False
        if not self.call.name:
            return self.mender.on(LATE_NAME)
        if self.name_open:
            return self.mender.on(SPLIT_NAME)
        return not self.call.id and self.call.arguments.empty and self.mender.on(LATE_ID)

    def goes_on_with(self, fragment: Fragment) -> bool:
        """Whether a fragment is bare arguments, as the client expects the next ones."""
        return (
            self.told
            and fragment.id is ABSENT
            and fragment.name is ABSENT
            and fragment.index == self.index == self.wire_index
            and fragment.as_wanted
            and fragment.phase is Phase.MORE
            and fragment.choice == self.choice.number
            and type(fragment.arguments) is str
            and (fragment.type is ABSENT or bool(fragment.type))
            and self.choice.finish is None
        )

    def settle(self) -> None:
        """What has come is all that there is to go by."""
        self.settled = True
        self.spelling.settle(self.judge)

    def heard(self, fragment: Fragment) -> None:
        """Look at the next fragment's name: whether the call's name is whole."""
        if self.told:
            return
        context, name = self.mender.context, self.call.name
        if not fragment.name or not self.call.arguments.empty or name in context.schemas:
            self.name_open = False
        elif context.schemas:
            self.name_open = may_grow(name, context.schemas)
        else:
            self.name_open = context.patient

    def opening(self, fragment: Fragment, raw: Json) -> Edits:
        """The edits that make the entry a header; the client has none before it."""
        edits: Edits = {}
        self.told = True
        self._open_index(fragment, raw, edits)
        self._open_id(fragment, edits)
        self._open_name(fragment, edits)
        if not (fragment.type and isinstance(fragment.type, str)) and self.judge(
            MISSING_TYPE, "the call opens without its type"
        ):
            edits["type"] = "function"
        return edits

    def continuing(self, fragment: Fragment, raw: Json) -> Edits:
        """The edits that make the entry a continuation."""
        edits: Edits = {}
        self._go_on_index(fragment, raw, edits)
        self._go_on_id(fragment, edits)
        self._go_on_name(fragment, edits)
        if known(fragment.type):
            drop = DROP in edits.values()
        elif fragment.type is None:
            drop = self.judge(NULL_IDENTITY, "a continuation has type null")
        else:
            drop = fragment.type == "" and self.judge(MISSING_TYPE, 'a continuation has type ""')
        if drop:
            edits["type"] = DROP
        return edits

    def _open_index(self, fragment: Fragment, raw: Json, edits: Edits) -> None:
        wire, place = fragment.index, self.choice.free_index()
        self.wire_index = wire
        self.index = wire if isinstance(wire, int) else place
        mend = False
        if wire is ABSENT or (wire is None and raw is None):
            clear = bool(known(fragment.id)) or len(self.choice.known) == 1
            message = "the call opens without an index"
            mend = self.tell_index(MISSING_INDEX, message, severity_note=clear)
        elif not isinstance(wire, int) or wire < 0 or type(raw) not in {int, type(ABSENT)}:
            whole = type(raw) in {int, type(ABSENT)}
            mend = self.tell_index(ODD_INDEX, f"the index is {wire if whole else raw!r}", severity_note=whole)
        elif wire in self.choice.taken:
            mend = self.judge(REUSED_INDEX, f"index {wire} is that of an earlier call")
        elif wire != place:
            mend = self.judge(OFFSET_INDEX, f"the index is {wire} where {place} comes next")
        if mend:
            self.index = edits["index"] = place
        self.choice.taken[self.index] = self

    def tell_index(self, row: Row, message: str, *, severity_note: bool) -> bool:
        """As `judge`; milder where nothing is left to guess."""
        severity = NOTE if severity_note else None
        return self.mender.tell(row, self.event, message, self.call, severity=severity)

    def _open_id(self, fragment: Fragment, edits: Edits) -> None:
        call, said = self.call, known(fragment.id)
        self.id = call.id
        if not call.id:
            severity = NOTE if fragment.id == "" else None
            message = "the call opens without an id"
            if self.mender.tell(MISSING_ID, self.event, message, call, severity=severity):
                self.id = edits["id"] = self.mender.context.ids.make("call_")
        elif call.id in self.choice.ids and self.choice.ids[call.id] is not self:
            if self.judge(DUPLICATE_ID, f"id {call.id} is that of another call"):
                self.id = edits["id"] = self.mender.context.ids.make("call_")
        elif not said and self.judge(LATE_ID, "the id comes after the call's first fragment"):
            edits["id"] = call.id
        if self.id and "id" not in edits and said != self.id:
            edits["id"] = self.id
        if call.id in self.mender.earlier_ids:
            self.judge(REUSED_ID, f"id {call.id} was that of a call of an earlier turn")
        if call.id and not _USUAL_ID.fullmatch(call.id):
            self.judge(ODD_ID, f"the id has {len(call.id)} characters, or some that other APIs refuse")
        self.choice.ids.setdefault(self.id, self)

    def _open_name(self, fragment: Fragment, edits: Edits) -> None:
        name, said = self.call.name, known(fragment.name)
        self.name = name
        if not name:
            self.judge(MISSING_NAME, "the call has no name")
            return
        if not said:
            mend = self.judge(LATE_NAME, "the name comes after the call's first fragment")
        else:
            mend = said != name and self.judge(SPLIT_NAME, "the name is spread over several fragments")
        if mend:
            edits["name"] = name
        plain = plain_name(name, self.mender.context.schemas)
        if plain != name and self.judge(DECORATED_NAME, f"the name is {name!r}, the tool is {plain}"):
            edits["name"] = plain

    def _go_on_index(self, fragment: Fragment, raw: Json, edits: Edits) -> None:
        wire = fragment.index
        if wire is ABSENT or (wire is None and raw is None):
            if self.tell_index(MISSING_INDEX, "a continuation has no index", severity_note=not self.call.guessed):
                edits["index"] = self.index
        elif not isinstance(wire, int) or type(raw) not in {int, type(ABSENT)}:
            if self.judge(ODD_INDEX, f"the index is {raw!r}"):
                edits["index"] = self.index
        elif wire != self.wire_index and isinstance(self.wire_index, int):
            if self.judge(CHANGING_INDEX, f"the index goes from {self.wire_index} to {wire}"):
                edits["index"] = self.index
        elif wire != self.index:
            edits["index"] = self.index

    def _go_on_id(self, fragment: Fragment, edits: Edits) -> None:
        said = fragment.id
        if said is ABSENT:
            return
        key = known(said)
        if said is None:
            drop = self.judge(NULL_IDENTITY, "a continuation has id null")
        elif not key:
            drop = self.judge(EMPTY_ID, f'a continuation has id "{said}"')
        elif key == self.call.id:
            drop = self.judge(REPEATED_ID, "a continuation has the call's id again")
        else:
            drop = self.judge(CHANGING_ID, f"the id goes from {self.call.id} to {key}")
        if drop:
            edits["id"] = DROP
            self._comes_late(key)

    def _comes_late(self, identity: str) -> None:
        """An id that comes when the client has a made-up one already; no other call may have it."""
        ids = self.mender.context.ids
        if identity == self.call.id and ids.made(self.id) and self.choice.ids.setdefault(identity, self) is self:
            ids.stands_for(self.id, identity, plain_name(self.call.name, self.mender.context.schemas))

    def _go_on_name(self, fragment: Fragment, edits: Edits) -> None:
        said = fragment.name
        if said is ABSENT:
            return
        if said is None:
            drop = self.judge(NULL_IDENTITY, "a continuation has name null")
        elif not known(said):
            drop = self.judge(EMPTY_NAME, f'a continuation has name "{said}"')
        elif said == self.call.name:
            drop = self.judge(REPEATED_NAME, "a continuation has the call's name again")
        else:
            told = self.judge(SPLIT_NAME, "the name is spread over several fragments")
            drop = told and self.name == self.call.name
        if drop:
            edits["name"] = DROP
