from __future__ import annotations

import base64
import contextlib
import gzip
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from toolstream_core.saved.cassette import cassette, exchanges
from toolstream_core.saved.exchange import Exchange, UnreadableError
from toolstream_core.saved.files import responses

REQUEST = '{"model": "m", "messages": [], "stream": true}'
BODY = 'data: {"choices":[{"index":0,"delta":{"content":"Tromsø"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
URL = "https://api.example.com/v1/chat/completions"
# As vcrpy 8 writes it, with PyYAML.
VCRPY = f"""\
interactions:
- request:
    body: '{REQUEST}'
    headers:
      content-type:
      - application/json
      x-stainless-async:
      - 'false'
    method: POST
    uri: {URL}
  response:
    body:
      string: "data: {{\\"choices\\":[{{\\"index\\":0,\\"delta\\":{{\\"content\\":\\"Troms\\xF8\\"}},\\
        \\"finish_reason\\":\\"stop\\"}}]}}\\n\\ndata: [DONE]\\n\\n"
    headers:
      Content-Type:
      - text/event-stream; charset=utf-8
      set-cookie:
      - a=1
      - b=2
    status:
      code: 200
      message: OK
version: 1
"""
# As Ruby's vcr 6 writes it, with Psych.
RUBY = f"""\
---
http_interactions:
- request:
    method: post
    uri: {URL}
    body:
      encoding: UTF-8
      string: '{REQUEST}'
    headers:
      Content-Type:
      - application/json
  response:
    status:
      code: 429
      message: Too Many Requests
    headers:
      Content-Type:
      - application/json
    body:
      encoding: ASCII-8BIT
      base64_string: {base64.b64encode(BODY.encode()).decode()}
  recorded_at: Sun, 22 Nov 2026 06:15:00 GMT
recorded_with: VCR 6.3.1
"""
# As the recorder of httpmock 0.8 writes it (0xPlaygrounds/rig, tests/cassettes).
HTTPMOCK = f"""\
when:
  path: /v1/chat/completions
  method: POST
  query_param:
  - name: a
    value: b c
  header:
  - name: content-type
    value: application/json
  body: '{REQUEST}'
then:
  status: 200
  header:
  - name: content-type
    value: text/event-stream
  body: |+
    {BODY.replace(chr(10), chr(10) + "    ").rstrip(" ")}---
when:
  path: /v1/chat/completions
then:
  status: 429
  body_base64: {base64.b64encode(BODY.encode()).decode()}
"""


def only_exchange(text: str | bytes) -> Exchange:
    """Return the only exchange of a cassette."""
    [exchange] = exchanges(text.encode() if isinstance(text, str) else text, "x.yaml")
    return exchange


def with_body(body: Any, **headers: str) -> Exchange:
    """Return the exchange of a JSON cassette whose response has this body."""
    response = {"status": {"code": 200}, "headers": {key: [value] for key, value in headers.items()}, "body": body}
    request = {"method": "POST", "uri": URL, "body": json.loads(REQUEST)}
    return only_exchange(json.dumps({"interactions": [{"request": request, "response": response}]}))


