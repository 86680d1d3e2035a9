from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import flow, http
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow, tutils

from toolstream_core.engine.session import read_body
from toolstream_core.saved.exchange import Exchange, UnreadableError
from toolstream_core.saved.flowfile import responses_in

BODY = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
REQUEST = {"model": "m", "messages": [], "stream": True}


def made(body: bytes | None = BODY, *, method: str = "POST", coding: str = "identity") -> http.HTTPFlow:
    """A flow of a chat request and its answer."""
    one = tflow.tflow(
        req=tutils.treq(
            method=method.encode(),
            host="api.example.com",
            path=b"/v1/chat/completions",
            headers=http.Headers(content_type="application/json", authorization="Bearer hidden-value"),
            content=json.dumps(REQUEST).encode(),
        ),
        resp=tutils.tresp(headers=http.Headers(content_type="text/event-stream", content_encoding=coding), content=b""),
    )
    assert one.response is not None
    one.response.raw_content = body
    return one


def saved(*flows: flow.Flow) -> bytes:
    """A flow file."""
    file = io.BytesIO()
    writer = FlowWriter(file)
    for one in flows:
        writer.add(one)
    return file.getvalue()


def read(*flows: flow.Flow) -> list[Exchange]:
    """All answers in a file of them."""
    return list(responses_in(io.BytesIO(saved(*flows)), "a.flow"))


def test_a_flow_says_what_the_addon_would_have_seen() -> None:
    """Host, path, type, request, and what of it is secret."""
    [one] = read(made())
    assert (one.facts.source, one.facts.host) == ("a.flow#0", "api.example.com")
    assert (one.facts.path, one.facts.content_type) == ("/v1/chat/completions", "text/event-stream")
    assert one.facts.request == REQUEST
    assert one.secrets == ("Bearer hidden-value", "hidden-value")
    assert b"".join(one.chunks) == BODY
    assert (one.broken, one.missing, one.times) == (None, None, [])


def test_flows_are_numbered_from_0_all_of_them_counted() -> None:
    """As mitmproxy lists them: those without an answer, and those of other protocols."""
    unanswered = made()
    unanswered.response = None
    flows = (tflow.ttcpflow(), made(), unanswered, tflow.tdnsflow(), made())
    assert [one.facts.source for one in read(*flows)] == ["a.flow#1", "a.flow#4"]


def test_an_encoded_body_stays_encoded() -> None:
    """The pipeline undoes it, as it does live; also of a body that was cut off."""
    [one] = read(made(gzip.compress(BODY)[:-8], coding="gzip"))
    record = read_body(one.chunks, one.facts)
    assert record is not None
    assert (record.finish, record.bytes) == (["stop"], len(BODY))


def test_a_body_that_was_not_saved_is_missed() -> None:
    """With the option that would have saved it."""
    [one] = read(made(None))
    assert "--set store_streamed_bodies=true" in str(one.missing)
    assert list(one.chunks) == []


def test_a_body_lost_with_its_connection_is_missed() -> None:
    """No option would have saved it."""
    broken = made(None)
    broken.error = flow.Error("server closed connection")
    [one] = read(broken)
    assert "server closed connection" in str(one.missing)
    assert "--set" not in str(one.missing)


def test_an_empty_body_is_told() -> None:
    """It was saved, and there is nothing in it."""
    [one] = read(made(b""))
    assert "empty" in str(one.missing)


def test_nobody_misses_the_body_of_what_is_no_llm_answer() -> None:
    """A preflight has none, and other traffic is none of our business."""
    other = made(None)
    other.request.path, other.request.content = "/events", b""
    assert [one.missing for one in read(made(b"", method="OPTIONS"), other)] == [None, None]


def test_a_break_is_told() -> None:
    """In mitmproxy's words."""
    broken = made()
    broken.error = flow.Error("server closed connection")
    [one] = read(broken)
    assert one.broken == "server closed connection"


def test_noted_chunks_are_the_chunks() -> None:
    """With their times."""
    noted = made()
    noted.metadata["toolstream"] = {"version": 1, "chunks": [[0, 10], [7, 0], [30, len(BODY) - 10]]}
    [one] = read(noted)
    assert ([*one.chunks], one.times) == ([BODY[:10], b"", BODY[10:]], [0, 7, 30])


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
def test_notes_that_do_not_fit_are_not_believed(noted: Any) -> None:
    """The body is whole, without times."""
    odd = made()
    odd.metadata["toolstream"] = noted
    [one] = read(odd)
    assert (b"".join(one.chunks), one.times) == (BODY, [])


def test_what_came_before_the_damage_is_read() -> None:
    """A file that is still being written ends anywhere."""
    data = saved(made(), made())
    responses = responses_in(io.BytesIO(data[:-10]), "a.flow")
    assert next(responses).facts.source == "a.flow#0"
    with pytest.raises(UnreadableError, match="after flow 0"):
        next(responses)


def test_a_file_from_a_newer_mitmproxy_is_told() -> None:
    """In mitmproxy's words: it says what to do."""
    data = saved(made()).replace(b"7:version;2:21#", b"7:version;2:99#")
    with pytest.raises(UnreadableError, match=r"from the beginning.*version"):
        list(responses_in(io.BytesIO(data), "a.flow"))


@given(st.data())
def test_foreign_bytes_are_told(data: st.DataObject) -> None:
    """Whatever part of a flow file is damaged, and however."""
    whole = saved(made())
    at = data.draw(st.integers(0, len(whole)))
    until = data.draw(st.integers(at, min(len(whole), at + 20)))
    damaged = whole[:at] + data.draw(st.binary(max_size=20)) + whole[until:]
    try:
        for one in responses_in(io.BytesIO(damaged), "a.flow"):
            read_body(one.chunks, one.facts)
    except UnreadableError as error:
        assert str(error).startswith("is a damaged or truncated mitmproxy flow file: unreadable ")  # noqa: PT017 - either is right
