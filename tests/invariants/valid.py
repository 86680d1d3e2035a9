"""Valid streams of every protocol with the documented features beyond plain calls.

https://ai.google.dev/api/generate-content
https://docs.ollama.com/api/streaming
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tests.invariants.valid_blocks import ANTHROPIC, BEDROCK, COHERE, INTERACTIONS
from tests.invariants.valid_openai import CHAT, RESPONSES
from toolstream_core.wire.aws_event_stream import fresh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

type Payload = dict[str, Any]
type Events = list[Payload]

# Gemini


def _candidate(*parts: Payload, finish: str = "", index: int | None = 0, **more: Any) -> Payload:
    ending = {"finishReason": finish} if finish else {}
    place = {} if index is None else {"index": index}
    return {"content": {"parts": [*parts], "role": "model"}, **ending, **place, **more}


def _gemini(*candidates: Payload, **more: Any) -> Payload:
    usage = {
        "promptTokenCount": 1,
        "totalTokenCount": 2,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1}],
    }
    return {"candidates": [*candidates], "usageMetadata": usage, "modelVersion": "m", "responseId": "r1", **more}


def _called(name: str, args: Payload | None, signature: str = "", **more: Any) -> Payload:
    signed = {"thoughtSignature": signature} if signature else {}
    return {"functionCall": {"name": name, **({} if args is None else {"args": args}), **more}, **signed}


GEMINI: Final[dict[str, Events]] = {
    "a thought, then parallel calls": [
        _gemini(_candidate({"text": "Hm", "thought": True})),
        _gemini(_candidate(_called("get_weather", {"city": "Oslo é😀"}, "c2ln"), _called("get_time", {"zone": "UTC"}))),
        _gemini(_candidate({"text": ""}, finish="STOP")),
    ],
    "calls with ids, and the finish reason with them": [
        _gemini(
            _candidate(
                _called("get_time", {"zone": "UTC"}, id="f1"),
                _called("get_time", {"zone": "CET"}, id="f2"),
                finish="STOP",
            )
        )
    ],
    "a call without parameters": [_gemini(_candidate(_called("ping", {}), finish="STOP"))],
    "a call without args": [_gemini(_candidate(_called("ping", None), finish="STOP"))],
    "a signature in a last empty part": [
        _gemini(_candidate({"text": "Hi"})),
        _gemini(_candidate({"text": "", "thoughtSignature": "c2ln"}, finish="STOP")),
    ],
    "a server tool": [
        _gemini(_candidate({"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"q": "x"}, "id": "a"}})),
        _gemini(_candidate({"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {}, "id": "a"}})),
        _gemini(_candidate(_called("get_time", {"zone": "UTC"}, "c2ln", id="b"), finish="STOP")),
    ],
    "code execution": [
        _gemini(_candidate({"executableCode": {"language": "PYTHON", "code": "print(1)"}})),
        _gemini(_candidate({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}})),
        _gemini(_candidate({"text": "1"}, finish="STOP")),
    ],
    "an image": [
        _gemini(_candidate({"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "c2ln"})),
        _gemini(_candidate(finish="STOP")),
    ],
    "grounding": [
        _gemini(_candidate({"text": "So"}, groundingMetadata={"webSearchQueries": ["q"], "groundingChunks": []})),
        _gemini(_candidate({"text": "."}, finish="STOP", citationMetadata={"citationSources": []}, safetyRatings=[])),
    ],
    "two candidates": [
        _gemini(_candidate({"text": "A"}), _candidate({"text": "B"}, index=1)),
        _gemini(
            _candidate(_called("get_time", {"zone": "UTC"}), finish="STOP"),
            _candidate({"text": ""}, index=1, finish="STOP"),
        ),
    ],
    "a blocked prompt": [
        {
            "promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []},
            "usageMetadata": {"promptTokenCount": 1},
            "modelVersion": "m",
        }
    ],
    "a finish reason for safety": [
        _gemini(_candidate({"text": "O"})),
        _gemini({"finishReason": "SAFETY", "index": 0, "safetyRatings": []}),
    ],
    "usage alone at the end": [
        _gemini(_candidate(_called("ping", {}), finish="STOP")),
        {"usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2}, "modelVersion": "m", "responseId": "r1"},
    ],
    "arguments in parts": [
        _gemini(_candidate(_called("get_weather", None, willContinue=True))),
        _gemini(
            _candidate(
                {"functionCall": {"partialArgs": [{"jsonPath": "$.city", "stringValue": "Os"}], "willContinue": True}}
            )
        ),
        _gemini(
            _candidate(
                {"functionCall": {"partialArgs": [{"jsonPath": "$.city", "stringValue": "lo"}], "willContinue": True}}
            )
        ),
        _gemini(_candidate({"functionCall": {}})),
        _gemini(_candidate({"text": ""}, finish="STOP")),
    ],
}


# Ollama


def _line(message: Payload, **more: Any) -> Payload:
    base = {
        "model": "m",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": "", **message},
    }
    return {**base, "done": bool(more), **more}


_LAST: Final = {"done_reason": "stop", "total_duration": 1, "load_duration": 1, "eval_count": 2, "eval_duration": 3}
OLLAMA: Final[dict[str, Events]] = {
    "thinking, then parallel calls": [
        _line({"thinking": "Hm"}),
        _line(
            {
                "tool_calls": [
                    {"id": "call_1", "function": {"index": 0, "name": "get_weather", "arguments": {"city": "Oslo é😀"}}}
                ]
            }
        ),
        _line(
            {
                "tool_calls": [
                    {"id": "call_2", "function": {"index": 1, "name": "get_time", "arguments": {"zone": "UTC"}}}
                ]
            }
        ),
        _line({}, **_LAST),
    ],
    "without ids": [
        _line({"tool_calls": [{"function": {"name": "get_time", "arguments": {"zone": "UTC"}}}]}),
        _line({}, **_LAST),
    ],
    "a call without parameters": [
        _line({"tool_calls": [{"function": {"name": "ping", "arguments": {}}}]}),
        _line({}, **_LAST),
    ],
    "text, logprobs and an image": [
        _line({"content": "Hi"}, done=False, logprobs=[{"token": "Hi", "logprob": -0.1}]) | {"done": False},
        _line({"images": ["aGk="]}),
        _line({}, **_LAST),
    ],
    "truncated text": [_line({"content": "Once"}), _line({}, **{**_LAST, "done_reason": "length"})],
    "a model that is only loaded": [_line({}, done_reason="load")],
}


VALID: Final[dict[str, dict[str, Events]]] = {
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "gemini-interactions": INTERACTIONS,
    "ollama": OLLAMA,
    "cohere-v2": COHERE,
    "bedrock": BEDROCK,
}
_PATCH: Final = {"type": "custom", "name": "apply_patch"}
REQUESTS: Final[dict[str, Payload]] = {
    "a custom tool": {"tools": [_PATCH]},
    "a custom tool beside a function": {"tools": [_PATCH, {"function": {"name": "get_time", "parameters": {}}}]},
    "a local shell and a computer": {"tools": [{"type": "local_shell"}, {"type": "computer_use_preview"}]},
    "a hosted shell and a patch": {"tools": [{"type": "shell"}, {"type": "apply_patch"}]},
    "two choices, interleaved": {"n": 2},
    "two choices, one of text": {"n": 2},
    "the legacy function_call": {"tools": [], "functions": [{"name": "get_time", "parameters": {"type": "object"}}]},
    "a named tool, finished with stop": {"tool_choice": {"type": "function", "function": {"name": "get_time"}}},
}
"""Additions to the request of a stream, by the stream's name."""
AN_ARRAY: Final = "an array"
"""The framing with the content type JSON."""
_NAMED: Final = {"openai-responses", "anthropic", "cohere-v2", "gemini-interactions"}
"""The protocols with an `event` line of the event's type."""
_DONE: Final = {"openai-chat": "", "cohere-v2": "", "gemini-interactions": "event: done\n"}
"""The protocols whose last event is `[DONE]`, with its `event` line."""


