"""One call as the client gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls import nonblank
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.arguments import (
    MISNAMED_ARGUMENTS,
    NULL_ARGUMENTS,
    OBJECT_ARGUMENTS,
    TRAILING_GARBAGE,
)
from toolstream_core.model import ABSENT
from toolstream_core.protocols.cohere.wire import (
    ARGUMENT_KEYS,
    argument_key,
    entry_of,
    function_of,
    index_of,
    with_arguments,
)
from toolstream_core.stages.repair.streamed_call import StreamedCall
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.cohere.repair.output import NamedEventRepairer
    from toolstream_core.protocols.cohere.wire import Payload


class ClientCall(StreamedCall):
    """A call that the client has been given; `place` is where."""

    def __init__(self, repairer: NamedEventRepairer, call: OpenCall, payload: Payload, place: int) -> None:
        """`payload` is the event that starts it, with one entry."""
        super().__init__(repairer.context, repairer.on, call)
        self._repairer = repairer
        self.start = payload
        """With what only came later of who the call is."""
        self.place = place
        self.identified_by: Payload | None = None
        """The event that says who the call is, where that is not its start."""
        self.index: Json = payload.get("index", ABSENT)
        """The index of its start, as it stands on the wire."""
        self.moved = False
        """Whether its events carry another index than the wire's."""
        self.indexed = False
        """Whether arguments came under its own index."""
        self.adopts = False
        """Whether arguments without its index were taken for its own: those that follow are, too."""
        self.judged: Row | None = None
        """The last defect of it."""
        self.followed = False
        """Whether another call has started at its index: clients take what comes there for that one's."""
        self.open = True
        self.ended_early = False
        """Whether it was ended before its own end came."""
        entry = entry_of(payload)
        self.given_id = nonblank(entry.get("id"))
        self.name = nonblank(function_of(entry).get("name"))

    @override
    def judge(self, row: Row, message: str) -> bool:
        self.judged = row
        repair = self._repairer.report(row, self._repairer.number, message, self.call)
        return repair and not (self.torn and row is TRAILING_GARBAGE)

    def carries_index(self, payload: Payload) -> bool:
        """Whether an event has the index of its start, in whatever spelling."""
        number = index_of(payload)
        return number == index_of(self.start) and (number is not None or payload.get("index", ABSENT) == self.index)

    @property
    def came_whole(self) -> bool:
        """Whether all of its arguments have come."""
        return self._arguments.whole

    @property
    def is_over(self) -> bool:
        """Whether it came whole, and its end too: nothing behind that is of it."""
        return not self.open and self.came_whole

    @property
    def shown(self) -> Json:
        """The index under which the client has it."""
        return self.place if self.moved or self.index in (ABSENT, None) else self.index

    @property
    @override
    def runnable(self) -> bool:
        return bool(self.call.name or self.name) and super().runnable

    @property
    def inside_value(self) -> bool:
        """Whether plain text within its arguments goes on as it is."""
        return self.open and self.left_out is None and self._arguments.inside_value

    @property
    def accepts_any(self) -> bool:
        """Whether parts of its arguments may be skipped, and taken later."""
        return self.open and self.left_out is None and self._arguments.decided

    def says(self, name: str, arguments: str) -> bool:
        """Whether it is this very call, whole."""
        if self.name != name or not self.whole or not self.given_whole:
            return False
        return same_arguments(self.call.meant()[0], arguments)

    def delta(self, payload: Payload) -> Payload:
        """A part of its arguments as the client is to get it, unless that waits."""
        function = function_of(entry_of(payload))
        key = argument_key(function)
        self.emitted = None
        if key is None:
            return payload
        changed, arguments = payload, function[key]
        if key != ARGUMENT_KEYS[0] and self._arguments.whole:  # to clients they are no arguments, and may stay that
            self.judge(MISNAMED_ARGUMENTS, f"the arguments come under {key!r}")
            self.late = True
            return payload
        message = f"the arguments come under {key!r}"
        if key != ARGUMENT_KEYS[0] and self.judge(MISNAMED_ARGUMENTS, message):
            if self.torn:
                return payload
            changed = with_arguments(payload, arguments)
        text = arguments if isinstance(arguments, str) else self._text(arguments)
        if text is None:
            return changed
        given = self.take(text)
        return changed if given == arguments else with_arguments(changed, given)

    def _text(self, arguments: Json) -> str | None:
        """Arguments that are none, as text; `None` where they stay as they are."""
        if arguments is None:
            return "" if self.judge(NULL_ARGUMENTS, "arguments are null") else None
        if isinstance(arguments, dict) and self.judge(
            OBJECT_ARGUMENTS, "arguments are an object where JSON text belongs"
        ):
            self._changed = True
            return encoded(arguments).decode()
        return None

    @override
    def take(self, text: str) -> str:
        given = super().take(text)
        self.late = self.late or (not self.open and not self.ended_early and bool(given))
        return given

    def on_skipped(self, text: str, last: str) -> None:
        """Take parts that went on as they are; as `ArgumentRepair.on_skipped`."""
        passed = self._arguments.on_skipped(text, last)
        self.given = self.given or bool(passed)

    def rest(self) -> str:
        """What was kept back of the arguments, and has to be said before the end."""
        rest = self._arguments.rest()
        self.given = self.given or bool(rest)
        return rest