def test_a_cassette_of_vcrpy_is_read() -> None:
    """Request, response and all values of a header are read."""
    exchange = only_exchange(VCRPY)
    assert (exchange.source, exchange.method, exchange.url, exchange.facts.host) == (
        "x.yaml#0",
        "POST",
        URL,
        "api.example.com",
    )
    assert exchange.request_headers == (("content-type", "application/json"), ("x-stainless-async", "false"))
    assert (exchange.request_body.decode(), exchange.body.decode()) == (REQUEST, BODY)
    assert (exchange.facts.status, exchange.reason) == (200, "OK")
    assert exchange.response_headers == (
        ("Content-Type", "text/event-stream; charset=utf-8"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
    )


def test_a_cassette_of_ruby_is_read() -> None:
    """Ruby's VCR uses other keys for the same data."""
    exchange = only_exchange(RUBY)
    assert (exchange.method, exchange.url, exchange.facts.status, exchange.reason) == (
        "POST",
        URL,
        429,
        "Too Many Requests",
    )
    assert (exchange.request_body.decode(), exchange.body.decode()) == (REQUEST, BODY)
    assert exchange.began == 1795328100


def test_a_cassette_of_httpmock_is_read() -> None:
    """Each document is one exchange."""
    first, second = exchanges(HTTPMOCK.encode(), "x.yaml")
    assert (first.method, first.url, first.facts.path) == ("POST", "/v1/chat/completions?a=b+c", first.url)
    assert first.request_headers == (("content-type", "application/json"),)
    assert first.response_headers == (("content-type", "text/event-stream"),)
    assert (first.request_body.decode(), first.body.decode()) == (REQUEST, BODY)
    assert (second.source, second.facts.status, second.body.decode()) == ("x.yaml#1", 429, BODY)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ({"string": BODY}, {}),
        (BODY, {}),
        ({"base64_string": base64.b64encode(BODY.encode()).decode()}, {}),
        ({"encoding": "base64", "string": base64.b64encode(BODY.encode()).decode()}, {}),
        ({"base64_string": base64.b64encode(gzip.compress(BODY.encode())).decode()}, {"content-encoding": "gzip"}),
        ({"base64_string": base64.b64encode(gzip.compress(BODY.encode())).decode()}, {}),
        ({"string": BODY}, {"content-encoding": "gzip"}),
        ({"string": BODY}, {"content-encoding": "what"}),
    ],
)
def test_each_form_of_a_body_is_read(body: Any, headers: dict[str, str]) -> None:
    """Text, base64 and compressed bodies are decoded, even if the headers do not match."""
    assert with_body(body, **headers).body.decode() == BODY
    assert json.loads(with_body(body, **headers).request_body) == json.loads(REQUEST)


def test_bytes_in_yaml_are_read() -> None:
    """Vcrpy writes a body that is not UTF-8 as binary."""
    text = VCRPY[: VCRPY.index("      string: ")] + '      string: !!binary "/wA="\n    status: {code: 200}\n'
    assert only_exchange(text).body == b"\xff\x00"


def test_a_missing_body_is_reported() -> None:
    """The message names the missing body instead of calling the response unrecognized."""
    assert with_body({"string": ""}).missing == "its body is not in the cassette"


@pytest.mark.parametrize(
    "data", [b"interactions: [", b"interactions: 5", b"\xff", b"[1]", b"{}", b"a: !!python/x y", b"", b"when: 1"]
)
def test_other_files_are_rejected(data: bytes) -> None:
    """The error is one line."""
    with pytest.raises(UnreadableError, match=r"is not a VCR cassette: expected YAML or JSON") as raised:
        list(exchanges(data, "x"))
    assert "\n" not in str(raised.value)


YAML_FRAGMENTS = st.sampled_from(
    [
        "- request:",
        "\n",
        "  response:",
        "    body:",
        " &a",
        " *a",
        " {a: *a}",
        " []",
        " !!set {x}",
        " 2026-01-01",
        " !!binary x",
        "    headers:",
        " {a: [b, 1]}",
        "    status:",
        " 7",
        "      string:",
        " >",
        "  x",
        " ''",
        "?",
        ":",
        " {",
        "}",
        "!",
    ]
)


@settings(max_examples=150)
@given(st.lists(YAML_FRAGMENTS | st.text(max_size=4), max_size=12).map("".join))
def test_invalid_yaml_raises_no_other_error(text: str) -> None:
    """Any text is read or raises `UnreadableError`."""
    with contextlib.suppress(UnreadableError):
        for exchange in exchanges(f"interactions:\n{text}".encode("utf-8", "replace"), "x"):
            assert exchange.source.startswith("x#")


@pytest.mark.parametrize(
    "body",
    [
        "{encoding: ASCII-8BIT, string: !binary '" + base64.b64encode(BODY.encode()).decode() + "'}",
        "!!python/object/new:_io.BytesIO {state: !!python/tuple [!!binary '"
        + base64.b64encode(BODY.encode()).decode()
        + "', 0, null]}",
        f"{{string: !!python/unicode {json.dumps(BODY)}}}",
    ],
)
def test_yaml_tags_of_recorders_are_read_as_data(body: str) -> None:
    """Bytes of Ruby and files and texts of Python are read, and no tag runs code."""
    text = VCRPY[: VCRPY.index("    body:\n      string: ")] + f"    body: {body}\n    status: {{code: 200}}\n"
    assert only_exchange(text).body.decode() == BODY


