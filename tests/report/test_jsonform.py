"""The record as JSON, which is a stable format."""

from __future__ import annotations

import json

from tests.report.reported import report
from toolstream_core.report.jsonform import document, record_object

CALL = {
    "choice": 0,
    "position": 0,
    "kind": "function",
    "id": "c1",
    "name": "ls",
    "arguments": '{"p":"\x1b[31m"}',
    "complete": False,
    "guessed": False,
    "events": [2, 3, 4],
}
FINDING = {
    "code": "TS210",
    "name": "invalid-arguments",
    "severity": "error",
    "event": 4,
    "call": 0,
    "message": "the arguments of ls are not valid JSON",
    "repair": "unsafe",
}


def test_document() -> None:
    """It has exactly these keys, and is plain JSON."""
    record = report([])
    written = document([record_object(record)])
    notes = written["streams"][0]["findings"][:3]
    assert [(one["name"], one["severity"], one["repair"]) for one in notes] == [
        ("empty-id", "note", "safe"),
        ("null-identity", "note", "safe"),
        ("missing-index", "note", "safe"),
    ]
    assert json.loads(json.dumps(written)) == {
        "version": 2,
        "streams": [
            {
                "source": "s",
                "dialect": "openai-chat",
                "protocol": "openai-chat",
                "host": "h",
                "model": "glm",
                "streamed": True,
                "events": 7,
                "finish": ["tool_calls"],
                "ended": True,
                "broken": None,
                "error": None,
                "calls": [CALL],
                "findings": [*notes, FINDING],
                "mended": 0,
                "changes": [],
                "notes": [],
                "unwrapped": [],
                "faults": [],
            }
        ],
    }


def test_hide() -> None:
    """Every text of the stream is redacted."""
    written = record_object(report([]), lambda _: "*")
    assert written["calls"][0]["arguments"] == "*"
    assert written["calls"][0]["name"] == "*"
