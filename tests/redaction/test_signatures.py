"""Signatures of reasoning stay byte for byte in the fields that a protocol has for them, and only there."""

from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING, Any, Final

import pytest

from toolstream_core.redact import redacted
from toolstream_core.redaction import BodyRedactor, Redaction, redacted_body
from toolstream_core.redaction.body import WINDOW, secrets_of_text
from toolstream_core.redaction.shapes import SHAPES
from toolstream_core.wire.aws_event_stream import STRING, Header, Message

if TYPE_CHECKING:
    from collections.abc import Callable

STANDARD: Final = string.ascii_letters + string.digits + "+/"
URLSAFE: Final = string.ascii_letters + string.digits + "-_"
PREFIXES: Final = sorted({shape.prefix for shape in SHAPES if shape.prefix} | {"AK" + "IA", "SK", "sk-" + "proj-"})


def signature(seed: int, prefix: str = "") -> str:
    """Random base64 or base64url with a key's prefix at its start, inside, or at its end."""
    rng = random.Random(f"{seed} {prefix}")
    alphabet, edges = (STANDARD, "+/") if seed % 2 else (URLSAFE, "-_")
    size = rng.choice([88, 88, 200, 344, 1000])
    key = "".join(one if one in alphabet else rng.choice(edges) for one in prefix)
    key += "".join(rng.choices(rng.choice([string.ascii_uppercase, "0123456789abcdef", alphabet[:62]]), k=48))
    rest = "".join(rng.choices(alphabet, k=size))
    at = rng.choice([0, rng.randrange(8, size), size])
    before = rest[:at] and rest[: at - 1] + rng.choice(edges)
    return before + key + rng.choice(edges) + rest[at:] + "=" * rng.randrange(3)


SIGNATURES: Final = [signature(seed, prefix) for seed, prefix in enumerate(PREFIXES + PREFIXES[::-1])]

type MakeDocument = Callable[[str], Any]