def test_a_parsed_body_becomes_json() -> None:
    """The recorder of pydantic-ai stores parsed bodies of requests and responses."""
    request = {"uri": URL, "method": "POST", "parsed_body": {"model": "m", "messages": []}}
    response = {"status": {"code": 200}, "headers": {}, "parsed_body": {"choices": []}}
    exchange = only_exchange(json.dumps({"interactions": [{"request": request, "response": response}]}))
    assert (exchange.request_body, exchange.body) == (b'{"model":"m","messages":[]}', b'{"choices":[]}')


def test_a_recursive_body_is_empty() -> None:
    """A YAML alias may make a body contain itself."""
    exchange = only_exchange(VCRPY.replace(f"body: '{REQUEST}'", "body: &a {a: *a}"))
    assert exchange.request_body == b""


def test_invalid_entries_are_skipped() -> None:
    """The entries keep their numbers."""
    data = {"interactions": [1, {"request": {}}, {"request": {}, "response": {}}]}
    [exchange] = exchanges(json.dumps(data).encode(), "x")
    assert (exchange.source, exchange.method, exchange.facts.status, exchange.body) == ("x#2", "POST", 200, b"")


TEXTS = st.text() | st.lists(
    st.sampled_from(["data: x", "", " ", "\n", "\r", "é", "😀", "#", "---", "- a"]), max_size=6
).map("\n".join)


@given(TEXTS, TEXTS, st.lists(st.tuples(st.text(min_size=1, max_size=9), st.text(max_size=9)), max_size=3))
@settings(max_examples=60)
@example("a\n\n", "\x00\x7f\x85\u2028\ufeff", [("yes", "on"), ("yes", "no")])
@example(" a\nb", "a \nb\n", [])
@example("\n", "", [])
def test_a_written_cassette_is_read_back(request: str, body: str, headers: list[tuple[str, str]]) -> None:
    """YAML 1.1 and 1.2 read the same bytes."""
    known = tuple((name, value) for name, value in sorted(headers) if name.lower() != "content-encoding")
    try:
        exchange = Exchange.of(
            source="x.yaml#0", url=URL, request_body=request.encode(), body=body.encode(), response_headers=known
        )
    except UnicodeEncodeError:
        return
    written = cassette([exchange])
    document = YAML(typ="safe").load(written.decode())
    assert document["version"] == 1
    [entry] = document["interactions"]
    assert (entry["request"]["body"], entry["response"]["body"]["string"]) == (request, body)
    old = YAML(typ="safe")
    old.version = (1, 1)
    assert old.load(written.decode()) == document
    read_back = only_exchange(written)
    if not body.encode().startswith(b"\x1f\x8b"):
        assert (read_back.request_body, read_back.body) == (exchange.request_body, exchange.body)
    assert sorted(read_back.response_headers) == sorted(known)


def test_binary_bodies_are_written() -> None:
    """A decoded body is written without its content coding, as vcrpy reads it."""
    exchange = Exchange.of(source="x", url=URL, body=b"\xff", response_headers=(("Content-Encoding", "br"), ("a", "b")))
    read_back = only_exchange(cassette([exchange]))
    assert (read_back.body, read_back.response_headers) == (b"\xff", (("a", "b"),))
    assert list(exchanges(cassette([]), "x")) == []


def test_events_are_written_as_lines() -> None:
    """The lines of an event are readable in a review."""
    exchange = Exchange.of(source="x", url=URL, body=b'data: {"a":1}\n\ndata: [DONE]\n\n')
    assert b'      string: |+\n        data: {"a":1}\n\n        data: [DONE]\n\n' in cassette([exchange])


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        (VCRPY, ["api.example.com"]),
        (RUBY, ["api.example.com"]),
        (HTTPMOCK, ["", ""]),
        (json.dumps({"version": 1, "interactions": []}), []),
    ],
)
def test_a_cassette_is_known_by_its_content(tmp_path: Any, text: str, hosts: list[str]) -> None:
    """The file name does not matter for `inspect`."""
    path = tmp_path / "some.file"
    path.write_text(text)
    read = list(responses(str(path)))
    assert [b"".join(exchange.chunks).decode() for exchange in read] == [BODY for _ in hosts]
    assert [exchange.facts.host for exchange in read] == hosts
