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

ASKED = '{"model": "m", "messages": [], "stream": true}'
BODY = 'data: {"choices":[{"index":0,"delta":{"content":"Tromsø"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
URL = "https://api.example.com/v1/chat/completions"
# As vcrpy 8 writes it, with PyYAML.
VCRPY = f"""\
interactions:
- request:
    body: '{ASKED}'
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
      string: '{ASKED}'
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


def only(text: str | bytes) -> Exchange:
    """The one exchange of a cassette."""
    [one] = exchanges(text.encode() if isinstance(text, str) else text, "x.yaml")
    return one


def with_body(body: Any, **headers: str) -> Exchange:
    """That of a JSON cassette whose answer has this body."""
    response = {"status": {"code": 200}, "headers": {key: [value] for key, value in headers.items()}, "body": body}
    request = {"method": "POST", "uri": URL, "body": json.loads(ASKED)}
    return only(json.dumps({"interactions": [{"request": request, "response": response}]}))


def test_a_cassette_of_vcrpy_is_read() -> None:
    """Request, answer, every value of a header."""
    one = only(VCRPY)
    assert (one.source, one.method, one.url, one.facts.host) == ("x.yaml#0", "POST", URL, "api.example.com")
    assert one.request_headers == (("content-type", "application/json"), ("x-stainless-async", "false"))
    assert (one.request_body.decode(), one.body.decode()) == (ASKED, BODY)
    assert (one.facts.status, one.reason) == (200, "OK")
    assert one.response_headers == (
        ("Content-Type", "text/event-stream; charset=utf-8"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
    )


def test_a_cassette_of_ruby_is_read() -> None:
    """It says the same in other words."""
    one = only(RUBY)
    assert (one.method, one.url, one.facts.status, one.reason) == ("POST", URL, 429, "Too Many Requests")
    assert (one.request_body.decode(), one.body.decode()) == (ASKED, BODY)
    assert one.began == 1795328100


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
def test_a_body_is_read_however_it_was_written(body: Any, headers: dict[str, str]) -> None:
    """Coded or not, whatever the headers say of it."""
    assert with_body(body, **headers).body.decode() == BODY
    assert json.loads(with_body(body, **headers).request_body) == json.loads(ASKED)


def test_bytes_in_yaml_are_read() -> None:
    """As vcrpy writes what is not UTF-8."""
    text = VCRPY[: VCRPY.index("      string: ")] + '      string: !!binary "/wA="\n    status: {code: 200}\n'
    assert only(text).body == b"\xff\x00"


def test_an_answer_without_body_says_so() -> None:
    """Rather than that it is no LLM's."""
    assert with_body({"string": ""}).missing == "its body is not in the cassette"


@pytest.mark.parametrize("data", [b"interactions: [", b"interactions: 5", b"\xff", b"[1]", b"{}", b"a: !!python/x y"])
def test_what_is_no_cassette_is_refused(data: bytes) -> None:
    """In one line."""
    with pytest.raises(UnreadableError, match=r"is not a VCR cassette: expected YAML or JSON") as told:
        list(exchanges(data, "x"))
    assert "\n" not in str(told.value)


PIECES = st.sampled_from(
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
@given(st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join))
def test_foreign_text_never_raises_anything_else(text: str) -> None:
    """Whatever YAML makes of it."""
    with contextlib.suppress(UnreadableError):
        for one in exchanges(f"interactions:\n{text}".encode("utf-8", "replace"), "x"):
            assert one.source.startswith("x#")


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
def test_tags_of_recorders_are_plain_data(body: str) -> None:
    """Ruby's bytes, Python's files and texts; nothing is run."""
    text = VCRPY[: VCRPY.index("    body:\n      string: ")] + f"    body: {body}\n    status: {{code: 200}}\n"
    assert only(text).body.decode() == BODY


