"""Pasted parts of chunks: printed `chunk.choices[0]`, deltas, and entries of tool calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.saved.unwrap import wrappers
from tests.saved.unwrap.test_pasted_files import command
from tests.saved.unwrap.test_reading import bare
from toolstream_core.saved.exchange import RefusedError
from toolstream_core.saved.files import responses
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path


CHOICES = [choice for payload in wrappers.payloads(bare("openai-chat-parallel")) for choice in payload["choices"]]
DELTAS = [choice["delta"] for choice in CHOICES]
ENTRIES = [entry for delta in DELTAS for entry in delta.get("tool_calls", ())]
CALLS = [("get_time", {"zone": "Africa/Nairobi"}), ("get_distance", {"from": "Oslo", "to": "Nairobi"})]


def printed(values: Iterable[Any], form: Callable[[Any], str]) -> str:
    """Return a line for each value."""
    return "".join(f"{form(value)}\n" for value in values)


def inspected(text: str) -> list[dict[str, Any]]:
    """Return the responses in a text as `inspect` reports them."""
    streams: list[dict[str, Any]] = json.loads(command("inspect", "--format", "json", "-", stdin=text.encode()).stdout)[
        "streams"
    ]
    return streams


def calls(stream: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the names and arguments of a response's calls."""
    return [(call["name"], json.loads(call["arguments"])) for call in stream["calls"]]


def delta_repr(value: Any) -> str:
    """Return a delta as the SDK for Python prints it, with all fields."""
    return wrappers.sdk({"refusal": None, **value}, "ChoiceDelta")


PASTED = {
    "choices": printed(CHOICES, wrappers.compact),
    "choices-pretty": printed(CHOICES, lambda value: json.dumps(value, indent=2)),
    "choices-in-data": printed(CHOICES, lambda value: f"data: {wrappers.compact(value)}\n"),
    "deltas": printed(DELTAS, wrappers.compact),
    "deltas-array": json.dumps(DELTAS, indent=1),
    "deltas-under-delta": printed(DELTAS, lambda value: wrappers.compact({"delta": value})),
    "deltas-logged": printed(DELTAS, lambda value: f"12:00:01 DEBUG llm delta={wrappers.compact(value)}"),
    "deltas-repr": printed(DELTAS, delta_repr),
    "deltas-repr-wrapped": printed(DELTAS, lambda value: delta_repr(value).replace(", tool_calls=", ", \ntool_calls=")),
    "deltas-node": printed(DELTAS, lambda value: f"delta {wrappers.node(value)}"),
    "deltas-python": printed(DELTAS, repr),
    "entries": printed(ENTRIES, wrappers.compact),
    "entries-repr": printed(ENTRIES, lambda value: wrappers.sdk(value, "ChoiceDeltaToolCall")),
    "lists": printed((delta.get("tool_calls") for delta in DELTAS), json.dumps),
    "elided": printed(DELTAS, lambda value: f'data: {{... "delta":{wrappers.compact(value)}}}'),
    "commented": printed(ENTRIES, lambda value: f"{wrappers.compact(value)[:-1]}  // see https://example.com/a\n}}"),
    "fenced": f"I get\n\n```\n{printed(ENTRIES, wrappers.compact)}...\n```\n\nand wonder.\n",
}


@pytest.mark.parametrize("form", PASTED)
def test_parts_of_chunks_are_read_as_chunks(form: str) -> None:
    """The calls are those of the stream, and the end and finish reason that were not printed are no findings."""
    (stream,) = inspected(PASTED[form])
    assert calls(stream) == CALLS
    assert stream["findings"] == []
    assert "chunk-parts" in [part["name"] for part in stream["unwrapped"]]


def in_camel_case(chunk: Any) -> Any:
    """Return a chunk with the names that SDKs for JavaScript give its keys."""
    return json.loads(
        json.dumps(chunk).replace('"tool_calls":', '"toolCalls":').replace('"finish_reason"', '"finishReason"')
    )


PRINTED_CHUNKS = [in_camel_case(payload) for payload in wrappers.payloads(bare("openai-chat-parallel"))]


@pytest.mark.parametrize(
    "text",
    [
        printed(PRINTED_CHUNKS, wrappers.compact),
        printed(PRINTED_CHUNKS, lambda chunk: wrappers.node({"data": chunk})),
        printed(PRINTED_CHUNKS, lambda chunk: f"12:00:01 DEBUG chunk={wrappers.compact(chunk)}"),
    ],
    ids=["lines", "node", "logged"],
)
def test_chunks_with_the_names_of_an_sdk_are_read(text: str) -> None:
    """Mistral's SDK for JavaScript has `toolCalls` and `finishReason`."""
    (stream,) = inspected(text)
    assert (calls(stream), stream["findings"]) == (CALLS, [])


def test_a_truncated_call_is_incomplete() -> None:
    """A pasted text may end inside a call."""
    (stream,) = inspected(printed(ENTRIES[:-1], wrappers.compact))
    assert [finding["name"] for finding in stream["findings"]] == ["cut-off-call"]


def test_the_opening_of_a_call_may_be_missing() -> None:
    """Some programs print only the argument fragments."""
    (stream,) = inspected(printed(ENTRIES[1:8], wrappers.compact))
    assert [call["arguments"] for call in stream["calls"]] == [json.dumps(CALLS[0][1], separators=(",", ":"))]
    assert stream["findings"] == []


