"""The faults that a capture notes."""

from __future__ import annotations

from typing import Any

import pytest
from mitmproxy.test.tflow import tflow

from toolstream_core.model import Injected
from toolstream_core.saved.flow import UNCAUSED, as_sent, caused_in, sent_in

FAULT = {"spec": "empty-id", "drawn": 1, "changes": 2}
UNUSED = {"spec": "late-id", "drawn": 0, "changes": 0}
FINDINGS = [{"name": "empty-id"}, {"name": "empty-id"}, {"name": "late-id"}]
INVALID: list[Any] = [
    None,
    3,
    {},
    {"record": []},
    {"record": {"faults": [3, {"spec": 1}, {"spec": "a"}], "findings": 1}},
]


def test_faults_and_their_findings_are_read() -> None:
    """A fault that changed nothing is listed, but is not a cause."""
    flow = tflow(resp=True)
    flow.metadata["toolstream"] = {"record": {"faults": [FAULT, UNUSED], "findings": FINDINGS}}
    caused = caused_in(flow)
    assert caused.faults == (Injected("empty-id", 1, 2), Injected("late-id", 0, 0))
    assert caused.specs == ("empty-id",)
    assert caused.findings == ("empty-id", "late-id")


@pytest.mark.parametrize("noted", INVALID, ids=repr)
def test_invalid_metadata_is_ignored(noted: Any) -> None:
    """Metadata of another form names no fault and no sent body."""
    flow = tflow(resp=True)
    flow.metadata["toolstream"] = noted
    assert caused_in(flow) == UNCAUSED
    assert sent_in(flow) is None


def test_the_sent_response_replaces_the_body() -> None:
    """The client's flow has the sent body, its chunks and no coding; the original flow does not change."""
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


def test_an_unchanged_response_has_no_sent_body() -> None:
    """The client's flow has the provider's body."""
    flow = tflow(resp=True)
    client = as_sent(flow)
    assert client.response is not None
    assert client.response.raw_content == b"message"
