"""Responses in reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.invariants.driven import injected
from tests.invariants.healthy import streams
from tests.report.test_markdown import reported

HEALTHY = streams()[0]
RESPONSES: dict[str, tuple[bytes, dict[str, Any], bool]] = {
    "healthy": (HEALTHY.body, {}, False),
    "healthy and understood": (HEALTHY.body, {"client": "ok"}, False),
    "misread": (HEALTHY.body, {"client": "lost-call: …", "understood": False}, True),
    "broken by a fault": (HEALTHY.body, {"caused": ["stall"], "client": "ok"}, True),
    "wrong": (injected(HEALTHY.body, HEALTHY.exchange, "empty-id").out, {}, True),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_responses_with_a_problem_are_notable(name: str) -> None:
    """A problem is a finding, a fault or a misreading."""
    body, known, notable = RESPONSES[name]
    assert replace(reported(body, HEALTHY), **known).is_notable is notable