def entries(*rows: tuple[int, str, str, str]) -> str:
    """Return a line for each entry with its index, id, name and arguments; empty values are left out."""
    return printed(
        (
            {"index": index, **({"id": id_} if id_ else {}), "function": {"name": name or None, "arguments": arguments}}
            for index, id_, name, arguments in rows
        ),
        wrappers.compact,
    )


FIRST_CALL = entries((0, "a", "f", ""), (0, "", "", '{"x":1}'))
SECOND_CALL = entries((0, "b", "g", ""), (0, "", "", '{"x":2}'))


def test_only_defects_of_the_provider_are_reported() -> None:
    """The advice names the repair for these defects only."""
    (stream,) = inspected(f"# call 1:\n{FIRST_CALL}...\n# call 2:\n{SECOND_CALL}...\n")
    assert {finding["name"] for finding in stream["findings"]} == {"missing-type", "reused-index"}
    shown = command("inspect", "-", stdin=(FIRST_CALL + SECOND_CALL).encode()).stdout.decode()
    assert "→ toolstream run --repair reused-index -- CMD" in shown


def test_a_fence_that_reuses_an_index_is_another_response() -> None:
    """A bug report compares servers in several fences; otherwise several fences show one response."""
    assert [
        calls(stream) for stream in inspected(f"vLLM:\n```\n{FIRST_CALL}```\nSGLang:\n```\n{SECOND_CALL}```\n")
    ] == [[("f", {"x": 1})], [("g", {"x": 2})]]
    (stream,) = inspected("First:\n```\n{}\n```\nThen:\n```\n{}\n```\n".format(*FIRST_CALL.splitlines()))
    assert calls(stream) == [("f", {"x": 1})]


COMPLETE = {"role": "assistant", "content": None, "tool_calls": [
    {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
]}  # fmt: skip
SOURCE_CODE = """import json
from sdk import ChoiceDeltaToolCall, Function

FIRST = ChoiceDeltaToolCall(index=0, id="a", function=Function(name="f", arguments=""))
LATER = ChoiceDeltaToolCall(index=0, id=None, function=Function(name=None, arguments="{}"))

def test_first():
    assert FIRST
"""
REJECTED = {
    "complete": json.dumps(COMPLETE),
    "complete-entry": json.dumps(COMPLETE["tool_calls"][0]),  # type: ignore[index]
    "without-index": '{"id":"a","function":{"name":"f","arguments":""}}\n{"function":{"arguments":"{}"}}',
    "one-part": 'The server sends `{"index":0,"function":{"arguments":"{\\"x"}}` twice.',
    "text-only": printed([{"role": "assistant", "content": "Hi"}, {"content": " there"}], wrappers.compact),
    "other-delta": '{"delta":{"x":1},"finish_reason":null}\n{"delta":{}}',
    "framework": "[{'name': 'f', 'args': '', 'id': 'a', 'index': 0, 'type': 'tool_call_chunk'}]\n",
    "vllm": "INFO Generated response chatcmpl-1 (streaming delta): output: '[tool_calls: {\"x\": 1}]'\n",
    "aws-java": "ContentBlockDeltaEvent(Delta=ContentBlockDelta(ToolUse=ToolUseBlockDelta(Input={})))\n",
    "code": SOURCE_CODE,
}  # fmt: skip
REASONS = {
    "framework": "objects of a framework",
    "vllm": "vLLM's log",
    "aws-java": "a notation that cannot be read",
    "complete": "messages of a conversation",
    "complete-entry": "parts of chunks",
    "text-only": "messages of a conversation",
    "other-delta": "parts of chunks",
}


@pytest.mark.parametrize("form", REJECTED)
def test_complete_messages_text_and_code_are_no_chunk_parts(form: str, tmp_path: Path) -> None:
    """Nothing shows that they were streamed."""
    path = tmp_path / "pasted"
    path.write_text(REJECTED[form])

    def found() -> Sequence[object]:
        return [response for response in responses(str(path)) if response.unwrapped]

    if reason := REASONS.get(form):
        with pytest.raises(RefusedError, match=reason):
            found()
    else:
        assert found() == []


@pytest.mark.parametrize("form", ["deltas-repr", "entries", "choices-pretty"])
def test_a_fixture_of_a_pasted_text_gets_an_end(form: str, tmp_path: Path) -> None:
    """Without an end, its client would see defects that no provider sent."""
    path = tmp_path / "pasted"
    path.write_text(PASTED[form])
    (flow,) = load(path)
    assert [(call.name, json.loads(call.arguments)) for call in flow.record.calls] == CALLS
    assert flow.record.findings == []
    assert flow.body.endswith(b"data: [DONE]\n\n")


def test_a_fixture_of_a_truncated_call_gets_no_end(tmp_path: Path) -> None:
    """Nothing shows that the call was complete."""
    path = tmp_path / "pasted"
    path.write_text(printed(ENTRIES[:-1], wrappers.compact))
    (flow,) = load(path)
    assert [finding.name for finding in flow.record.findings] == ["truncated-stream", "cut-off-call"]