def test_a_body_that_was_recorded_parsed_is_written_as_json() -> None:
    """As pydantic-ai's recorder has it, in requests and answers."""
    request = {"uri": URL, "method": "POST", "parsed_body": {"model": "m", "messages": []}}
    response = {"status": {"code": 200}, "headers": {}, "parsed_body": {"choices": []}}
    one = only(json.dumps({"interactions": [{"request": request, "response": response}]}))
    assert (one.request_body, one.body) == (b'{"model":"m","messages":[]}', b'{"choices":[]}')


def test_a_body_that_holds_itself_is_none() -> None:
    """YAML can say that."""
    one = only(VCRPY.replace(f"body: '{ASKED}'", "body: &a {a: *a}"))
    assert one.request_body == b""


def test_entries_that_are_none_are_passed_over() -> None:
    """They keep their numbers."""
    data = {"interactions": [1, {"request": {}}, {"request": {}, "response": {}}]}
    [one] = exchanges(json.dumps(data).encode(), "x")
    assert (one.source, one.method, one.facts.status, one.body) == ("x#2", "POST", 200, b"")


TEXTS = st.text() | st.lists(
    st.sampled_from(["data: x", "", " ", "\n", "\r", "é", "😀", "#", "---", "- a"]), max_size=6
).map("\n".join)


@given(TEXTS, TEXTS, st.lists(st.tuples(st.text(min_size=1, max_size=9), st.text(max_size=9)), max_size=3))
@settings(max_examples=60)
@example("a\n\n", "\x00\x7f\x85\u2028\ufeff", [("yes", "on"), ("yes", "no")])
@example(" a\nb", "a \nb\n", [])
@example("\n", "", [])
def test_what_is_written_is_read_again(asked: str, body: str, headers: list[tuple[str, str]]) -> None:
    """By YAML 1.1 and 1.2 alike, every byte of it."""
    known = tuple((name, value) for name, value in sorted(headers) if name.lower() != "content-encoding")
    try:
        one = Exchange.of(
            source="x.yaml#0", url=URL, request_body=asked.encode(), body=body.encode(), response_headers=known
        )
    except UnicodeEncodeError:
        return
    written = cassette([one])
    document = YAML(typ="safe").load(written.decode())
    assert document["version"] == 1
    [entry] = document["interactions"]
    assert (entry["request"]["body"], entry["response"]["body"]["string"]) == (asked, body)
    old = YAML(typ="safe")
    old.version = (1, 1)
    assert old.load(written.decode()) == document
    again = only(written)
    if not body.encode().startswith(b"\x1f\x8b"):
        assert (again.request_body, again.body) == (one.request_body, one.body)
    assert sorted(again.response_headers) == sorted(known)


def test_bytes_are_written_too() -> None:
    """As vcrpy reads them; the coding that was undone is not claimed."""
    one = Exchange.of(source="x", url=URL, body=b"\xff", response_headers=(("Content-Encoding", "br"), ("a", "b")))
    again = only(cassette([one]))
    assert (again.body, again.response_headers) == (b"\xff", (("a", "b"),))
    assert list(exchanges(cassette([]), "x")) == []


def test_events_are_written_as_lines() -> None:
    """So that a reviewer reads them."""
    one = Exchange.of(source="x", url=URL, body=b'data: {"a":1}\n\ndata: [DONE]\n\n')
    assert b'      string: |+\n        data: {"a":1}\n\n        data: [DONE]\n\n' in cassette([one])


@pytest.mark.parametrize("text", [VCRPY, RUBY, json.dumps({"version": 1, "interactions": []})])
def test_a_cassette_is_known_by_its_content(tmp_path: Any, text: str) -> None:
    """Whatever its name; inspect reads it."""
    path = tmp_path / "some.file"
    path.write_text(text)
    read = list(responses(str(path)))
    assert [b"".join(one.chunks).decode() for one in read] == ([] if text.startswith("{") else [BODY])
    assert [one.facts.host for one in read] == ([] if text.startswith("{") else ["api.example.com"])
