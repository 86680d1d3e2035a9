"""Chat text becomes filler text, and everything else that is read from a stream stays."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.calls.patterns import patterns
from tests.grouped import Case, grouped
from tests.invariants.healthy import streams
from tests.invariants.test_invariants import injected
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
"""Interleaved fragments of two calls as separate items, which only their text assigns to a call."""


def shape(value: Any) -> Any:
    """A JSON value with types in place of texts and numbers."""
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
    """What every text mode keeps: the structure of calls, the findings, the ending."""
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
    """Assert that length, calls and findings stay, and that a second redaction changes nothing."""
    before = read(body, exchange)
    for mode in modes:
        clean = redacted_body(body, Redaction(text=mode))
        assert len(clean) == len(body)
        assert read(clean, exchange) == before
        assert redacted_body(clean) == clean


@grouped(Case(pattern.protocol, (pattern,)) for pattern in patterns())
def test_the_invariant_over_every_known_pattern(pattern: Any) -> None:
    """Among them are leaked calls, cumulative and truncated arguments, and odd indexes."""
    assert_same(pattern.body, pattern.exchange)


@pytest.mark.parametrize("protocol", sorted(INJECTORS))
def test_the_invariant_over_every_injected_defect(protocol: str) -> None:
    """Each defect is injected into one of two valid streams of the protocol, and the text modes alternate."""
    known = [stream for stream in streams() if stream.protocol == protocol]
    for healthy in known:
        assert_same(healthy.body, healthy.exchange)
    for number, name in enumerate(INJECTORS[protocol]):
        healthy = known[number % 2]
        if (name, healthy.name) != WITHOUT_ORDER:
            assert_same(injected(healthy, name).body, healthy.exchange, (MODES[number // 2 % 2],))


@pytest.mark.parametrize("path", sorted((ROOT / "flows").glob("*.flow")), ids=lambda path: path.stem)
def test_the_invariant_over_the_saved_flows(path: Path) -> None:
    """Each response is read like a saved fixture."""
    for fixture in load(path):
        host = StreamFacts(
            source="", host=fixture.record.host, path=fixture.path, content_type="", request=fixture.request
        )
        assert_same(fixture.body, host)


@pytest.mark.parametrize("mode", MODES)
def test_no_text_is_left_in_a_request(mode: TextMode) -> None:
    """Prompts, history, tool results and arguments are replaced. Names, ids and schemas stay."""
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
    """`mask` keeps only the lengths of words."""
    body = json.dumps({"content": "Hello World, ZÜRICH 2024"}, ensure_ascii=False).encode()
    shaped = json.loads(redacted_body(body, Redaction(text=TextMode.SHAPE)))["content"]
    assert re.fullmatch(r"[A-Z][a-z]{4} [A-Z][a-z]{4}, [A-Z]é[A-Z]{4} \d{4}", shaped)
    assert json.loads(redacted_body(body, Redaction(text=TextMode.MASK)))["content"] == "Xxxxx Xxxxx, XéXXXX 1111"


@pytest.mark.parametrize("size", [1, 13, 5000])
def test_chunk_boundaries_do_not_matter(size: int) -> None:
    """Strings that are longer than a window are replaced to their end."""
    content = "lorem ipsum dolor sit amet, a b." * 36_000
    long = json.dumps({"messages": [{"role": "user", "content": content}], "model": "m"}).encode()
    body = long if size > 1000 else long[:20_000]
    redactor = BodyRedactor(Redaction(text=TextMode.MASK))
    parts = [redactor.feed(body[at : at + size]) for at in range(0, len(body), size)]
    clean = b"".join(parts) + redactor.finish()
    assert clean == redacted_body(body, Redaction(text=TextMode.MASK))
    assert len(clean) == len(body)
    assert b"sit" not in clean
