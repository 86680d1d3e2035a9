"""What a capture says of the faults that stood in its answer's way."""

from __future__ import annotations

from typing import Any

import pytest
from mitmproxy.test.tflow import tflow

from toolstream_core.model import Injected
from toolstream_core.saved.flow import UNCAUSED, as_sent, caused_in, sent_in

FAULT = {"spec": "empty-id", "drawn": 1, "changes": 2}
IDLE = {"spec": "late-id", "drawn": 0, "changes": 0}
FOUND = [{"name": "empty-id"}, {"name": "empty-id"}, {"name": "late-id"}]
ODD: list[Any] = [None, 3, {}, {"record": []}, {"record": {"faults": [3, {"spec": 1}, {"spec": "a"}], "findings": 1}}]


def test_the_faults_and_what_they_left() -> None:
    """Those that changed nothing are faults too, and are not what broke it."""
    flow = tflow(resp=True)
    flow.metadata["toolstream"] = {"record": {"faults": [FAULT, IDLE], "findings": FOUND}}
    caused = caused_in(flow)
    assert caused.faults == (Injected("empty-id", 1, 2), Injected("late-id", 0, 0))
    assert caused.specs == ("empty-id",)
    assert caused.findings == ("empty-id", "late-id")


@pytest.mark.parametrize("noted", ODD, ids=repr)
def test_odd_metadata_says_nothing(noted: Any) -> None:
    """Whoever wrote it."""
    flow = tflow(resp=True)
    flow.metadata["toolstream"] = noted
    assert caused_in(flow) == UNCAUSED
    assert sent_in(flow) is None


def test_the_answer_as_its_client_got_it() -> None:
    """Its body and cuts, its coding undone; the flow itself stays."""
    flow = tflow(resp=True)
    assert flow.response is not None
    flow.response.headers["content-encoding"] = "gzip"
    flow.metadata["toolstream"] = {"chunks": [[0, 7]], "sent": {"body": b"abc", "chunks": [[5, 3]]}, "broken": "cut"}
    client = as_sent(flow)
    assert client.response is not None
    assert client.response.raw_content == b"abc"
    assert "content-encoding" not in client.response.headers
    assert client.metadata["toolstream"]["chunks"] == [[5, 3]]
    assert client.metadata["toolstream"]["broken"] == "cut"
    assert flow.response.raw_content == b"message"


def test_an_answer_that_came_as_it_was() -> None:
    """Nothing else was sent."""
    flow = tflow(resp=True)
    client = as_sent(flow)
    assert client.response is not None
    assert client.response.raw_content == b"message"
