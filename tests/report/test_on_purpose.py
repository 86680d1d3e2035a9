"""Reports on answers that faults broke, and on what their clients made of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.laws.healthy import streams
from tests.report.test_markdown import reported
from toolstream_core.report.markdown import bug_report
from toolstream_core.report.reproduce import fault_here


def test_a_healthy_stream_that_was_understood() -> None:
    """No client is blamed."""
    healthy = streams()[0]
    answer = replace(reported(healthy.body, healthy), client="ok")
    assert "as far as toolstream reads it; the client understood it." in bug_report([answer], "a.flow", "1")


FAULTS = {
    "deepseek:p=0.5,times=3,model=gpt*": "deepseek",
    "cut:at=event:2,how=reset,turn=1": "cut:at=event:2,how=reset",
    "empty-id:tool=get_*,nth=2,host=a.example": "empty-id:tool=get_*,nth=2",
}


@pytest.mark.parametrize("spec", FAULTS)
def test_a_fault_is_reproduced_without_its_targets_and_chance(spec: str) -> None:
    """The one answer that is served is hit; which of its calls, stays."""
    assert fault_here(spec) == FAULTS[spec]


def test_a_stream_that_was_broken_and_understood() -> None:
    """What the provider had wrong by itself is said, and how the connection broke."""
    healthy = streams()[0]
    answer = reported(healthy.body, healthy)
    answer.record.broken = "cut by toolstream_fault"
    text = bug_report([replace(answer, caused=["cut"], provider=["late-id"], left=[])], "a.flow", "1")
    assert text.startswith("# Caused by fault cut: ")
    assert "What the provider sent had late-id by itself." in text
    assert "Its connection broke: cut by toolstream\\_fault." in text
    assert "no request follows it" in text


def test_answers_that_a_fault_broke_alike() -> None:
    """Each thing is said once, with the numbers of the answers; whoever asked the same again is told so."""
    healthy = streams()[0]
    answer = replace(reported(healthy.body, healthy), caused=["http-error"], left=[])
    other = replace(answer, caused=["cut"], request={"model": "other"})
    text = bug_report([answer, answer, other], "a.flow", "1")
    assert text.count("toolstream broke answers 0 and 1 on purpose, by fault `http-error`, to test a client.") == 1
    assert "toolstream broke answer 2 on purpose, by fault `cut`" in text
    assert "- Answer 0: it asked the same again\n- Answers 1 and 2: nothing that was saved tells" in text
    assert "As they came, but for what is folded:\n\nAnswers 0, 1 and 2:\n\n```text\n" in text
