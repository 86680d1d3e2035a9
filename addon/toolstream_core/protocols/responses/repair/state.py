"""What all parts of the repair of one Responses answer share. Nothing here decides on an event."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from toolstream_core.protocols.responses.repair.client_ids import ClientIds
from toolstream_core.protocols.responses.repair.output import Output
from toolstream_core.protocols.responses.repair.places import Places

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json, Severity
    from toolstream_core.protocols.responses.repair.event_types import EventForm
    from toolstream_core.protocols.responses.repair.kept_events import KeptEvents
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.repairer import Repairer


class Mode(enum.Enum):
    """How far the answer is.

    | from    | event                                               | to        |
    |---------|-----------------------------------------------------|-----------|
    | AWAITED | the first event                                     | OPEN      |
    | AWAITED | the first event, of a stream that is resumed        | PASSED_ON |
    | OPEN    | a terminal event                                    | ENDED     |
    | any     | `response.created` once more, but for the same      | PASSED_ON |
    |         | response while a call is open                       |           |
    """

    AWAITED = enum.auto()
    """No event came yet."""
    OPEN = enum.auto()
    ENDED = enum.auto()
    """The terminal event came. What follows goes on as it comes, but for a second terminal event."""
    PASSED_ON = enum.auto()
    """Nothing is judged any more: another response began, or the start of this one went to an earlier connection."""


class RepairState:
    """One answer: what the client has been sent, and how findings are reported."""

    def __init__(self, repairer: Repairer, context: Context, form: EventForm) -> None:
        """For one stream; `repairer` is who findings are reported to."""
        self.form = form
        self._repairer = repairer
        self.on = repairer.on
        """Whether a row's repair is switched on."""
        self.because = repairer.because
        """Names the defect that demands a change which another one's repair makes."""
        self.context = context
        self.mode = Mode.AWAITED
        self.failed = False
        """Whether the provider reported an error in the stream."""
        self.created: dict[str, Json] = {}
        """The response as `response.created` had it."""
        self.output = Output(repairer, context)
        self.places = Places()
        self.ids = ClientIds(context)
        self.repeated: set[int] = set()
        """By `id`, the calls that were found to be earlier ones again."""
        self._anonymous: list[OpenCall] = []
        self.replaced: list[KeptEvents] = []
        """Kept events in whose place something is sent for the event at hand."""

    def report(self, row: Row, message: str, call: OpenCall | None = None, *, severity: Severity | None = None) -> bool:
        """Report a finding at the event at hand; whether it is to be repaired."""
        return self._repairer.report(row, self.output.number, message, call, severity=severity)

    def begin_call(self, call: OpenCall) -> None:
        """The first event of a call is at hand."""
        self.ids.calls.append(call)
        if not (call.id or call.name):
            self._anonymous.append(call)

    def pass_on(self) -> None:
        """Judge nothing any more."""
        self.mode = Mode.PASSED_ON
        self.context.passes_on()

    @property
    def has_stray_arguments(self) -> bool:
        """Whether arguments came that belong to no known call, or may have: they may be a part of one in pieces."""
        if self._repairer.torn:
            return True
        self._anonymous = [call for call in self._anonymous if not (call.id or call.name)]
        return any(not call.arguments.empty for call in self._anonymous)

    def of_nobody(self, payload: dict[str, Json], row: Row | None = None) -> dict[str, Json]:
        """An event that belongs to no item which the client knows, for `row` where that is why it waited.

        It goes on as it came, but not under an output_index where the client has another item than the provider, or,
        where it waited, any item.
        """
        place = payload.get("output_index")
        taken = row is not None and isinstance(place, int) and place in self.places.taken
        why = row if taken else self.places.disputed(place)
        if why is None:
            return payload
        self.because(row or why)
        return {**payload, "output_index": self.places.instead_of(place, why)}

    def set_repeated(self, call: OpenCall, *, repeated: bool) -> None:
        """Keep whether a call is an earlier one again."""
        if repeated:
            self.repeated.add(id(call))
        else:
            self.repeated.discard(id(call))
