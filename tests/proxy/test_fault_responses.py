"""A fault that answers in the provider's place is told with the answer."""

from __future__ import annotations

from mitmproxy.test.tflow import tflow

from toolstream_core.proxy.flow_facts import note_fault, noted_faults

SPEC = "http-error:status=429,retry-after=7,p=0.5"


def test_a_fault_that_answered_has_acted_once() -> None:
    """Under the specification that the user gave; the flow's comment says it too."""
    flow = tflow(resp=True)
    assert noted_faults(flow) == []
    note_fault(flow, SPEC)
    [pick] = noted_faults(flow)
    assert (pick.fault.spec, pick.rolled, pick.touched) == (SPEC, 1, 1)
    assert flow.comment == f"answered by fault {SPEC}"
