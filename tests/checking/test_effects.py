"""Results of a healthy run that make it unusable as a baseline."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolstream_core.checking.grading import failed_call
from toolstream_core.testing.exchanges import ProxiedExchange, proxied_exchange

CALL = {
    "choice": 0, "position": 0, "kind": "function", "id": "c1", "name": "ls", "arguments": "{}", "complete": True,
    "events": [1],
}  # fmt: skip
FAILED = [
    "failed to parse function arguments: invalid type: floating point `8.5`, expected u64 at line 1 column 23",
    "unsupported call: read_file",
    "exec_command failed for `/bin/bash -lc true`: CreateProcess { message: no such file }",
    "Exit code: 1\nOutput:\nls: no such file",
    "<tool_use_error>InputValidationError: Read failed: file_path is missing</tool_use_error>",
    "InputValidationError: Read failed due to the following issue: file_path is missing",
    "Tool error: path is missing",
    "The read tool was called with invalid arguments: SchemaError(Missing key at ['filePath'])",
    "Error: File not found: /tmp/none/a.txt",
    "Traceback (most recent call last):\n  File",
    '{"error": "no such city"}',
    "NotFound: FileSystem.access (first light)",
    "Permission denied: /etc/shadow",
    "ripgrep execution failed",
    "Unknown tool: now",
    "Invalid arguments for tool now",
]
SUCCEEDED = [
    "mild",
    "",
    "No files found",
    "Errors: 0, warnings: 2",
    "Error rate 0.2 %",
    "0 failed, 12 passed",
    "tests failed: 0",
    "the log says: Error: disk full",
    "Exit code: 0\nOutput:\nError: printed by a program",
    "Unknown",
    '{"errors": [], "error": null, "rows": 3}',
    "invalid-users.csv",
]


def exchange(number: int, *results: tuple[str, str]) -> ProxiedExchange:
    """A request with these results (ids and texts), and its response."""
    messages = [{"role": "tool", "tool_call_id": identity, "content": text} for identity, text in results]
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x"}, *messages]}
    request = {
        "number": number, "method": "POST", "url": "https://h.example/v1/chat/completions",
        "path": "/v1/chat/completions", "headers": [], "body": json.dumps(body),
    }  # fmt: skip
    record = {"calls": [] if number else [CALL], "findings": [], "faults": []}
    return proxied_exchange({"request": request, "over": True, "status": 200, "record": record, "verdict": None})


@pytest.mark.parametrize("text", FAILED)
def test_a_failed_call_is_reported(text: str) -> None:
    """The message has the tool's name and the result."""
    message = failed_call([exchange(0), exchange(1, ("c1", text))])
    assert message is not None
    assert f"ls failed: {text!r}" in message


@pytest.mark.parametrize("text", SUCCEEDED)
def test_other_results_are_a_baseline(text: str) -> None:
    """An error text inside a result is no failure."""
    assert failed_call([exchange(0), exchange(1, ("c1", text))]) is None


def test_results_of_earlier_turns_do_not_count() -> None:
    """They were in the first request."""
    old = ("c0", "Error: old")
    assert failed_call([exchange(0, old), exchange(1, old, ("c1", "mild"))]) is None
