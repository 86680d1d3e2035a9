from __future__ import annotations

from typing import Any

import pytest
from mitmproxy.test import tutils

from tests.proxy.flows import llm_flow
from toolstream_core.model import Finding, Record, Severity
from toolstream_core.proxy.capture.draft import Ending, When, is_kept


def ending(*severities: Severity, status: int = 200, broken: str | None = None, error: str | None = None) -> Ending:
    """A flow with such findings that is over."""
    record = Record("x", "openai-chat", "llm.example", "m", error=error)
    record.findings = [Finding("TS001", "x", severity, 0, None, "", None) for severity in severities]
    state: dict[str, Any] = llm_flow().get_state()
    state["response"] |= {"status_code": status}
    return Ending(state, record, broken, differs=False)


FINE, NOTED, WARNED = ending(), ending(Severity.NOTE), ending(Severity.NOTE, Severity.WARNING)
WRONG = [
    ending(Severity.ERROR),
    ending(Severity.WARNING, Severity.ERROR),
    ending(status=429),
    ending(broken="peer closed"),
    ending(error="overloaded"),
]


@pytest.mark.parametrize("one", [FINE, NOTED, WARNED, *WRONG])
def test_what_is_kept(one: Ending) -> None:
    """All, those with findings, those that went wrong: each a part of the one before."""
    assert is_kept(one, When.ALL)
    assert is_kept(one, When.FINDINGS) == (one is WARNED or one in WRONG)
    assert is_kept(one, When.ERRORS) == (one in WRONG)


def test_what_is_no_llms() -> None:
    """An answer that nobody can read is one where the request asked an LLM, and only there."""
    state: dict[str, Any] = llm_flow().get_state()
    assert is_kept(Ending(state, None, None, differs=False), When.ALL)
    assert not is_kept(Ending(state, None, None, differs=False), When.ERRORS)
    other = llm_flow()
    other.request = tutils.treq(method=b"GET", path=b"/events")
    assert not is_kept(Ending(other.get_state(), None, "broke", differs=False), When.ALL)
