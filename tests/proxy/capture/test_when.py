from __future__ import annotations

from typing import Any

import pytest
from mitmproxy.test import tutils

from tests.proxy.flows import llm_flow
from toolstream_core.model import Finding, Record, Severity
from toolstream_core.proxy.capture.draft import Ending, When, is_kept


def ending(*severities: Severity, status: int = 200, broken: str | None = None, error: str | None = None) -> Ending:
    """Return the ending of a flow with findings of these severities."""
    record = Record("x", "openai-chat", "llm.example", "m", error=error, broken=broken)
    record.findings = [Finding("TS001", "x", severity, 0, None, "", None) for severity in severities]
    state: dict[str, Any] = llm_flow().get_state()
    state["response"] |= {"status_code": status}
    return Ending(state, record, broken, differs=False)


WITHOUT_FINDINGS, WITH_NOTE, WITH_WARNING = ending(), ending(Severity.NOTE), ending(Severity.NOTE, Severity.WARNING)
FAILED = [
    ending(Severity.ERROR),
    ending(Severity.WARNING, Severity.ERROR),
    ending(status=429),
    ending(broken="peer closed"),
    ending(error="overloaded"),
]


@pytest.mark.parametrize("case", [WITHOUT_FINDINGS, WITH_NOTE, WITH_WARNING, *FAILED])
def test_which_captures_are_kept(case: Ending) -> None:
    """`errors` keeps a subset of the captures of `findings`, and `findings` a subset of `all`."""
    assert is_kept(case, When.ALL)
    assert is_kept(case, When.FINDINGS) == (case is WITH_WARNING or case in FAILED)
    assert is_kept(case, When.ERRORS) == (case in FAILED)


def test_a_client_that_leaves_after_the_end_is_no_error() -> None:
    """The record of a complete response is not broken, although the client disconnected."""
    left = Ending(WITHOUT_FINDINGS.state, WITHOUT_FINDINGS.record, "Client disconnected.", differs=False)
    assert not is_kept(left, When.ERRORS)


def test_a_response_without_a_record() -> None:
    """A response that cannot be read is kept only if its request was for an LLM."""
    state: dict[str, Any] = llm_flow().get_state()
    assert is_kept(Ending(state, None, None, differs=False), When.ALL)
    assert not is_kept(Ending(state, None, None, differs=False), When.ERRORS)
    other = llm_flow()
    other.request = tutils.treq(method=b"GET", path=b"/events")
    assert not is_kept(Ending(other.get_state(), None, "broke", differs=False), When.ALL)