DOCUMENTS: Final[dict[str, MakeDocument]] = {
    "anthropic thinking": lambda s: {
        "messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": s}]}]
    },
    "anthropic thinking, sorted": lambda s: {"content": [{"signature": s, "thinking": "hm", "type": "thinking"}]},
    "anthropic redacted": lambda s: {"messages": [{"content": [{"type": "redacted_thinking", "data": s}]}]},
    "anthropic search": lambda s: {
        "content": [
            {
                "type": "web_search_tool_result",
                "content": [{"type": "web_search_result", "url": "https://a.example", "encrypted_content": s}],
            },
            {"type": "text", "citations": [{"type": "web_search_result_location", "encrypted_index": s}]},
        ]
    },
    "gemini": lambda s: {
        "contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": "b"}}, "thoughtSignature": s}]}
        ]
    },
    "gemini, as its SDK names it": lambda s: {"contents": [{"parts": [{"text": "a", "thought_signature": s}]}]},
    "gemini in chat": lambda s: {
        "messages": [{"tool_calls": [{"id": "c", "extra_content": {"google": {"thought_signature": s}}}]}]
    },
    "responses": lambda s: {"input": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": s}]},
    "responses, whole": lambda s: {"output": [{"encrypted_content": s, "id": "rs_1", "type": "reasoning"}]},
    "responses, compaction": lambda s: {"input": [{"type": "compaction", "encrypted_content": s}]},
    "converse": lambda s: {
        "messages": [
            {
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "a", "signature": s}}},
                    {"reasoningContent": {"redactedContent": s}},
                ]
            }
        ]
    },
    "openrouter": lambda s: {
        "messages": [
            {
                "reasoning_details": [
                    {"type": "reasoning.encrypted", "data": s, "format": "x"},
                    {"type": "reasoning.text", "text": "a", "signature": s},
                ]
            }
        ]
    },
    "litellm": lambda s: {"messages": [{"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": s}]}]},
    "interactions": lambda s: {
        "input": [
            {"type": "thought", "signature": s},
            {"type": "function_call", "id": "c", "name": "f", "arguments": {"a": "b"}, "signature": s},
            {"type": "google_search_result", "call_id": "c", "signature": s},
        ]
    },
    "interactions, whole": lambda s: {"object": "interaction", "steps": [{"type": "thought", "signature": s}]},
    "copilot": lambda s: {"messages": [{"role": "assistant", "content": None, "reasoning_opaque": s}]},
}
"""Requests and non-streaming responses."""
EVENTS: Final[dict[str, MakeDocument]] = {
    "anthropic delta": lambda s: {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": s},
    },
    "anthropic block": lambda s: {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "redacted_thinking", "data": s},
    },
    "gemini": lambda s: {
        "candidates": [
            {"content": {"parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": s}]}, "index": 0}
        ]
    },
    "gemini live": lambda s: {"serverContent": {"modelTurn": {"parts": [{"text": "a", "thoughtSignature": s}]}}},
    "gemini in chat": lambda s: {
        "choices": [{"delta": {"tool_calls": [{"index": 0, "extra_content": {"google": {"thought_signature": s}}}]}}]
    },
    "responses": lambda s: {
        "type": "response.output_item.done",
        "output_index": 0,
        "item": {"type": "reasoning", "id": "rs", "encrypted_content": s},
    },
    "responses, completed": lambda s: {
        "type": "response.completed",
        "response": {"output": [{"type": "reasoning", "encrypted_content": s}]},
    },
    "converse": lambda s: {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": s}}},
    "converse, redacted": lambda s: {"contentBlockIndex": 0, "delta": {"reasoningContent": {"redactedContent": s}}},
    "openrouter": lambda s: {
        "choices": [{"delta": {"reasoning_details": [{"type": "reasoning.encrypted", "data": s, "index": 0}]}}]
    },
    "interactions": lambda s: {
        "index": 0,
        "delta": {"signature": s, "type": "thought_signature"},
        "event_type": "step.delta",
    },
    "interactions, search": lambda s: {
        "index": 0,
        "delta": {"type": "google_search_call", "signature": s, "arguments": {"queries": ["q"]}},
        "event_type": "step.delta",
    },
    "interactions, start": lambda s: {
        "index": 0,
        "step": {"type": "function_call", "id": "c", "name": "f", "arguments": {}, "signature": s},
        "event_type": "step.start",
    },
    "copilot": lambda s: {"choices": [{"index": 0, "delta": {"reasoning_opaque": s}}]},
}
IN_ONE_EVENT: Final = {"anthropic block", "responses", "responses, completed", "interactions, start"}
"""Events with a complete signature."""


