"""A fault that answers in the provider's place is told with the answer."""

from __future__ import annotations

from mitmproxy.test.tflow import tflow

from toolstream_core.proxy import fault_answers

SPEC = "http-error:status=429,retry-after=7,p=0.5"


def test_a_fault_that_answered_has_acted_once() -> None:
    """Under the specification that the user gave; the flow's comment says it too."""
    flow = tflow(resp=True)
    assert fault_answers.noted(flow) == []
    fault_answers.note(flow, SPEC)
    [pick] = fault_answers.noted(flow)
    assert (pick.fault.spec, pick.rolled, pick.touched) == (SPEC, 1, 1)
    assert flow.comment == f"answered by fault {SPEC}"
