"""Reports on responses with injected faults, and on how their clients read them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.invariants.healthy import streams
from tests.report.test_markdown import reported
from toolstream_core.report.markdown import bug_report, fault_here

UNDERSTOOD: dict[str, Any] = {"client": "ok"}
MISREAD: dict[str, Any] = {"client": "lost-call: …", "understood": False}
UNKNOWN: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("responses", "title", "words"),
    [
        ([UNDERSTOOD], "A stream that the client read correctly", "the client read it correctly."),
        ([UNDERSTOOD, "text"], "A stream that the client read correctly", "the client read it correctly."),
        ([MISREAD], "A stream that the client misread", "the client misread it."),
        ([MISREAD, UNKNOWN, "text"], "A stream that the client misread", "the client misread it."),
        ([UNKNOWN], "A stream without findings", "whether the client read it correctly is unknown"),
        ([UNDERSTOOD, UNKNOWN], "A stream without findings", "whether the client read it correctly is unknown"),
        (["text"], "A stream without findings", "whether the client read it correctly is unknown"),
    ],
)
def test_only_a_verdict_decides_whether_the_client_misread(responses: list[Any], title: str, words: str) -> None:
    """The last response of a conversation has only text, and never a verdict."""
    healthy = streams()[0]
    text = reported(b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n', healthy)
    call = reported(healthy.body, healthy)
    shown = [replace(text if one == "text" else call, **({} if one == "text" else one)) for one in responses]
    for response in shown:
        response.record.findings = []
    text_of_report = bug_report(shown, "a.flow", "1")
    assert text_of_report.startswith(f"# {title}: ")
    assert f"toolstream found nothing wrong in the stream; {words}" in text_of_report


FAULTS = {
    "deepseek:p=0.5,times=3,model=gpt*": "deepseek",
    "cut:at=event:2,how=reset,turn=1": "cut:at=event:2,how=reset",
    "empty-id:tool=get_*,nth=2,host=a.example": "empty-id:tool=get_*,nth=2",
}


@pytest.mark.parametrize("spec", FAULTS)
def test_a_fault_is_reproduced_without_probability_and_response_filters(spec: str) -> None:
    """The reproduction has only one response. Filters of calls stay."""
    assert fault_here(spec) == FAULTS[spec]


def test_a_report_separates_the_injected_fault_from_the_providers_defects() -> None:
    """It also describes the injected disconnect."""
    healthy = streams()[0]
    response = reported(healthy.body, healthy)
    response.record.broken = "cut by toolstream_fault"
    text = bug_report([replace(response, caused=["cut"], provider=["late-id"], left=[])], "a.flow", "1")
    assert text.startswith("# Injected by fault cut: ")
    assert "The provider's own response had late-id." in text
    assert "It was truncated: cut by toolstream\\_fault." in text
    assert "no later request was saved" in text


def test_responses_with_the_same_fault_are_reported_together() -> None:
    """Each statement has the numbers of its responses, and a repeated request is reported."""
    healthy = streams()[0]
    response = replace(reported(healthy.body, healthy), caused=["http-error"], left=[])
    other = replace(response, caused=["cut"], request={"model": "other"})
    text = bug_report([response, response, other], "a.flow", "1")
    assert text.count("toolstream injected fault `http-error` into responses 0 and 1 to test a client.") == 1
    assert "toolstream injected fault `cut` into response 2" in text
    assert "- Response 0: it repeated the request\n- Responses 1 and 2: unknown" in text
    assert "Unchanged; other events are folded:\n\nResponses 0, 1 and 2:\n\n```text\n" in text