def stream(*events: Any) -> bytes:
    """Server-sent events."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def fragments(rng: random.Random, text: str) -> list[str]:
    """A text cut at random."""
    places = sorted(rng.sample(range(1, len(text)), rng.choice([1, 3, 20])))
    return [text[low:high] for low, high in zip([0, *places], [*places, len(text)], strict=True)]


def redacted_in_chunks(body: bytes, redactor: BodyRedactor, size: int) -> bytes:
    """The redacted body, fed in chunks."""
    return b"".join(redactor.feed(body[at : at + size]) for at in range(0, len(body), size)) + redactor.finish()


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_signatures_of_requests_and_non_streaming_responses_stay(kind: str) -> None:
    """In compact, indented and escaped JSON, for captures, the log and `doctor`."""
    changed = []
    for one in SIGNATURES:
        document = DOCUMENTS[kind](one)
        escaped = json.dumps(document).replace("/", "\\/").replace("=", "\\u003d").replace("+", "\\u002b")
        for text in (json.dumps(document), json.dumps(document, separators=(",", ":"), indent=1), escaped):
            body = text.encode()
            kept = redacted_body(body) == body == redacted_in_chunks(body, BodyRedactor(Redaction()), 997)
            if not (kept and redacted(text) == text and not [*secrets_of_text(body, Redaction())]):
                changed.append(one)
    assert changed == []


@pytest.mark.parametrize("kind", EVENTS)
def test_signatures_of_streams_stay(kind: str) -> None:
    """In one event or in fragments, with random chunk boundaries."""
    rng = random.Random(kind)
    changed = []
    for one in SIGNATURES:
        parts = [one] if kind in IN_ONE_EVENT or rng.random() < 0.4 else fragments(rng, one)
        body = stream(*map(EVENTS[kind], parts))
        size = rng.randrange(1, 2000)
        kept = redacted_in_chunks(body, BodyRedactor(Redaction()), size) == body
        lines = b"".join(line.removeprefix(b"data: ") for line in body.splitlines(keepends=True) if line.strip())
        if not (kept and redacted_body(lines) == lines and redacted(body.decode()) == body.decode()):
            changed.append(one)
    assert changed == []


@pytest.mark.parametrize("kind", EVENTS)
def test_signatures_of_socket_messages_stay(kind: str) -> None:
    """The body is a single event."""
    bodies = [json.dumps(EVENTS[kind](one)).encode() for one in SIGNATURES]
    assert [body for body in bodies if redacted_body(body) != body] == []


def test_signatures_in_an_aws_event_stream_stay() -> None:
    """The payloads and their checksums are unchanged."""
    rng = random.Random(1)
    headers = (
        Header(":event-type", STRING, b"contentBlockDelta"),
        Header(":message-type", STRING, b"event"),
    )
    for one in SIGNATURES:
        payloads = [json.dumps(EVENTS["converse"](part)).encode() for part in fragments(rng, one)]
        body = b"".join(Message(headers, payload).encode() for payload in payloads)
        assert redacted_body(body) == body


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("kind", ["anthropic thinking", "responses, whole"])
def test_signatures_of_a_long_conversation_stay(kind: str, indent: int | None) -> None:
    """The document is longer than the window that is searched together."""
    rng = random.Random(kind)
    document = DOCUMENTS[kind](SIGNATURES[0])
    [name] = document
    turns = [DOCUMENTS[kind](rng.choice(SIGNATURES))[name][0] for _ in range(220)]
    for turn in turns:
        turn["note"] = "".join(rng.choices("abcdef ghi", k=6000))
    document[name] = turns
    body = json.dumps(document, indent=indent).encode()
    assert len(body) > WINDOW
    assert redacted_body(body) == body


def test_a_signature_longer_than_the_window_stays() -> None:
    """A compacted conversation can be as long."""
    blob = "".join(SIGNATURES * 20)[: 3 << 19].replace("=", "x")
    assert len(blob) > WINDOW
    document = DOCUMENTS["responses, compaction"](blob)
    document["input"] += [
        {"type": "reasoning", "summary": [], "encrypted_content": SIGNATURES[0]},
        {"type": "function_call_output", "output": [{"type": "reasoning", "encrypted_content": KEY}]},
    ]
    for body in (json.dumps(document).encode(), stream(document)):
        assert redacted_body(body) == body.replace(KEY.encode(), b"*" * len(KEY))


KEY: Final = "sk-" + "proj-" + "Ab3dEf7hIj" * 6
NO_SIGNATURES: Final[dict[str, Any]] = {
    "the arguments of Gemini": {
        "contents": [{"parts": [{"functionCall": {"name": "f", "args": {"parts": [{"thoughtSignature": KEY}]}}}]}]
    },
    "the result of Gemini": {
        "contents": [{"parts": [{"functionResponse": {"response": {"parts": {"thought_signature": KEY}}}}]}]
    },
    "the input of Anthropic": {
        "messages": [
            {"content": [{"type": "tool_use", "input": {"content": [{"type": "thinking", "signature": KEY}]}}]}
        ]
    },
    "the result of Anthropic": {
        "messages": [{"content": [{"type": "tool_result", "content": [{"type": "thinking", "signature": KEY}]}]}]
    },
    "the result of Anthropic, sorted": {
        "messages": [{"content": [{"content": [{"type": "thinking", "signature": KEY}], "type": "tool_result"}]}]
    },
    "the result of Converse": {
        "messages": [{"content": [{"toolResult": {"content": [{"json": {"reasoningContent": {"signature": KEY}}}]}}]}]
    },
    "the arguments of Ollama": {
        "message": {"tool_calls": [{"function": {"arguments": {"google": {"thought_signature": KEY}}}}]}
    },
    "the arguments of Chat Completions": {
        "tool_calls": [{"function": {"arguments": json.dumps({"parts": [{"thoughtSignature": KEY}]})}}]
    },
    "a webhook": {"event": "paid", "signature": KEY},
    "a webhook with a type": {"type": "thinking", "signature": KEY},
    "content of another type": {"content": [{"type": "text", "text": "a", "signature": KEY}]},
    "data of another type": {"content": [{"type": "image", "data": KEY}]},
    "a file": {"data": KEY, "type": "reasoning.encrypted"},
    "metadata": {"metadata": {"encrypted_content": KEY, "reasoning_opaque": KEY, "thoughtSignature": KEY}},
    "text": {"content": [{"type": "thinking", "thinking": f"signature {KEY}", "signature": "a"}]},
    "a signature that is none": {"content": [{"type": "thinking", "signature": f"key: {KEY}"}]},
    "a URL": {
        "content": [{"type": "thinking", "signature": f"https://a.example/?signature={KEY}"}],
        "url": f"https://a.example/?signature={KEY}",
    },
    "a short value": {"content": [{"type": "thinking", "signature": "AK" + "IA" + KEY[8:].upper()[:16]}]},
}


@pytest.mark.parametrize("place", NO_SIGNATURES)
def test_other_fields_with_the_names_of_signatures_are_redacted(place: str) -> None:
    """The name of a field alone is not enough."""
    text = json.dumps(NO_SIGNATURES[place])
    for body in (text, f"data: {text}\n\n"):
        for clean in (redacted_body(body.encode()).decode(), redacted(body)):
            assert KEY not in clean
            assert KEY[8:].upper()[:16] not in clean


@pytest.mark.parametrize("kind", EVENTS)
def test_a_secret_of_the_request_is_hidden_in_signatures(kind: str) -> None:
    """It is also hidden if it is split over the fragments of a signature."""
    secret = "plainSecretOfTheRequest4711"
    one = f"{SIGNATURES[0][:40]}{secret}{SIGNATURES[0][40:]}"
    at = one.index(secret) + 9
    for parts in ([one],) if kind in IN_ONE_EVENT else ([one], [one[:at], one[at:]]):
        body = stream(*map(EVENTS[kind], parts))
        clean = redacted_body(body, known=(secret,))
        assert clean == stream(*map(EVENTS[kind], starred(parts, one.index(secret), len(secret))))
    text = json.dumps(EVENTS[kind](one))
    assert secret not in redacted(text, (secret,))
    assert one[:40] in redacted(text, (secret,))


def starred(parts: list[str], at: int, size: int) -> list[str]:
    """The one or two parts, with `*` at this place of their joined text."""
    text = "".join(parts)
    clean = text[:at] + "*" * size + text[at + size :]
    return [clean[: len(parts[0])], clean[len(parts[0]) :]] if len(parts) > 1 else [clean]


def test_names_and_patterns_of_the_user_are_hidden() -> None:
    """They are hidden in signatures too."""
    body = json.dumps(DOCUMENTS["anthropic thinking"](SIGNATURES[0])).encode()
    assert SIGNATURES[0].encode() not in redacted_body(body, Redaction(names=("signature",)))
    middle = SIGNATURES[0][30:60]
    assert middle.encode() not in redacted_body(body, Redaction(patterns=(middle.replace("+", "[+]"),)))


def test_a_secret_next_to_a_signature_is_hidden() -> None:
    """The signature stays."""
    for one in SIGNATURES:
        document = DOCUMENTS["anthropic thinking"](one)
        document["messages"][0]["content"].append({"type": "text", "text": f"use {KEY}"})
        clean = redacted_body(json.dumps(document).encode()).decode()
        assert KEY not in clean
        assert one in clean
