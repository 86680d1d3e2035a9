"""The state of one stream, and the frames to send for an event."""

from __future__ import annotations

from typing import Final

from toolstream_core.calls import OpenCall
from toolstream_core.defects.defect import WARNING, Defect
from toolstream_core.defects.framing import SEQUENCE_NUMBERS
from toolstream_core.model import Json, Kind, Phase, Severity
from toolstream_core.protocols.responses.repair.client import Client
from toolstream_core.protocols.responses.repair.events import ADDED, CLOSED, DELTA, as_custom
from toolstream_core.protocols.responses.repair.intended import CallEvent, IntendedCall, IntendedCalls
from toolstream_core.repair.fields import Paths
from toolstream_core.repair.shapes import BARE_DELTAS, Policy, is_complete, is_sendable
from toolstream_core.repair.shaping import ARGUMENTS, INDEX, PADDING, Outgoing, ShapedCalls, Shaping
from toolstream_core.stages.context import Context
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import Payload

_TEXT_TYPES: Final = ("response.output_text.delta", "response.reasoning")
"""The beginnings of the types of events that may be forwarded without the repair."""
_KNOWN: Final = frozenset(
    {
        *("type", "event_id", "response_id", "sequence_number", "item_id", "output_index", "content_index"),
        *("call_id", "name", "delta", PADDING),
    }
)
"""The keys of an event with a fragment, in Realtime too."""
_PATHS: Final[Paths] = {ARGUMENTS: ("delta",), INDEX: ("output_index",)}
_PHASES: Final = {ADDED: Phase.OPEN, CLOSED: Phase.CLOSE}


MESSAGES: Final = {
    "missing-index": "an event of the item has no output_index",
    "reused-index": "another item has this output_index",
    "changing-index": "the event has another output_index than its item",
    "rotating-item-id": "the event has another item id, or none",
    "missing-id": "the item has no call_id",
    "duplicate-id": "another call has this call_id",
    "changing-call-id": "the call_id differs from the one before",
    "missing-namespace": "the item has no namespace",
    "late-name": "the name comes later than the event that adds the item",
    "empty-name": "the item that closes the call has no name",
    "decorated-name": "the name contains a tool's name and other characters",
    "item-per-fragment": "a fragment of the call comes in its own item",
    "doubled-call": "the call repeats an earlier one",
    "repeated-start": "the item is added again",
    "repeated-stop": "the item is closed again",
    "missing-start": "the item was not added before",
    "unstreamed-calls": "the call comes in the completed response only",
    "unclosed-call": "no output_item.done came for the call",
}
"""The messages of findings that name fields of this protocol, by defect."""


_LATER: Final = frozenset({"late-name", "placeholder-arguments", "cumulative-arguments", "item-per-fragment"})
"""Defects that only a later event reveals."""