def framings(protocol: str, events: Events) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the body of each framing that clients of the protocol must read."""
    texts = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in events]
    if protocol == "bedrock":
        padded = [(name, {**body, "p": "abcd"}) for one in events for name, body in one.items()]
        yield "messages", b"".join(fresh(json.dumps(body).encode(), name).encode() for name, body in padded)
        return
    if protocol == "ollama":
        yield "lines", "".join(f"{text}\n" for text in texts).encode()
        return
    if protocol == "gemini":
        yield AN_ARRAY, f"[{',\r\n'.join(texts)}\n]".encode()
    key = "event_type" if protocol == "gemini-interactions" else "type"
    names = [f"event: {one[key]}\n" if protocol in _NAMED else "" for one in events]
    blocks = [*zip(names, texts, strict=True), *([(_DONE[protocol], "[DONE]")] if protocol in _DONE else [])]
    usual = _blocks(blocks, str)
    yield "usual", usual
    yield "CR LF", usual.replace(b"\n", b"\r\n")
    yield "CR", usual.replace(b"\n", b"\r")
    yield "a byte order mark", b"\xef\xbb\xbf" + usual
    yield "without spaces", usual.replace(b"\ndata: ", b"\ndata:").replace(b"event: ", b"event:")
    yield "comments", b": ping\n\n" + usual.replace(b"\n\n", b"\n:\n\n: ping\n\n")
    yield "retry", usual.replace(b"\n\n", b"\nid: 1\nretry: 3000\n\n")
    yield "data first", "".join(f"data: {text}\n{name}\n" for name, text in blocks).encode()
    yield "spaced and escaped", _blocks(blocks, lambda text: json.dumps(json.loads(text)))
    yield "several data lines", _blocks(blocks, lambda text: json.dumps(json.loads(text), indent=1))


def _blocks(blocks: list[tuple[str, str]], dumped: Callable[[str], str]) -> bytes:
    """Return events with their JSON serialized by `dumped`."""
    texts = [(name, text if text == "[DONE]" else dumped(text)) for name, text in blocks]
    return "".join(f"{name}data: {text.replace('\n', '\ndata: ')}\n\n" for name, text in texts).encode()
