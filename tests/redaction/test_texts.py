"""Chat text becomes filler, and what is read of a stream stays the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.calls.patterns import patterns
from tests.grouped import Case, grouped
from tests.invariants.healthy import streams
from tests.invariants.test_invariants import injector
from tests.tables import INJECTORS
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.redaction import BodyRedactor, Redaction, TextMode, redacted_body
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from toolstream_core.model import Record

ROOT = Path(__file__).resolve().parents[2]
MODES = (TextMode.MASK, TextMode.SHAPE)
WITHOUT_ORDER = ("item-per-fragment", "interleaved")
"""Pieces of two calls as items of their own: nothing tells which of them belong together."""


def shape(value: Any) -> Any:
    """A JSON value without its texts and numbers."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else str(type(value))


def arguments(text: str) -> Any:
    """The shape of a call's arguments, and their length."""
    try:
        return shape(json.loads(text)), len(text)
    except ValueError:
        return len(text)


def read(body: bytes, exchange: StreamFacts) -> Any:
    """What stays of a stream in every text mode: its calls' structure, its findings, its ending."""
    record: Record | None = read_body([body], exchange)
    if record is None:
        return None
    return (
        [
            (call.id, call.name, call.kind, call.complete, list(call.events), arguments(call.arguments))
            for call in record.calls
        ],
        [(finding.name, finding.event, finding.call) for finding in record.findings],
        (record.events, record.ended, record.finish),
    )


def assert_same(body: bytes, exchange: StreamFacts, modes: tuple[TextMode, ...] = MODES) -> None:
    """Bytes' number, calls, findings; and what is redacted once stays as it is."""
    before = read(body, exchange)
    for mode in modes:
        clean = redacted_body(body, Redaction(text=mode))
        assert len(clean) == len(body)
        assert read(clean, exchange) == before
        assert redacted_body(clean) == clean


@grouped(Case(pattern.protocol, (pattern,)) for pattern in patterns())
def test_the_invariant_over_every_known_pattern(pattern: Any) -> None:
    """Leaked calls, cumulative and cut arguments, odd indexes among them."""
    assert_same(pattern.body, pattern.exchange)


@pytest.mark.parametrize("dialect", sorted(INJECTORS))
def test_the_invariant_over_every_plant(dialect: str) -> None:
    """Each row's plant on two of the protocol's healthy streams and in the two modes, both in turn."""
    known = [stream for stream in streams() if stream.dialect == dialect]
    for healthy in known:
        assert_same(healthy.body, healthy.exchange)
    for number, name in enumerate(INJECTORS[dialect]):
        healthy = known[number % 2]
        if (name, healthy.name) != WITHOUT_ORDER:
            assert_same(injector(healthy, name).body, healthy.exchange, (MODES[number // 2 % 2],))


@pytest.mark.parametrize("path", sorted((ROOT / "flows").glob("*.flow")), ids=lambda path: path.stem)
def test_the_invariant_over_the_saved_flows(path: Path) -> None:
    """As a folder of fixtures is redacted."""
    for fixture in load(path):
        host = StreamFacts(
            source="", host=fixture.record.host, path=fixture.path, content_type="", request=fixture.request
        )
        assert_same(fixture.body, host)


@pytest.mark.parametrize("mode", MODES)
def test_no_text_is_left_in_a_request(mode: TextMode) -> None:
    """Prompts, history, tool results, arguments; names, ids, schemas stay."""
    tools = [{"type": "function", "function": {"name": "query", "parameters": {"properties": {"sql": {"type": "x"}}}}}]
    body = {
        "model": "gpt-4o",
        "instructions": "Secret orders",
        "messages": [
            {"role": "system", "content": "Secret orders"},
            {"role": "user", "content": [{"type": "text", "text": "Zürich, 数据库"}]},
            {"role": "assistant", "tool_calls": [{"id": "call_9aB", "type": "function", "function": {
                "name": "query", "arguments": json.dumps({"sql": "SELECT salary", "limit": 4711, "deep": True})}}]},
            {"role": "tool", "tool_call_id": "call_9aB", "content": "salary: 98765"},
            {"role": "user", "content": [{"type": "tool_use", "id": "toolu_1", "name": "query",
                                          "input": {"name": "Mallory", "type": "salary", "n": -0.5}}]},
        ],
        "tools": tools,
        "max_tokens": 4096,
    }  # fmt: skip
    plain = json.dumps(body, ensure_ascii=False).encode()
    for data in (plain, json.dumps(body).encode(), json.dumps(body, indent=1).encode()):
        clean = redacted_body(data, Redaction(text=mode))
        text = json.dumps(json.loads(clean), ensure_ascii=False)
        for word in ("Secret", "orders", "Zürich", "数据库", "SELECT", "salary", "4711", "98765", "Mallory", "-0.5"):
            assert word not in text
        read = json.loads(clean)
        assert shape(read) == shape(body)
        assert (read["tools"], read["model"], read["max_tokens"]) == (tools, "gpt-4o", 4096)
        call = read["messages"][2]["tool_calls"][0]
        assert (call["id"], call["function"]["name"]) == ("call_9aB", "query")
        assert json.loads(call["function"]["arguments"]).keys() == {"sql", "limit", "deep"}


def test_shape_keeps_case_words_and_bytes() -> None:
    """And mask keeps the words' lengths alone."""
    body = json.dumps({"content": "Hello World, ZÜRICH 2024"}, ensure_ascii=False).encode()
    shaped = json.loads(redacted_body(body, Redaction(text=TextMode.SHAPE)))["content"]
    assert re.fullmatch(r"[A-Z][a-z]{4} [A-Z][a-z]{4}, [A-Z]é[A-Z]{4} \d{4}", shaped)
    assert json.loads(redacted_body(body, Redaction(text=TextMode.MASK)))["content"] == "Xxxxx Xxxxx, XéXXXX 1111"


@pytest.mark.parametrize("size", [1, 13, 5000])
def test_how_the_body_is_fed_does_not_matter(size: int) -> None:
    """Nor where a window ends: strings longer than one are filled to their end."""
    content = "lorem ipsum dolor sit amet, a b." * 36_000
    long = json.dumps({"messages": [{"role": "user", "content": content}], "model": "m"}).encode()
    body = long if size > 1000 else long[:20_000]
    redactor = BodyRedactor(Redaction(text=TextMode.MASK))
    parts = [redactor.feed(body[at : at + size]) for at in range(0, len(body), size)]
    clean = b"".join(parts) + redactor.finish()
    assert clean == redacted_body(body, Redaction(text=TextMode.MASK))
    assert len(clean) == len(body)
    assert b"sit" not in clean
