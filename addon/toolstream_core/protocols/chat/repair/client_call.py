"""One Chat Completions call as the client has received it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.markup import is_markup
from toolstream_core.defects.arguments import NULL_ARGUMENTS, TRAILING_GARBAGE
from toolstream_core.defects.identity import LATE_ID, LATE_NAME, SPLIT_NAME
from toolstream_core.model import ABSENT, Phase
from toolstream_core.protocols.chat.repair.other_forms import Form, Forms
from toolstream_core.stages.repair.arguments import ArgumentRepair
from toolstream_core.stages.repair.names import may_grow, plain_name

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Fragment
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.emitted import Emitted
    from toolstream_core.stages.repair.reporter import Reporter

_MAX_NULL = 64
"""Characters of `null` with white space around it."""


class ClientCall:
    """What the client has received of one call, and what is known of it beyond that."""

    __slots__ = (
        "_takes_none",
        "again",
        "call",
        "choice",
        "context",
        "cut_off",
        "dropped",
        "event",
        "forms",
        "has_arguments",
        "has_header",
        "id",
        "index",
        "late",
        "may_repeat",
        "name",
        "name_open",
        "null",
        "order",
        "reporter",
        "resolved_as",
        "settled",
        "spelling",
        "streamed",
        "twin",
        "wire_index",
    )

    def __init__(self, call: OpenCall, choice: int, order: int, context: Context, reporter: Reporter) -> None:
        """A call of which nothing has been sent; `order` is its place among the calls of choice number `choice`."""
        self.context, self.reporter, self.event = context, reporter, 0
        self.choice, self.call, self.order = choice, call, order
        self._takes_none: tuple[str | None, bool] = (None, False)
        self.resolved_as = ("", "")
        """Its id and name, as far as they have come."""
        self.spelling, self.forms = ArgumentRepair(reporter.on, call.arguments.room), Forms()
        self.streamed = False
        """Whether deltas carry it, whether or not a final message repeats it."""
        self.has_header = self.has_arguments = False
        """Whether the client has its header; whether it has anything of its arguments."""
        self.cut_off = False
        """Whether the stream ended before it, so that its name may have been still to come."""
        self.settled = self.may_repeat = False
        """Whether nothing is waited for any more; whether it may turn out to say an earlier call again."""
        self.index: int = 0
        self.wire_index: object = ABSENT
        self.id = self.name = ""
        self.late: set[str] = set()
        """Keys that the client's header has, and that the fragment which brought them is still to come with."""
        self.name_open = False
        """Whether the name may still grow."""
        self.null: Emitted | None = None
        """A first `null` that waits."""
        self.twin: ClientCall | None = None
        """The earlier call that it says again."""
        self.again: ClientCall | None = None
        """A later call that was dropped because it says this one again."""
        self.dropped: str | None = None
        """What was dropped of its own arguments for that reason."""

    def is_apart(self, fragment: Fragment, form: Form) -> bool:
        """Whether a fragment's arguments are to stay as they came; those before it may be, so that it begins anew."""
        if self.forms.take(fragment, form):
            self.spelling = ArgumentRepair(self.reporter.on, self.call.arguments.room)
        return self.forms.mixed and form is not Form.PLAIN

    def judge(self, row: Row, message: str) -> bool:
        """Report a defect of this call at the current event; return whether it is to be repaired."""
        return self.reporter.report(row, self.event, message, self.call)

    @property
    def tool(self) -> str:
        """The tool that it calls, as the request names it."""
        name, offered = self.call.name, self.context.schemas
        return plain_name(name, offered) if offered and name not in offered else name

    def takes_none(self) -> bool:
        """Whether its tool is known to have no parameters; looked up once for a name."""
        if self._takes_none[0] != self.call.name:
            offered = bool(self.context.schemas)
            self._takes_none = (self.call.name, offered and self.tool in self.context.parameterless)
        return self._takes_none[1]

    @property
    def doubled(self) -> bool:
        """Whether it says an earlier call again: not one that went on to say other arguments, or is spoilt."""
        twin = self.twin
        if twin is None or twin.spelling.spoilt:
            return False
        return twin.call.arguments.meaning == self.call.arguments.meaning

    @property
    def nothing(self) -> bool:
        """Whether nothing has come that a call could be known by; of an id alone only when nothing more can come."""
        may_follow = self.cut_off or not self.settled
        return not ((self.call.id and may_follow) or self.call.name) and self.call.arguments.empty

    @property
    def first_event(self) -> int:
        """The event that opened it."""
        return next(iter(self.call.runs))

    @property
    def may_wait(self) -> bool:
        """Whether it may still change, or nothing has come that it could be known by."""
        call = self.call
        return self.spelling.waiting or self.forms.waits or not (call.id or call.name)

    @property
    def half(self) -> bool:
        """Whether arguments have begun, and neither they nor what may follow the finish make them whole."""
        arguments = self.call.arguments
        over = arguments.empty or arguments.ended or self.call.whole()
        return not (over or self.says_null)

    @property
    def whole(self) -> bool:
        """Whether the call is whole once the answer has said how it finished: it may do without arguments then."""
        if self.nothing:
            return True
        if self.call.arguments.empty or self.says_null:
            return self.context.may_be_empty(self.tool)
        return self.spelling.whole or self.call.whole()

    @property
    def _spoilt(self) -> bool:
        """Whether clients may read other arguments than were meant."""
        return self.forms.mixed or self.forms.given_up or self.spelling.spoilt

    @property
    def full(self) -> bool:
        """Whether the call is whole although nobody has said that it is over; `{}` may come before the rest."""
        text, whole = self.call.arguments.reading(may_be_empty=False)
        if not (self.call.name and whole and text.lstrip(WHITE).startswith("{")) or self._spoilt:
            return False
        return text.strip(WHITE) != "{}" or self.tool in self.context.parameterless

    @property
    def sound(self) -> bool:
        """Whether its arguments are a whole JSON object, but for garbage behind it that goes."""
        return bool(self._object())

    def _object(self) -> str:
        """The whole JSON object that its arguments are, `""` where they are none."""
        text, is_json = self.call.arguments.reading(may_be_empty=False)
        if not text.lstrip(WHITE).startswith("{") or self._spoilt:
            return ""
        if is_json or not (self.spelling.whole and self.reporter.on(TRAILING_GARBAGE)):
            return text if is_json else ""
        try:
            end = json.JSONDecoder().raw_decode(text.lstrip(WHITE))[1]
        except (ValueError, RecursionError):
            return ""
        return text.lstrip(WHITE)[:end] if is_markup(text.lstrip(WHITE)[end:]) else ""

    @property
    def over(self) -> bool:
        """Whether nothing of it can be lacking any more, whatever it is worth."""
        lacks = self.call.arguments.empty or self.half or self.says_null or self.spelling.owes
        return bool(self.call.name) and not lacks

    @property
    def says_null(self) -> bool:
        """Whether its arguments are `null` so far, which stands for none."""
        arguments = self.call.arguments
        none = arguments.empty or arguments.ended or arguments.inside_value or arguments.size > _MAX_NULL
        return not none and arguments.text().strip(WHITE) == "null"

    @property
    def pending(self) -> bool:
        """Whether the header, or a first `{}`, has to wait."""
        if self.settled:
            return False
        if self.may_repeat or self.forms.waits or self.spelling.waiting:
            return True
        if self.has_header:
            return False
        if not self.call.name:
            return self.reporter.on(LATE_NAME)
        if self.name_open:
            return self.reporter.on(SPLIT_NAME)
        return not self.call.id and self.call.arguments.empty and self.reporter.on(LATE_ID)

    def goes_on_with(self, fragment: Fragment) -> bool:
        """Whether a fragment is bare arguments, as the client expects the next ones."""
        return (
            self.has_header
            and self.again is None
            and fragment.id is ABSENT
            and fragment.name is ABSENT
            and fragment.index == self.index == self.wire_index
            and fragment.well_formed
            and fragment.phase is Phase.MORE
            and fragment.choice == self.choice
            and type(fragment.arguments) is str
            and (fragment.type is ABSENT or bool(fragment.type))
        )

    def settle(self) -> None:
        """What has come is all that there is to go by."""
        self.settled, self.may_repeat, self.forms.waits = True, False, False
        self.decide()

    def decide(self) -> None:
        """A first `{}` or `null` does not stand for anything that follows."""
        null, self.null = self.null, None
        if null is not None and self.spelling.placeholder and self.judge(NULL_ARGUMENTS, "the arguments are null"):
            null.text = ""
        self.spelling.settle(self.judge)

    def resolved(self, fragment: Fragment) -> None:
        """Look at the next fragment's name, before the client has the header: whether the call's name is whole."""
        context, name = self.context, self.call.name
        if not fragment.name or name in context.schemas:
            self.name_open = False
        elif context.schemas:
            self.name_open = may_grow(name, context.schemas)
        else:
            self.name_open = context.patient and self.call.arguments.empty
