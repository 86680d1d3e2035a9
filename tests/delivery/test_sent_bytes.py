"""The bytes that a client received, read again."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.invariants.healthy import Healthy, over_all_transports
from toolstream_core.delivery.sent_bytes import SentBytes, response_id
from toolstream_core.engine.session import read_body
from toolstream_core.model import Record, StreamFacts

EVENTS = StreamFacts(path="/v1/responses", content_type="text/event-stream")


def read_again(sent: SentBytes) -> Record | None:
    """The record of the response that the client received."""
    steps = sent.record(broken=None)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            record: Record | None = end.value
            return record


@pytest.mark.parametrize("healthy", over_all_transports(), ids=str)
def test_the_sent_response_of_every_protocol(healthy: Healthy) -> None:
    """The bytes are kept, or there are too many to keep."""
    intended = read_body([healthy.body], healthy.exchange)
    assert intended is not None
    for max_bytes in (1024 * 1024, 100):
        sent = SentBytes(healthy.exchange, max_bytes=max_bytes)
        for at in range(0, len(healthy.body), 37):
            sent.take(healthy.body[at : at + 37])
        record = read_again(sent)
        assert record is not None
        calls = [(call.id, call.name, call.arguments, call.complete) for call in record.calls]
        assert calls == [(call.id, call.name, call.arguments, call.complete) for call in intended.calls]
        assert sent.body == (healthy.body if len(healthy.body) <= max_bytes else None)


def event(kind: str, **more: Any) -> bytes:
    """An event of Responses."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


CREATED = event("response.created", response={"id": "resp_1", "object": "response"})


@pytest.mark.parametrize(
    ("body", "exchange", "found"),
    [
        (CREATED, EVENTS, "resp_1"),
        (b": hi\n\n" + CREATED, EVENTS, "resp_1"),
        pytest.param(
            gzip.compress(CREATED),
            StreamFacts(content_type="text/event-stream", content_encoding="gzip"),
            "resp_1",
            id="gzip",
        ),
        (b'{"object":"response","id":"resp_2"}', StreamFacts(content_type="application/json"), "resp_2"),
        (b'{"object":"chat.completion","id":"chatcmpl"}', StreamFacts(content_type="application/json"), ""),
        (event("response.output_text.delta", delta="x"), EVENTS, ""),
        (b"<html>", StreamFacts(content_type="text/html"), ""),
        (b"", EVENTS, ""),
    ],
)
def test_the_id_of_a_response(body: bytes, exchange: StreamFacts, found: str) -> None:
    """Chunk boundaries do not matter."""
    assert response_id([body], exchange) == found
    assert response_id([body[at : at + 1] for at in range(len(body))], exchange) == found


def test_the_id_of_a_long_response_is_kept() -> None:
    """Its bytes are not."""
    sent = SentBytes(EVENTS, max_bytes=200)
    sent.take(CREATED)
    for _ in range(20):
        sent.take(event("response.output_text.delta", delta="x"))
    assert (sent.body, sent.response_id) == (None, "resp_1")


def test_a_long_response_that_was_forwarded_unchanged_is_not_read_again() -> None:
    """It was read when it was received."""
    sent = SentBytes(EVENTS, reads_long=False, max_bytes=200)
    for _ in range(20):
        sent.take(CREATED)
    assert (sent.body, sent.response_id, read_again(sent)) == (None, "resp_1", None)
