from __future__ import annotations

import gzip
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import flow
from mitmproxy.test import tflow

from tests.proxy.flows import flow_file
from tests.saved.flows import REQUEST, chat_flow
from toolstream_core.engine.session import read_body
from toolstream_core.saved.exchange import Exchange, UnreadableError
from toolstream_core.saved.flowfile import responses_in

BODY = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def read_back(*flows: flow.Flow) -> list[Exchange]:
    """Return all responses in a file with these flows."""
    return list(responses_in(io.BytesIO(flow_file(*flows)), "a.flow"))


def test_a_flow_has_the_facts_of_a_live_response() -> None:
    """Host, path, content type, request and secrets are read."""
    [exchange] = read_back(chat_flow(BODY, headers={"authorization": "Bearer hidden-value"}))
    assert (exchange.facts.source, exchange.facts.host) == ("a.flow#0", "llm.example.com")
    assert (exchange.facts.path, exchange.facts.content_type) == ("/v1/chat/completions", "text/event-stream")
    assert exchange.facts.request == REQUEST
    assert exchange.secrets == ("Bearer hidden-value", "hidden-value")
    assert b"".join(exchange.chunks) == BODY
    assert (exchange.broken, exchange.missing, exchange.times) == (None, None, [])


def test_flows_are_numbered_from_0() -> None:
    """All flows count, as in mitmproxy's list."""
    unanswered = chat_flow(BODY)
    unanswered.response = None
    flows = (tflow.ttcpflow(), chat_flow(BODY), unanswered, tflow.tdnsflow(), chat_flow(BODY))
    assert [exchange.facts.source for exchange in read_back(*flows)] == ["a.flow#1", "a.flow#4"]


def test_a_compressed_body_stays_compressed() -> None:
    """It is decoded when it is read, also if it is truncated."""
    [exchange] = read_back(chat_flow(gzip.compress(BODY)[:-8], coding="gzip"))
    record = read_body(exchange.chunks, exchange.facts)
    assert record is not None
    assert (record.finish, record.bytes) == (["stop"], len(BODY))


def test_a_body_that_was_not_saved_is_reported() -> None:
    """The message names the option that saves bodies."""
    [exchange] = read_back(chat_flow(None))
    assert "--set store_streamed_bodies=true" in str(exchange.missing)
    assert list(exchange.chunks) == []


def test_a_body_lost_with_its_connection_is_reported() -> None:
    """The message names no option, as none would have saved the body."""
    broken = chat_flow(None)
    broken.error = flow.Error("server closed connection")
    [exchange] = read_back(broken)
    assert "server closed connection" in str(exchange.missing)
    assert "--set" not in str(exchange.missing)


def test_an_empty_body_is_reported() -> None:
    """The body was saved and is empty."""
    [exchange] = read_back(chat_flow(b""))
    assert "empty" in str(exchange.missing)


def test_a_missing_body_of_other_traffic_is_not_reported() -> None:
    """A preflight has no body, and other traffic is ignored."""
    other = chat_flow(None)
    other.request.path, other.request.content = "/events", b""
    preflight = chat_flow(b"")
    preflight.request.method = "OPTIONS"
    assert [exchange.missing for exchange in read_back(preflight, other)] == [None, None]


def test_a_disconnect_is_read() -> None:
    """The error has mitmproxy's text."""
    broken = chat_flow(BODY)
    broken.error = flow.Error("server closed connection")
    [exchange] = read_back(broken)
    assert exchange.broken == "server closed connection"


def test_noted_chunks_are_read() -> None:
    """The chunks have their times."""
    noted = chat_flow(BODY)
    noted.metadata["toolstream"] = {"version": 1, "chunks": [[0, 10], [7, 0], [30, len(BODY) - 10]]}
    [exchange] = read_back(noted)
    assert ([*exchange.chunks], exchange.times) == ([BODY[:10], b"", BODY[10:]], [0, 7, 30])


@pytest.mark.parametrize(
    "noted",
    [
        "x",
        {"chunks": None},
        {"chunks": []},
        {"chunks": [[0, 10]]},
        {"chunks": [[0, len(BODY) + 1]]},
        {"chunks": [[0, -10], [0, len(BODY) + 10]]},
        {"chunks": [["x", len(BODY)]]},
        {"chunks": [[None, len(BODY)]]},
        {"chunks": [[], 5]},
    ],
)
def test_noted_chunks_of_another_body_are_ignored(noted: Any) -> None:
    """The body is one chunk without times."""
    edited = chat_flow(BODY)
    edited.metadata["toolstream"] = noted
    [exchange] = read_back(edited)
    assert (b"".join(exchange.chunks), exchange.times) == (BODY, [])


def test_flows_before_the_damage_are_read() -> None:
    """A file that is still being written may end inside a flow."""
    data = flow_file(chat_flow(BODY), chat_flow(BODY))
    responses = responses_in(io.BytesIO(data[:-10]), "a.flow")
    assert next(responses).facts.source == "a.flow#0"
    with pytest.raises(UnreadableError, match="after flow 0"):
        next(responses)


def test_a_file_from_a_newer_mitmproxy_is_an_error() -> None:
    """The error has mitmproxy's advice."""
    data = flow_file(chat_flow(BODY)).replace(b"7:version;2:21#", b"7:version;2:99#")
    with pytest.raises(UnreadableError, match=r"from the beginning.*version"):
        list(responses_in(io.BytesIO(data), "a.flow"))


@given(st.data())
def test_a_damaged_file_is_an_error(data: st.DataObject) -> None:
    """Damage at any place is reported."""
    intact = flow_file(chat_flow(BODY))
    at = data.draw(st.integers(0, len(intact)))
    until = data.draw(st.integers(at, min(len(intact), at + 20)))
    damaged = intact[:at] + data.draw(st.binary(max_size=20)) + intact[until:]
    try:
        for exchange in responses_in(io.BytesIO(damaged), "a.flow"):
            read_body(exchange.chunks, exchange.facts)
    except UnreadableError as error:
        assert str(error).startswith("is a damaged or truncated mitmproxy flow file: unreadable ")  # noqa: PT017 - either is right
