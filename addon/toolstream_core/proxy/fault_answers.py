"""Answers that a fault makes in the provider's place: noted in the flow, told in the record. Knows mitmproxy's flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.faults.picker import Budget, Picker
from toolstream_core.faults.spec import parse_fault
from toolstream_core.transit.rows import keys_of

if TYPE_CHECKING:
    from mitmproxy import http

_KEY: Final = "toolstream_fault"


def note(flow: http.HTTPFlow, spec: str) -> None:
    """Note that the fault of this specification has answered."""
    flow.comment = f"answered by fault {spec}"
    flow.metadata[_KEY] = spec


def noted(flow: http.HTTPFlow) -> list[Picker]:
    """The fault that has answered, as one that has acted; none where none did."""
    spec = flow.metadata.get(_KEY)
    if not isinstance(spec, str):
        return []
    fault = parse_fault(spec, {spec.partition(":")[0]}, keys_of)
    return [Picker(fault, "", Budget(0), rolled=1, touched=1)]
