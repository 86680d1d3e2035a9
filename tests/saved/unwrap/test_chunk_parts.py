"""Pasted parts of chunks: what programs print of `chunk.choices[0]`, its delta, or the entries of its calls."""

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


CHOICES = [choice for one in wrappers.payloads(bare("openai-chat-parallel")) for choice in one["choices"]]
DELTAS = [one["delta"] for one in CHOICES]
ENTRIES = [entry for one in DELTAS for entry in one.get("tool_calls", ())]
CALLS = [("get_time", {"zone": "Africa/Nairobi"}), ("get_distance", {"from": "Oslo", "to": "Nairobi"})]


def printed(values: Iterable[Any], form: Callable[[Any], str]) -> str:
    """A line for each value."""
    return "".join(f"{form(one)}\n" for one in values)


def read(text: str) -> list[dict[str, Any]]:
    """The responses in a text, as `inspect` reports them."""
    out: list[dict[str, Any]] = json.loads(command("inspect", "--format", "json", "-", stdin=text.encode()).stdout)[
        "streams"
    ]
    return out


def calls(stream: dict[str, Any]) -> list[tuple[str, Any]]:
    """Names and arguments."""
    return [(one["name"], json.loads(one["arguments"])) for one in stream["calls"]]


def delta_repr(value: Any) -> str:
    """As the SDK for Python prints a delta, with the fields that it lacks."""
    return wrappers.sdk({"refusal": None, **value}, "ChoiceDelta")


PASTED = {
    "choices": printed(CHOICES, wrappers.compact),
    "choices-pretty": printed(CHOICES, lambda one: json.dumps(one, indent=2)),
    "choices-in-data": printed(CHOICES, lambda one: f"data: {wrappers.compact(one)}\n"),
    "deltas": printed(DELTAS, wrappers.compact),
    "deltas-array": json.dumps(DELTAS, indent=1),
    "deltas-under-delta": printed(DELTAS, lambda one: wrappers.compact({"delta": one})),
    "deltas-logged": printed(DELTAS, lambda one: f"12:00:01 DEBUG llm delta={wrappers.compact(one)}"),
    "deltas-repr": printed(DELTAS, delta_repr),
    "deltas-repr-wrapped": printed(DELTAS, lambda one: delta_repr(one).replace(", tool_calls=", ", \ntool_calls=")),
    "deltas-node": printed(DELTAS, lambda one: f"delta {wrappers.node(one)}"),
    "deltas-python": printed(DELTAS, repr),
    "entries": printed(ENTRIES, wrappers.compact),
    "entries-repr": printed(ENTRIES, lambda one: wrappers.sdk(one, "ChoiceDeltaToolCall")),
    "lists": printed((one.get("tool_calls") for one in DELTAS), json.dumps),
    "elided": printed(DELTAS, lambda one: f'data: {{... "delta":{wrappers.compact(one)}}}'),
    "commented": printed(ENTRIES, lambda one: f"{wrappers.compact(one)[:-1]}  // see https://example.com/a\n}}"),
    "fenced": f"I get\n\n```\n{printed(ENTRIES, wrappers.compact)}...\n```\n\nand wonder.\n",
}


@pytest.mark.parametrize("form", PASTED)
def test_parts_of_chunks_are_read_as_chunks(form: str) -> None:
    """With the calls of the stream, and without findings on what was not printed: the end, the finish reason."""
    (stream,) = read(PASTED[form])
    assert calls(stream) == CALLS
    assert stream["findings"] == []
    assert "chunk-parts" in [one["name"] for one in stream["unwrapped"]]


def test_only_calls_that_are_cut_off_are_incomplete() -> None:
    """The paste may end anywhere."""
    (stream,) = read(printed(ENTRIES[:-1], wrappers.compact))
    assert [one["name"] for one in stream["findings"]] == ["cut-off-call"]


def test_the_opening_of_a_call_may_be_missing() -> None:
    """Programs print continuations only."""
    (stream,) = read(printed(ENTRIES[1:8], wrappers.compact))
    assert [one["arguments"] for one in stream["calls"]] == [json.dumps(CALLS[0][1], separators=(",", ":"))]
    assert stream["findings"] == []


def entries(*rows: tuple[int, str, str, str]) -> str:
    """Index, id, name and arguments on each line, `""` where there is none."""
    return printed(
        (
            {"index": index, **({"id": id_} if id_ else {}), "function": {"name": name or None, "arguments": arguments}}
            for index, id_, name, arguments in rows
        ),
        wrappers.compact,
    )


