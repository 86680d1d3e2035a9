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
    """An entry as Chrome writes it; `content` and `response` are changed by key."""
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
    """A HAR file."""
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


def read(data: bytes) -> list[Exchange]:
    """All answers in it."""
    return list(har.exchanges(data, "a.har"))


def test_an_entry_says_host_path_type_status_and_request() -> None:
    """What mitmproxy says of a flow, a HAR file says too."""
    [saved] = read(archive(entry()))
    exchange = saved.facts
    assert (exchange.source, exchange.host, exchange.status) == ("a.har#0", "api.example.com", 200)
    assert exchange.path == "/v1/chat/completions?key=verysecretkey"
    assert exchange.content_type == "text/event-stream"
    assert exchange.request == {"model": "m", "messages": [], "stream": True}
    assert set(saved.secrets) == {"Bearer hidden-value", "hidden-value", "verysecretkey"}


def test_decoded_text_is_not_decoded_again() -> None:
    """`content-encoding` tells how it came over the wire; browsers save what was in it."""
    [saved] = read(archive(entry()))
    assert b"".join(saved.chunks) == BODY.encode()
    record = read_body(saved.chunks, saved.facts)
    assert record is not None
    assert record.finish == ["stop"]


def test_base64_is_undone() -> None:
    """For bodies that their writer took for binary."""
    text = base64.b64encode(BODY.encode()).decode()
    [saved] = read(archive(entry(content={"text": text, "encoding": "base64"})))
    assert b"".join(saved.chunks) == BODY.encode()


def test_entries_are_numbered_from_0_all_of_them_counted() -> None:
    """So that a number finds its entry in whatever shows the file."""
    sources = [saved.facts.source for saved in read(archive({"request": {}}, entry(), None, entry()))]
    assert sources == ["a.har#1", "a.har#3"]


@pytest.mark.parametrize("content", [{"text": ""}, {"text": None}, {"text": "!", "encoding": "base64"}])
def test_a_body_that_is_not_in_the_file_is_missed(content: dict[str, Any]) -> None:
    """Chrome leaves it out of what was not held in memory."""
    [saved] = read(archive(entry(content=content)))
    assert saved.missing is not None
    assert "Save all as HAR with content" in saved.missing


def test_nobody_misses_the_body_of_a_preflight() -> None:
    """Browsers ask before they post to another origin."""
    [saved] = read(archive(entry(request={"method": "OPTIONS"}, content={"text": ""})))
    assert saved.missing is None


def test_a_break_is_told_in_chromes_words() -> None:
    """As `_error`, which is null where all went well."""
    broken, whole = read(archive(entry(response={"_error": "net::ERR_FAILED"}), entry(response={"_error": None})))
    assert (broken.broken, whole.broken) == ("net::ERR_FAILED", None)


def test_headers_as_pairs() -> None:
    """Slack writes them so."""
    pairs = [["Content-Type", "application/json"], ["bad"]]
    [saved] = read(archive(entry(response={"headers": pairs})))
    assert saved.facts.content_type == "application/json"


def test_a_byte_order_mark_is_no_obstacle() -> None:
    """Fiddler writes one."""
    assert len(read(b"\xef\xbb\xbf" + archive(entry()))) == 1


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"log":{}}', b'{"log":{"entries":{}}}', b"\xff\xfe"])
def test_what_is_no_har_file_is_told(data: bytes) -> None:
    """With what would be right."""
    with pytest.raises(UnreadableError, match="entries"):
        read(data)


ODD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["http://[", "POST", "base64", "a:b@[c"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "request": ODD
            | st.fixed_dictionaries({}, optional=dict.fromkeys(("url", "method", "headers", "postData"), ODD)),
            "response": ODD
            | st.fixed_dictionaries(
                {},
                optional={
                    "status": ODD,
                    "headers": ODD,
                    "_error": ODD,
                    "content": ODD
                    | st.fixed_dictionaries({}, optional=dict.fromkeys(("text", "encoding", "mimeType"), ODD)),
                },
            ),
        },
    )
)
def test_foreign_entries_never_raise(odd: dict[str, Any]) -> None:
    """Whatever stands where something else belongs."""
    for saved in read(archive(odd)):
        read_body(saved.chunks, saved.facts)
