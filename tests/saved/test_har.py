from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.engine.session import read_body
from toolstream_core.saved import har
from toolstream_core.saved.exchange import Exchange, UnreadableError

BODY = (
    'data: {"object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"Tromsø"},'
    '"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
URL = "https://api.example.com/v1/chat/completions?key=verysecretkey"


def entry(**changes: Any) -> dict[str, Any]:
    """Return an entry as Chrome writes it, with changes by key."""
    content = {"size": 5, "mimeType": "text/event-stream", "text": BODY, **changes.pop("content", {})}
    response = {
        "status": 200,
        "headers": [{"name": "Content-Encoding", "value": "br"}],
        "content": content,
        **changes.pop("response", {}),
    }
    request = {
        "method": "POST",
        "url": URL,
        "headers": [{"name": "Authorization", "value": "Bearer hidden-value"}],
        "postData": {"mimeType": "application/json", "text": '{"model":"m","messages":[],"stream":true}'},
        **changes.pop("request", {}),
    }
    return {"request": request, "response": response, **changes}


def archive(*entries: Any) -> bytes:
    """Return a HAR file."""
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


def read_back(data: bytes) -> list[Exchange]:
    """Return all responses in a HAR file."""
    return list(har.exchanges(data, "a.har"))


def test_an_entry_has_the_facts_of_a_flow() -> None:
    """Host, path, content type, status, request and secrets are read."""
    [saved] = read_back(archive(entry()))
    exchange = saved.facts
    assert (exchange.source, exchange.host, exchange.status) == ("a.har#0", "api.example.com", 200)
    assert exchange.path == "/v1/chat/completions?key=verysecretkey"
    assert exchange.content_type == "text/event-stream"
    assert exchange.request == {"model": "m", "messages": [], "stream": True}
    assert set(saved.secrets) == {"Bearer hidden-value", "hidden-value", "verysecretkey"}


def test_decoded_text_is_not_decoded_again() -> None:
    """Browsers save the decoded body and keep the header `content-encoding`."""
    [saved] = read_back(archive(entry()))
    assert b"".join(saved.chunks) == BODY.encode()
    record = read_body(saved.chunks, saved.facts)
    assert record is not None
    assert record.finish == ["stop"]


def test_base64_is_decoded() -> None:
    """Browsers save binary bodies as base64."""
    text = base64.b64encode(BODY.encode()).decode()
    [saved] = read_back(archive(entry(content={"text": text, "encoding": "base64"})))
    assert b"".join(saved.chunks) == BODY.encode()


def test_entries_are_numbered_from_0() -> None:
    """All entries count, as in other tools."""
    sources = [saved.facts.source for saved in read_back(archive({"request": {}}, entry(), None, entry()))]
    assert sources == ["a.har#1", "a.har#3"]


@pytest.mark.parametrize("content", [{"text": ""}, {"text": None}, {"text": "!", "encoding": "base64"}])
def test_a_missing_body_is_reported(content: dict[str, Any]) -> None:
    """Chrome omits bodies that it no longer has in memory."""
    [saved] = read_back(archive(entry(content=content)))
    assert saved.missing is not None
    assert "Save all as HAR with content" in saved.missing


def test_a_missing_body_of_a_preflight_is_not_reported() -> None:
    """Browsers send a preflight before a request to another origin."""
    [saved] = read_back(archive(entry(request={"method": "OPTIONS"}, content={"text": ""})))
    assert saved.missing is None


def test_a_disconnect_has_chromes_error() -> None:
    """`_error` is null for a complete response."""
    broken, complete = read_back(
        archive(entry(response={"_error": "net::ERR_FAILED"}), entry(response={"_error": None}))
    )
    assert (broken.broken, complete.broken) == ("net::ERR_FAILED", None)


def test_headers_as_pairs() -> None:
    """Slack writes headers as pairs."""
    pairs = [["Content-Type", "application/json"], ["bad"]]
    [saved] = read_back(archive(entry(response={"headers": pairs})))
    assert saved.facts.content_type == "application/json"


def test_a_byte_order_mark_is_skipped() -> None:
    """Fiddler writes one."""
    assert len(read_back(b"\xef\xbb\xbf" + archive(entry()))) == 1


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"log":{}}', b'{"log":{"entries":{}}}', b"\xff\xfe"])
def test_other_files_are_rejected(data: bytes) -> None:
    """The error names the expected form."""
    with pytest.raises(UnreadableError, match="entries"):
        read_back(data)


ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["http://[", "POST", "base64", "a:b@[c"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "request": ANY_JSON
            | st.fixed_dictionaries({}, optional=dict.fromkeys(("url", "method", "headers", "postData"), ANY_JSON)),
            "response": ANY_JSON
            | st.fixed_dictionaries(
                {},
                optional={
                    "status": ANY_JSON,
                    "headers": ANY_JSON,
                    "_error": ANY_JSON,
                    "content": ANY_JSON
                    | st.fixed_dictionaries({}, optional=dict.fromkeys(("text", "encoding", "mimeType"), ANY_JSON)),
                },
            ),
        },
    )
)
def test_invalid_entries_raise_nothing(invalid: dict[str, Any]) -> None:
    """Any field may have any type."""
    for saved in read_back(archive(invalid)):
        read_body(saved.chunks, saved.facts)