ONE = entries((0, "a", "f", ""), (0, "", "", '{"x":1}'))
OTHER = entries((0, "b", "g", ""), (0, "", "", '{"x":2}'))


def test_defects_are_those_of_the_provider() -> None:
    """And only those are advised against."""
    (stream,) = read(f"# call 1:\n{ONE}...\n# call 2:\n{OTHER}...\n")
    assert {one["name"] for one in stream["findings"]} == {"missing-type", "reused-index"}
    shown = command("inspect", "-", stdin=(ONE + OTHER).encode()).stdout.decode()
    assert "→ toolstream run --repair reused-index -- CMD" in shown


def test_a_fence_with_a_call_at_an_index_that_has_one_is_another_response() -> None:
    """A report compares servers; else fences divide one response."""
    assert [calls(one) for one in read(f"vLLM:\n```\n{ONE}```\nSGLang:\n```\n{OTHER}```\n")] == [
        [("f", {"x": 1})],
        [("g", {"x": 2})],
    ]
    (stream,) = read("First:\n```\n{}\n```\nThen:\n```\n{}\n```\n".format(*ONE.splitlines()))
    assert calls(stream) == [("f", {"x": 1})]


COMPLETE = {"role": "assistant", "content": None, "tool_calls": [
    {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
]}  # fmt: skip
CODE = """import json
from sdk import ChoiceDeltaToolCall, Function

FIRST = ChoiceDeltaToolCall(index=0, id="a", function=Function(name="f", arguments=""))
LATER = ChoiceDeltaToolCall(index=0, id=None, function=Function(name=None, arguments="{}"))

def test_first():
    assert FIRST
"""
REFUSED = {
    "complete": json.dumps(COMPLETE),
    "complete-entry": json.dumps(COMPLETE["tool_calls"][0]),  # type: ignore[index]
    "without-index": '{"id":"a","function":{"name":"f","arguments":""}}\n{"function":{"arguments":"{}"}}',
    "one-part": 'The server sends `{"index":0,"function":{"arguments":"{\\"x"}}` twice.',
    "text-only": printed([{"role": "assistant", "content": "Hi"}, {"content": " there"}], wrappers.compact),
    "other-delta": '{"delta":{"x":1},"finish_reason":null}\n{"delta":{}}',
    "framework": "[{'name': 'f', 'args': '', 'id': 'a', 'index': 0, 'type': 'tool_call_chunk'}]\n",
    "vllm": "INFO Generated response chatcmpl-1 (streaming delta): output: '[tool_calls: {\"x\": 1}]'\n",
    "aws-java": "ContentBlockDeltaEvent(Delta=ContentBlockDelta(ToolUse=ToolUseBlockDelta(Input={})))\n",
    "code": CODE,
}  # fmt: skip
WHY = {
    "framework": "objects of a framework",
    "vllm": "vLLM's log",
    "aws-java": "a notation that cannot be read",
    "complete": "messages of a conversation",
    "complete-entry": "parts of chunks",
    "text-only": "messages of a conversation",
    "other-delta": "parts of chunks",
}


@pytest.mark.parametrize("form", REFUSED)
def test_complete_messages_text_and_code_are_no_parts(form: str, tmp_path: Path) -> None:
    """Nothing shows that they were streamed."""
    path = tmp_path / "pasted"
    path.write_text(REFUSED[form])

    def found() -> Sequence[object]:
        return [one for one in responses(str(path)) if one.unwrapped]

    if why := WHY.get(form):
        with pytest.raises(RefusedError, match=why):
            found()
    else:
        assert found() == []


@pytest.mark.parametrize("form", ["deltas-repr", "entries", "choices-pretty"])
def test_a_fixture_of_a_pasted_text_has_the_end_that_the_text_leaves_out(form: str, tmp_path: Path) -> None:
    """Else its client, and a report on it, would get defects that no provider sent."""
    path = tmp_path / "pasted"
    path.write_text(PASTED[form])
    (flow,) = load(path)
    assert [(one.name, json.loads(one.arguments)) for one in flow.record.calls] == CALLS
    assert flow.record.findings == []
    assert flow.body.endswith(b"data: [DONE]\n\n")


def test_a_fixture_of_a_call_that_is_cut_off_ends_there(tmp_path: Path) -> None:
    """Nothing shows that it was complete."""
    path = tmp_path / "pasted"
    path.write_text(printed(ENTRIES[:-1], wrappers.compact))
    (flow,) = load(path)
    assert [one.name for one in flow.record.findings] == ["truncated-stream", "cut-off-call"]
