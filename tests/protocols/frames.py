"""Frames for tests, and malformed payloads."""

from __future__ import annotations

import json

from toolstream_core.wire.frame import Frame


def frame(payload: object, name: str = "") -> Frame:
    """Return a server-sent event with this JSON, or with these bytes as its data."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    head = f"event: {name}\n".encode() if name else b""
    return Frame(head + b"data: " + data + b"\n\n", 0, data, name)


FOREIGN: tuple[object, ...] = (
    b"",
    b"[DONE",
    b"\xff\xfe",
    b"[" * 5000,
    None,
    1,
    "x",
    [],
    [[]],
    {},
    {"choices": None, "candidates": 3, "message": [], "type": 7, "item": 1, "delta": 2, "error": {}},
    {"choices": [None, 3, {"delta": [], "message": 5, "index": {}, "finish_reason": 9}]},
    {"choices": [{"delta": {"tool_calls": [None, 7, {"function": 3, "index": [], "id": {}}]}}]},
    {"type": "content_block_start", "content_block": None},
    {"type": "content_block_delta", "delta": []},
    {"type": "response.output_item.added", "item": "x"},
    {"type": "response.completed", "response": [1]},
    {"candidates": [{"content": {"parts": [{"functionCall": 3}, None]}}]},
    {"message": {"tool_calls": {"function": None}}, "done": "yes"},
)
"""Payloads that no protocol sends."""