class Stream:
    """The state of one stream, and the frames to send for an event."""

    def __init__(self, repairer: Repairer, context: Context, policy: Policy, *, realtime: bool) -> None:
        """`repairer` receives the findings; `policy`: the encoding that the client supports."""
        self.context, self.realtime = context, realtime
        self.policy, self.shapes_nothing = policy, policy.is_empty
        self._repairer = repairer
        self.on, self.attribute_to = repairer.on, repairer.attribute_to
        self.calls, self.client = IntendedCalls(context), Client()
        self.frames: list[Frame] = []
        """The frames to send for the current event."""
        self.number = 0
        """The number of the event that is sent."""
        self.now = 0
        """The number of the last received event."""
        self._last_sequence: int | None = None
        """The last sequence number that was received."""
        self._repeated: Payload = {}
        """The fields that each event of the Realtime API repeats."""
        shaped = ShapedCalls(_KNOWN, self._is_sendable, self._identity, self.client.renumber)
        self.shaping = Shaping(policy, shaped, repairer.reporter)

    def report(
        self,
        defect: Defect,
        message: str,
        call: OpenCall | None = None,
        *,
        severity: Severity | None = None,
        now: bool = False,
    ) -> bool:
        """Report a defect at the event that is sent, or (`now`) at the last one. Returns whether to repair it."""
        return self._repairer.report(defect, self.now if now else self.number, message, call, severity=severity)

    def repairs(self, defect: Defect, intended: IntendedCall, message: str = "") -> bool:
        """Report a defect of a call. Returns whether to repair it."""
        severity = WARNING if defect.name == "empty-name" else None
        message = message or MESSAGES.get(defect.name, defect.meaning)
        return self.report(defect, message, intended.call, severity=severity, now=defect.name in _LATER)

    # -- sequence numbers

    def judge_number(self, payload: Payload, kind: str) -> None:
        """Report a sequence number that is not above the last one; text events, which may be skipped, are left out."""
        if "event_id" in payload and not self._repeated:
            response = payload.get("response_id", json_access.get(payload, "response", "id"))
            self._repeated = {"response_id": response} if isinstance(response, str) else {}
        number = payload.get("sequence_number")
        if not isinstance(number, int) or kind.startswith(_TEXT_TYPES):
            return
        last, self._last_sequence = self._last_sequence, number
        if last is not None and number <= last:
            defect, message = SEQUENCE_NUMBERS, f"sequence number {number} after {last}"
            self.client.renumbers = self._repairer.report(defect, self.now, message) or self.client.renumbers

    def counts_on(self, payload: Payload) -> bool:
        """Note an event's sequence number; `False` if it is not above the last one."""
        number, last = payload.get("sequence_number"), self._last_sequence
        if isinstance(number, int):
            if last is not None and number <= last:
                return False
            self.client.number = self._last_sequence = number
        return "event_id" not in payload or bool(self._repeated)

    def skipped_to(self, number: int) -> None:
        """Note that events up to this sequence number were forwarded unseen."""
        self.client.number = self._last_sequence = number

    def _counted(self, payload: Payload) -> Payload:
        number, last = payload.get("sequence_number"), self.client.number
        if not isinstance(number, int):
            return payload
        self.client.number = number
        if last is None or number > last or not self.client.renumbers:
            return payload
        self.client.number = last + 1
        return {**payload, "sequence_number": last + 1}

    # -- sending

    def put(self, payload: Payload, call: OpenCall | None = None) -> None:
        """Send a new event of `call`."""
        intended = self.calls.by_key.get(id(call))
        if intended is not None and intended.sent is not None and intended.sent.is_custom:
            payload = as_custom(payload)
        if self._repeated:
            payload = {"event_id": self.context.ids.make("event_"), **payload}
            payload |= {} if "response" in payload else self._repeated
        self._shape(None, payload, call)

    def send(self, frame: Frame, payload: Payload | None, call: OpenCall | None = None) -> None:
        """Send `payload` in place of the received event in `frame`; `None`: the frame itself."""
        if self.shapes_nothing:
            self._rewrite(frame, payload)
        else:
            self._shape(frame, payload, call)

    def send_for(self, received: CallEvent, payload: Payload) -> None:
        """Send `payload` in place of an event of a call."""
        original = received.frame.json
        if received.intended.call.kind is Kind.CUSTOM and isinstance(original, dict):
            payload = original if payload is received.payload else as_custom(payload)
        self.send(received.frame, payload, received.intended.call)

    def end_turn(self, *, normally: bool) -> None:
        """Send the events that wait for complete calls; `normally`: the response was not truncated."""
        for one in self.shaping.at_end(normally=normally):
            self._write(one)

    def _shape(self, frame: Frame | None, payload: Payload | None, call: OpenCall | None) -> None:
        """Send an event in the shape of the policy."""
        kind = str(json_access.get(payload, "type"))
        phase = _PHASES.get(kind, Phase.MORE if kind.endswith(".delta") else Phase.ARGUMENTS)
        status = status_of(json_access.get(payload, "item"))
        if self.policy.names_calls is False and kind == DELTA and payload is not None:
            payload = self._bare(payload, call)
        for one in self.shaping.sent(Outgoing(frame, frame, payload, self.number, call, kind, phase, _PATHS, status)):
            self._write(one)

    def _bare(self, payload: Payload, call: OpenCall | None) -> Payload:
        """A delta without the fields that name its call."""
        if not {"call_id", "name"} & payload.keys():
            return payload
        bare = {key: value for key, value in payload.items() if key not in {"call_id", "name"}}
        if "item_id" not in bare and call is not None and call.item_id:
            bare["item_id"] = call.item_id
        self._repairer.reporter.shape(BARE_DELTAS.names)
        return bare

    def _is_sendable(self, call: OpenCall, ended: bool) -> bool:  # noqa: FBT001
        intended = self.calls.by_key.get(id(call))
        if intended is None or intended.sent is None:
            return is_complete(call, self.context, ended=ended)
        if intended.sent.is_custom:
            return ended
        if intended.queued and not ended:
            return False
        return is_sendable(intended.reading(final=True), call, self.context, self.on, ended=ended)

    def _identity(self, call: OpenCall) -> Payload:
        intended = self.calls.by_key.get(id(call))
        sent = intended and intended.sent
        return {"call_id": (sent and sent.call_id) or call.id, "name": (sent and sent.name) or call.name}

    def _write(self, outgoing: Outgoing) -> None:
        if outgoing.frame is not None:
            self._rewrite(outgoing.frame, outgoing.payload)
            return
        payload = outgoing.payload
        if self.client.number is not None and payload is not None:
            self.client.renumbers = True
            self.client.number += 1
            payload = {**payload, "sequence_number": self.client.number}
        self.frames.append(self.context.writer.make(payload, outgoing.number, outgoing.name))

    def _rewrite(self, frame: Frame, payload: Payload | None) -> None:
        payload = None if payload is None else self._counted(payload)
        received = frame.json
        if payload is None or payload is received:
            self.frames.append(frame)
            return
        kind = payload.get("type")
        renamed = (
            frame.name and isinstance(kind, str) and not (isinstance(received, dict) and received.get("type") == kind)
        )
        self.frames.append(self.context.writer.rewrite(frame, payload, kind if renamed else None))


def status_of(item: Json) -> str:
    """The status of an item: `completed`, `incomplete`, or empty."""
    status = item.get("status") if isinstance(item, dict) else None
    return status if isinstance(status, str) else ""
