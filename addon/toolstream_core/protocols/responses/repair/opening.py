"""How a Responses stream begins: with one `response.created`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.finish import REPEATED_START
from toolstream_core.defects.framing import MISSING_HEAD, RESTARTED_STREAM
from toolstream_core.protocols.responses.repair.event_types import CREATED, is_resumed, missing_head
from toolstream_core.protocols.responses.repair.state import Mode

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.client_items import ClientItems
    from toolstream_core.protocols.responses.repair.kept_items import KeptItems
    from toolstream_core.protocols.responses.repair.state import RepairState


class OpeningRepair:
    """The start of one response."""

    def __init__(self, state: RepairState, items: ClientItems, kept: KeptItems) -> None:
        """For one stream."""
        self._state = state
        self._kept = kept
        self._items = items

    def resumes(self, payload: dict[str, Json], kind: str) -> bool:
        """Whether the first event continues a stream of an earlier connection, so that nothing is judged."""
        if not is_resumed(self._state.context.exchange.path, payload, kind):
            return False
        self._state.pass_on()
        return True

    def begin(self, payload: dict[str, Json], kind: str) -> None:
        """Put `response.created` before the first event, where that is another one."""
        state = self._state
        state.mode = Mode.OPEN
        may_head = state.form.repeats_response and not state.failed
        response = missing_head(payload, kind) if may_head else None
        message = f"the stream begins with {kind}, not with {CREATED}"
        if response is not None and state.report(MISSING_HEAD, message):
            state.output.number_from(payload)
            state.created = response
            state.output.put({"type": CREATED, "response": response})

    def take(self, payload: dict[str, Json]) -> dict[str, Json] | None:
        """`response.created` as the client is to get it; `None` where it has it already."""
        state = self._state
        if not state.created:
            response = payload.get("response")
            state.created = response if isinstance(response, dict) else {}
            return payload
        again = payload.get("response") == state.created
        if again and not (self._items or state.places.taken):
            return None if state.report(REPEATED_START, "the response is created again") else payload
        state.report(RESTARTED_STREAM, "a second response starts within the stream")
        if not (again and self._items.unclosed()):
            self._kept.give_all_back(self._items)
            state.pass_on()
        return payload
