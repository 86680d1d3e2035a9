"""What a repaired Responses stream sends: events as they came, rewritten or new, under rising sequence numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.framing import SEQUENCE_NUMBERS
from toolstream_core.protocols.responses.repair.kept_events import Progress
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.repairer import Repairer
    from toolstream_core.wire.frame import Frame

_TEXT_TYPES: Final = ("response.output_text.delta", "response.reasoning")
"""How the types of events begin that may pass without being shown to the repair."""
_NUMBER_KEY: Final = b'"sequence_number"'
_NUMBER: Final = re.compile(_NUMBER_KEY + rb"\s*:\s*([0-9]{1,18})")


class Output:
    """Collects what is sent for one event, and keeps the sequence numbers rising."""

    def __init__(self, repairer: Repairer, context: Context) -> None:
        """For one stream; `repairer` is who findings are reported to."""
        self._repairer = repairer
        self._writer = context.writer
        self._make_id = context.ids.make
        self.number = 0
        """Of the event at hand."""
        self.frames: list[Frame] = []
        """What is sent for it."""
        self.events = 0
        """How many events the repair was shown."""
        self.sends = 0
        """How often something was sent."""
        self._repeated: dict[str, Json] = {}
        """What each event of the Realtime API says, whatever it is."""
        self.renumbers = False
        """Whether events get new sequence numbers, because one was put in or the provider's do not rise."""
        self._last: int | None = None
        """The sequence number that was sent last; `None` in a stream without them."""
        self._last_received: int | None = None
        self._quiet: tuple[bytes, int] | None = None
        """The last text that went by without being shown, and where it ends."""

    @property
    def progress(self) -> Progress:
        """How far the stream has come."""
        return Progress(self.number, self.events, self.sends)

    def begin(self, number: int) -> None:
        """Collect what is sent for event `number`."""
        self.frames, self.number = [], number
        if self._quiet is not None:
            raw, end = self._quiet
            self._quiet = None
            if found := _NUMBER.match(raw, raw.rfind(_NUMBER_KEY, 0, end)):
                self._last = int(found[1])

    def on_quiet(self, raw: bytes, end: int) -> None:
        """As `Counts.on_quiet`; the number is read when it is needed."""
        self._quiet = raw, end

    def put(self, payload: dict[str, Json]) -> None:
        """Send a new event."""
        if self._last is not None:
            self.renumbers = True
            self._last += 1
            payload = {**payload, "sequence_number": self._last}
        if self._repeated:
            payload = {"event_id": self._make_id("event_"), **payload}
            payload |= {} if "response" in payload else self._repeated
        self.frames.append(self._writer.make(payload, self.number, str(payload["type"])))

    def send(self, frame: Frame, payload: dict[str, Json], *, numbered: bool = False) -> None:
        """Send an event that came as `frame` and is to say `payload`; `numbered`: as that made it."""
        if not numbered and "sequence_number" in payload:
            payload = self.numbered(payload)
        if payload is frame.json:
            self.frames.append(frame)
            return
        kind, came = payload.get("type"), frame.json
        renamed = frame.name and isinstance(kind, str) and not (isinstance(came, dict) and came.get("type") == kind)
        self.frames.append(self._writer.rewrite(frame, payload, kind if renamed else None))

    def numbered(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event, with a sequence number above the last one's where the stream has them."""
        number = payload.get("sequence_number")
        if not isinstance(number, int):
            return payload
        last, self._last = self._last, number
        if last is None or number > last or not self.renumbers:
            return payload
        self._last = last + 1
        return {**payload, "sequence_number": last + 1}

    def renumber(self) -> None:
        """Events go on in another order, so that they need new sequence numbers where the stream has them."""
        self.renumbers = self.renumbers or self._last is not None

    def number_from(self, payload: dict[str, Json]) -> None:
        """Leave a sequence number for an event that is put before the stream's first one."""
        number = payload.get("sequence_number")
        self._last = number - 1 if isinstance(number, int) else None

    def skipped_to(self, number: int) -> None:
        """Events up to this sequence number were sent without being shown."""
        self._quiet = None
        self._last = self._last_received = number

    def judge_number(self, payload: dict[str, Json], kind: str) -> None:
        """Report a sequence number that is not above the last one; text is left out, as it may pass unseen."""
        if "event_id" in payload and not self._repeated:
            response = payload.get("response_id", json_access.get(payload, "response", "id"))
            self._repeated = {"response_id": response} if isinstance(response, str) else {}
        number = payload.get("sequence_number")
        if not isinstance(number, int) or kind.startswith(_TEXT_TYPES):
            return
        last, self._last_received = self._last_received, number
        if last is not None and number <= last:
            message = f"sequence number {number} after {last}"
            self.renumbers = self._repairer.report(SEQUENCE_NUMBERS, self.number, message) or self.renumbers
