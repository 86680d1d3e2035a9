"""Results that kept ids which their calls came back without."""

from __future__ import annotations

from typing import Any

import pytest

from toolstream_core.model import Call, Kind
from toolstream_core.protocols.requests.conversation import conversation
from toolstream_core.verdict import Outcome, judge


def made(**more: Any) -> dict[str, Any]:
    """A call as a Gemini client says it again."""
    return {"functionCall": {"name": "ls", "args": {"p": 1}, **more}}


def gave(**more: Any) -> dict[str, Any]:
    """Its result."""
    return {"functionResponse": {"name": "ls", "response": {"r": 1}, **more}}


@pytest.mark.parametrize(
    ("ids", "calls", "results", "outcome"),
    [
        ("a", [made(id="a")], [gave(id="a")], Outcome.OK),
        ("a", [made(id="a")], [gave()], Outcome.OK),
        ("a", [made()], [gave()], Outcome.OK),
        ("a", [made()], [gave(id="a")], Outcome.OK),
        ("ab", [made(), made()], [gave(id="b"), gave(id="a")], Outcome.OK),
        ("ab", [made(), made()], [gave(id="a"), gave(id="x")], Outcome.WRONG_ID),
        (" ", [made()], [gave(id="own")], Outcome.OK),
        (" ", [made(id="own")], [gave(id="other")], Outcome.WRONG_ID),
        ("a", [made(id="a")], [gave(id="b")], Outcome.WRONG_ID),
    ],
)
def test_ids_in_one_of_the_two(ids: str, calls: list[Any], results: list[Any], outcome: Outcome) -> None:
    """An id is optional there."""
    sent = [Call(0, at, Kind.FUNCTION, one.strip(), "ls", '{"p":1}', complete=True) for at, one in enumerate(ids)]
    said = conversation({"contents": [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]})
    assert judge(sent, said).outcome is outcome
