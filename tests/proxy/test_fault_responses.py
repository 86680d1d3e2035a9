"""Responses that a fault sends instead of the provider."""

from __future__ import annotations

from mitmproxy.test.tflow import tflow

from toolstream_core.proxy.flow_facts import note_fault, noted_faults

SPEC = "http-error:status=429,retry-after=7,p=0.5"


def test_a_fault_that_sent_the_response_is_noted_once() -> None:
    """The fault is noted under the user's specification, also in the flow's comment."""
    flow = tflow(resp=True)
    assert noted_faults(flow) == []
    note_fault(flow, SPEC)
    [pick] = noted_faults(flow)
    assert (pick.fault.spec, pick.rolled, pick.touched) == (SPEC, 1, 1)
    assert flow.comment == f"answered by fault {SPEC}"
