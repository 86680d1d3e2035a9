"""Streams written by tools are read like the bare stream; unreadable and unordered text is reported."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.grouped import Case, grouped
from tests.saved.unwrap import tools, wrappers
from tests.saved.unwrap.test_pasted_files import CHAT, CLAUDE
from tests.saved.unwrap.test_reading import bare, comparable, expected, read
from toolstream_core.saved.exchange import RefusedError, UnreadableError
from toolstream_core.saved.files import responses
from toolstream_core.saved.unwrap.literals import literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RESPONSES, OLLAMA = "openai-responses-parallel", "ollama-parallel"
FORMS = {**tools.BOTH, **tools.DATA, **tools.OBJECTS}
CASES = [
    *(Case(name, (form, name)) for form in (*tools.BOTH, *tools.OBJECTS) for name in (CHAT, CLAUDE, OLLAMA)),
    *(Case(name, (form, name)) for form in tools.DATA for name in (CHAT, CLAUDE, RESPONSES)),
]


@pytest.mark.filterwarnings("error")
@grouped(CASES)
def test_a_stream_written_by_a_tool_is_read_like_the_bare_stream(form: str, name: str, tmp_path: Path) -> None:
    """The file has one response with the same values, and Python emits no warning."""
    path = tmp_path / "pasted"
    path.write_bytes(FORMS[form](bare(name)))
    assert [comparable(record) for record in read(path)] == [expected(name)]


@pytest.mark.parametrize("form", ["helicone", "helicone-text", "gateway-strings", "kong", "polly", "nock", "httprr"])
def test_a_record_has_its_request(form: str, tmp_path: Path) -> None:
    """The request may be an object, JSON text or the body of an HTTP message."""
    path = tmp_path / "pasted"
    path.write_bytes(FORMS[form](bare(CHAT)))
    (response,) = responses(str(path))
    assert response.facts.request == tools.REQUEST


def logged(body: bytes, prefix: Callable[[int], str] = wrappers.stamp) -> list[str]:
    """Return the events of a body as lines of a log."""
    return [f"{prefix(n)} data: {event.data}" for n, event in enumerate(wrappers.events(body))]


def with_other_ids(body: bytes) -> bytes:
    """Return the events of a body as another response."""
    return body.replace(b"chatcmpl-", b"chatcmpl-Z").replace(b"msg_", b"msg_Z").replace(b"resp_", b"resp_Z")


@pytest.mark.parametrize("name", [CHAT, CLAUDE, RESPONSES])
def test_events_in_reverse_order_are_an_error(name: str, tmp_path: Path) -> None:
    """Log services show the newest line first."""
    path = tmp_path / "pasted"
    path.write_text("\n".join(reversed(logged(bare(name)))))
    with pytest.raises(UnreadableError, match="in reverse order"):
        read(path)


def test_a_long_second_response_is_no_reverse_order(tmp_path: Path) -> None:
    """Only the first lines are examined, where the second response has no end (vercel/ai, openai-shell-tool)."""
    path = tmp_path / "two.jsonl"
    start = '{"type":"response.created","response":{"id":"resp_N","status":"in_progress","output":[]}}'
    text = '{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"word"}'
    end = '{"type":"response.completed","response":{"id":"resp_N","status":"completed","output":[]}}'
    path.write_text(
        "\n".join(
            line.replace("resp_N", f"resp_{number}").replace("{", f'{{"sequence_number":{at},', 1)
            for number, lines in enumerate([[start, end], [start, *[text] * 2000, end]])
            for at, line in enumerate(lines)
        )
    )
    assert [record.finish for record in read(path)] == [["completed"], ["completed"]]


def test_an_id_that_is_an_object_is_no_id(tmp_path: Path) -> None:
    """A schema has one (braintrustdata/lingua, specs/google/discovery.json)."""
    path = tmp_path / "pasted"
    path.write_text(
        "\n".join(f"chunk: {wrappers.compact({**one, 'id': {'a': 1}})}" for one in wrappers.payloads(bare(CHAT)))
    )
    assert [comparable(record) for record in read(path)] == [expected(CHAT)]


@pytest.mark.parametrize(("first", "second"), [(CHAT, CHAT), (CLAUDE, CLAUDE), (RESPONSES, RESPONSES), (CHAT, CLAUDE)])
def test_interleaved_responses_are_an_error(first: str, second: str, tmp_path: Path) -> None:
    """A log may have two simultaneous requests."""
    path = tmp_path / "pasted"
    pairs = zip(
        logged(bare(first), lambda _: "[worker-1]"),
        logged(with_other_ids(bare(second)), lambda _: "[worker-2]"),
        strict=False,
    )
    path.write_text("\n".join(line for pair in pairs for line in pair))
    with pytest.raises(UnreadableError, match="mixed with each other"):
        read(path)


@pytest.mark.parametrize("name", [CHAT, CLAUDE, RESPONSES])
def test_a_truncated_response_is_not_continued_by_the_next(name: str, tmp_path: Path) -> None:
    """A log may have a request and its retry."""
    path = tmp_path / "pasted"
    path.write_text("\n".join([*logged(bare(name))[:6], *logged(with_other_ids(bare(name)))]))
    broken, complete = read(path)
    assert comparable(complete) == expected(name)
    assert [call.complete for call in broken.calls] == [False]


SHORTENED: dict[str, Callable[[int, dict[str, object]], str]] = {
    "json": lambda n, payload: _shortened(n, f"chunk: {wrappers.compact(payload)}"),
    "data": lambda n, payload: _shortened(n, f"{wrappers.stamp(n)} data: {wrappers.compact(payload)}"),
    "repr": lambda n, payload: wrappers.sdk(payload).replace(
        "arguments=", "arguments=<function at 0x1>" if n == 2 else "arguments="
    ),
}


def _shortened(n: int, text: str) -> str:
    return f"{text[:300]}... (123 more characters)" if n == 2 else text


@pytest.mark.parametrize("form", SHORTENED)
def test_an_unreadable_event_is_a_finding(form: str, tmp_path: Path) -> None:
    """It is reported, as the arguments of its call are incomplete."""
    path = tmp_path / "pasted"
    path.write_text("\n".join(SHORTENED[form](n, payload) for n, payload in enumerate(wrappers.payloads(bare(CHAT)))))
    (record,) = read(path)
    assert [(finding.name, finding.event) for finding in record.findings if finding.name == "unparsable-data"] == [
        ("unparsable-data", 2)
    ]


@pytest.mark.parametrize("elided", ["tool_calls: [ [Object] ]", "tool_calls: [Array]"])
def test_events_printed_in_part_by_node_are_rejected(elided: str, tmp_path: Path) -> None:
    """Node leaves out deeply nested values such as tool calls, which the provider sent."""
    path = tmp_path / "pasted"
    printed = [wrappers.node(payload) for payload in wrappers.payloads(bare(CHAT))]
    first = next(n for n, text in enumerate(printed) if "tool_calls: [" in text)
    printed[first] = re.sub(r"tool_calls: \[[^]]*\]", elided, printed[first], count=1)
    assert elided in printed[first]
    path.write_text("\n".join(printed))
    with pytest.raises(RefusedError, match="parts left out"):
        read(path)


COMPLETE = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{
        "index": 0, "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": None, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ]},
    }],
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        f"response: {json.dumps(COMPLETE)}\n",
        f"{json.dumps({'custom_id': 'a', 'response': {'status_code': 200, 'body': COMPLETE}})}\n",
        f"{wrappers.sdk(COMPLETE, 'ChatCompletion')}\n",
    ],
)
def test_a_complete_response_is_no_event(text: str, tmp_path: Path) -> None:
    """Its calls are read as unstreamed."""
    path = tmp_path / "pasted"
    path.write_text(text)
    (record,) = read(path)
    assert (record.streamed, [call.name for call in record.calls], record.findings) == (False, ["f"], [])


def test_a_complete_response_next_to_a_stream_is_read(tmp_path: Path) -> None:
    """It is skipped if it is the result of that stream, as loggers add it."""
    path = tmp_path / "pasted"
    path.write_bytes(json.dumps(COMPLETE).encode() + b"\n" + bare(CHAT))
    assert [len(record.calls) for record in read(path)] == [1, 2]
    chunks = wrappers.payloads(bare(CHAT))
    result = COMPLETE | {"id": chunks[0]["id"]}
    path.write_text("".join(f"chunk: {json.dumps(chunk)}\n" for chunk in chunks) + f"complete: {json.dumps(result)}\n")
    assert [len(record.calls) for record in read(path)] == [2]


def test_repeated_objects_are_two_responses(tmp_path: Path) -> None:
    """Their ids are equal, and nothing else divides them."""
    path = tmp_path / "pasted"
    for printed in (wrappers.compact, wrappers.sdk):
        path.write_text("".join(f"{printed(payload)}\n" for payload in wrappers.payloads(bare(CHAT))) * 2)
        assert [comparable(record) for record in read(path)] == [expected(CHAT)] * 2


@pytest.mark.parametrize("left_out", ["...", "…", "[... 12 more chunks ...]", "// ..."])
def test_an_ellipsis_between_events_is_a_finding(left_out: str, tmp_path: Path) -> None:
    """An ellipsis after the end belongs to the prose."""
    path = tmp_path / "pasted"
    data_lines = [f"data: {event.data}\n" for event in wrappers.events(bare(CHAT))]
    path.write_text("\n".join(["Log:", *data_lines[:3], left_out, *data_lines[5:], "..."]))
    (record,) = read(path)
    assert [finding.event for finding in record.findings if finding.name == "unparsable-data"] == [3]


def test_the_new_version_of_a_diff_is_read(tmp_path: Path) -> None:
    """The removed lines are skipped."""
    path = tmp_path / "pasted"
    lines = bare(CHAT).decode().replace("\r\n", "\n").split("\n")
    changed = (f"-{line.replace('Oslo', 'Rome')}\n+{line}\n" if "Oslo" in line else f" {line}\n" for line in lines)
    path.write_text("--- a/x.sse\n+++ b/x.sse\n@@ -1,40 +1,40 @@\n" + "".join(changed))
    assert [comparable(record) for record in read(path)] == [expected(CHAT)]


MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "tool_use",
    "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
}  # fmt: skip
CLIENT = "of a client, not the provider's stream"
PRINTED = "Print them as JSON"
PARTS = "Print each chunk"
AI_SDK = "AI SDK's own stream"
CONVERSATION = "messages of a conversation"
MESSAGES = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "x"}]
ELIDED = """'{"toolCall":{"functionCalls":[{"id":"call-1","n...gs":{"city":"Oslo"}}]}}'"""
REJECTED = {
    "claude-code": (json.dumps({"sessionId": "s", "type": "assistant", "message": MESSAGE}), "transcript"),
    "claude-code-null": (  # microsoft/vscode-copilot-chat, src/extension/chatSessions/claude/node/test/fixtures
        json.dumps({"sessionId": "s", "type": "assistant", "message": {**MESSAGE, "stop_reason": None}}),
        "transcript",
    ),
    "codex-exec": ('{"type":"thread.started","thread_id":"t"}\n{"type":"turn.started"}', CLIENT),
    "opencode": ('{"messages":[{"parts":[{"type":"tool","callID":"c","tool":"read","state":{}}]}]}', CLIENT),
    "gemini-cli": ('{"type":"tool_use","tool_name":"f","tool_id":"r1","parameters":{}}', CLIENT),
    "ai-sdk-4": ('f:{"messageId":"m"}\n9:{"toolCallId":"c","toolName":"f","args":{}}', AI_SDK),
    "ai-sdk-5": ('data: {"type":"start"}\n\ndata: {"type":"tool-input-start","toolCallId":"c"}\n', AI_SDK),
    "ai-sdk-parts": ("{ type: 'start' }\n{ type: 'tool-input-start', id: 'c', toolName: 'f' }", AI_SDK),
    "ag-ui": ('data: {"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}\n', "AG-UI"),
    "assistants": ('event: thread.run.created\ndata: {"id":"run_1","object":"thread.run"}\n', "Assistants API"),
    "workers-ai": ('data: {"response":"","tool_calls":[{"name":"f","arguments":{}}]}\n', "Cloudflare Workers AI"),
    "cortex": (
        'data: {"choices":[{"delta":{"type":"tool_use","name":"f","content_list":[{"name":"f"}]}}]}\n',
        "Snowflake Cortex",
    ),
    "conversations": ('data: {"type":"function.call.delta","tool_call_id":"c"}\n', "Mistral's Conversations API"),
    "cohere-1": ('{"is_finished":false,"event_type":"tool-calls-chunk","tool_call_delta":{}}', "Cohere's Chat API"),
    "dashscope": (
        'id:1\nevent:result\n:HTTP_STATUS/200\ndata:{"output":{"choices":[{"message":{"tool_calls":[{"id":"c"}]}}]}}\n',
        "DashScope's own API",
    ),
    "ernie": (
        'data: {"object":"chat.completion","is_end":true,"result":"","function_call":{"name":"f","arguments":"{}"}}\n',
        "Baidu's own API for ERNIE",
    ),
    "lm-studio": ('event: chat.start\ndata: {"type":"chat.start","model_instance_id":"q"}\n', "LM Studio's own API"),
    "hunyuan": ('data: {"Choices":[{"Delta":{"Role":"assistant","ToolCalls":[]}}]}\n', "Hunyuan's own API"),
    "tgi": ('data:{"index":1,"token":{"id":1,"text":"a"},"generated_text":null}\n', "/generate_stream"),
    "watsonx": ('data: {"results":[{"generated_text":"Hi"}]}\n', "watsonx"),
    "interactions": (
        'data: {"index":0,"delta":{"type":"function_call","name":"f"},"event_type":"content.delta"}\n',
        "Gemini's Interactions API",
    ),
    "oci": (
        'data: {"index":0,"message":{"role":"ASSISTANT","toolCalls":[{"type":"FUNCTION","id":"a","name":"f"}]}}\n',
        "OCI Generative AI's own API",
    ),
    "dify": ('data: {"event":"agent_thought","message_id":"m","tool":"f","tool_input":"{}"}\n', "Dify"),
    "replicate": ("event: output\nid: 1:0\ndata: Hello\n", "Replicate"),
    "langgraph": ('event: messages/partial\ndata: [{"type":"AIMessageChunk"}]\n', "LangGraph's server"),
    "ollama-generate": ('{"model":"m","response":"The","done":false}\n', "/api/generate"),
    "completions": ('data: {"object":"text_completion","choices":[{"text":"Hi"}]}\n', "the Completions API"),
    "history": (json.dumps({"messages": MESSAGES}, indent=1), CONVERSATION),
    "request": ('{"model":"m","messages":[{"role":"user","content":"data: {\\"a\\":1}"}],"stream":true}', CONVERSATION),
    "history-list": (json.dumps(MESSAGES), CONVERSATION),
    "gemini-history": ('[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}]', CONVERSATION),
    "items": ('[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]', CLIENT),
    "delta-repr": ("ChoiceDelta(content=None, tool_calls=[ChoiceDeltaToolCall(index=0, id='c')])", PARTS),
    "call-repr": ("ChoiceDeltaToolCall(index=0, id='c', function=None, type='function')", PARTS),
    "choices": ('{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c"}]},"finish_reason":null}', PARTS),
    "google-genai": ("candidates=[Candidate(\n  content=Content(\n    parts=[]\n  )\n)] model_version='m'", "by_alias"),
    "pydantic-ai": ("PartStartEvent(index=0, part=ToolCallPart(tool_name='f', args=''))", "framework"),
    "spew": ('(openai.Chunk) {\n Object: (string) (len=21) "chat.completion.chunk",\n}', PRINTED),
    "var-dump": ('array(1) {\n  ["object"]=>\n  string(21) "chat.completion.chunk"\n}', PRINTED),
    "record": ("ChunkRecord[id=c, object=chat.completion.chunk, choices=[]]", PRINTED),
    "weave": (json.dumps({"op_name": "weave:///x", "output": COMPLETE}), "tracing tool"),
    "braintrust": (json.dumps({"span_attributes": {"type": "llm"}, "output": COMPLETE["choices"]}), "tracing tool"),
    "otel": ('{"name":"chat","attributes":{"gen_ai.system":"openai"}}', "OpenTelemetry"),
    "net-log": ('{"constants":{"logEventTypes":{"X":1}},"events":[]}', "net log of Chrome"),
    "net-log-later": ('\n{ "constants": {"X":1},\n"events":[\n{"params":{"bytes":"ZGF0YTog"}}]}', "net log"),
    "var-dump-anthropic": ('array(1) {\n  ["type"]=>\n  string(19) "content_block_delta"\n}', PRINTED),
    "var-dump-gemini": ('array(1) {\n  ["functionCall"]=>\n  array(1) {\n  }\n}', PRINTED),
    "go-map": ("map[delta:map[text:x] index:0 type:content_block_delta]", PRINTED),
    "go-value": ('map[string]interface {}{"type":"x"}\ndata: {"type":"message_stop"}', "Go's"),
    "kotlin": ("Chunk(type=content_block_delta, delta=Delta(text=a b, stop_reason=null))", PRINTED),
    "clojure": ('{:type "content_block_delta", :index 0}', PRINTED),
    "swift": ('[AnyHashable("type"): Optional("content_block_delta")]', PRINTED),
    "xml": ("<chunk><type>content_block_delta</type></chunk>", PRINTED),
    "tcpdump": (
        '10:12:00.123456 IP 10.0.0.2.80 > 10.0.0.1.5132: Flags [P.], seq 1:2\nE..l\ndata: {"type":"message_stop"}\n',
        "tcpdump",
    ),
    "tshark-json": ('[{"_source": {"layers": {"frame": {}, "http": {"http.file_data": "64:61"}}}}]', "tshark"),
    "websockets": (f"DEBUG:websockets.client:< TEXT {ELIDED} [92 bytes]", "WEBSOCKETS_MAX_LOG_SIZE"),
    "abbreviated": ('data: {...,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]...}', "in part"),
    "java-choice": ("[Choice{delta=Delta{content=, toolCalls=[ToolCall{index=0, id=}]}, index=0}]", PRINTED),
    "record-calls": ("ChunkChoice[delta=Message[toolCalls=[ToolCall[index=0, id=c, type=function]]]]", PRINTED),
    "yaml-folded": (
        "- event: x\n  data: '{\"type\":\"message_stop\"}'\n- event: y\n  data: '{\"type\":\"x\",\n    \"a\":0}'",
        "YAML",
    ),
    "cut": ('chunk: {"id":"chatcmpl-1","object":"chat.compl...', "in part"),
    "wiremock": ('{"response":{"status":200,"bodyFileName":"x.txt"}}', "__files"),
    "object": ("data: [object Object]\n", "JSON.stringify"),
    "html": ("<!DOCTYPE html>\n<html><h1>502</h1></html>", "HTML page"),
    "sdk-error": ("openai.BadRequestError: Error code: 400 - {'error': {'message': 'x'}}", "failed"),
    "langchain": ("AIMessageChunk(content='', id='run--1', tool_call_chunks=[{'name': 'f', 'args': ''}])", "framework"),
    "spring-ai": ("ChatResponse [metadata={ id: c }, generations=[Generation[assistantMessage=x]]]", "framework"),
    "print-r": ("Array\n(\n    [id] => chatcmpl-1\n    [object] => chat.completion.chunk\n)", PRINTED),
    "go": ("{ID:chatcmpl-1 Object:chat.completion.chunk Choices:[{Index:0 Delta:{Content:}}]}", PRINTED),
    "java": ("ChatCompletionChunk{id=chatcmpl-1, choices=[Choice{delta=Delta{content=null}}]}", PRINTED),
    "yaml": ("- id: chatcmpl-1\n  object: chat.completion.chunk\n  choices: []", PRINTED),
    "buffer": (f"<Buffer {'64 61 74 61 3a 20 7b 22 ' * 6}64 61 ... 123 more bytes>", "first bytes"),
    "uint8": ("Uint8Array(300) [\n  100,  97, 116,\n  ... 200 more items\n]", "first bytes"),
    "error": ('HTTP/1.1 500 Internal Server Error\ncontent-length: 25\n\n{"error":{"message":"x"}}', "failed"),
}  # fmt: skip


@pytest.mark.parametrize("mark", ["...", "…", " [truncated 80 chars]", "... (80 more characters)"])
def test_several_shortened_events_are_rejected(mark: str, tmp_path: Path) -> None:
    """One shortened event is a finding; with several, the arguments would not be the provider's."""
    path = tmp_path / "pasted"
    printed = [wrappers.compact(payload) for payload in wrappers.payloads(bare(CLAUDE))]
    path.write_text("".join(f"chunk: {text[:60] + mark if 2 < n < 6 else text}\n" for n, text in enumerate(printed)))
    with pytest.raises(RefusedError, match="printed in part"):
        read(path)


def test_unquoted_strings_are_not_read() -> None:
    """Kotlin and Java print strings without quotes, and their end is unknown."""
    with pytest.raises(ValueError, match="without quotes"):
        literal("Chunk(id=msg_01AbC, index=0)", 0)
    assert literal("Chunk { finish_reason: ToolCalls }", 0)[0] == {"finish_reason": "tool_calls"}


@pytest.mark.parametrize("kind", REJECTED)
def test_other_formats_are_rejected_by_name(kind: str, tmp_path: Path) -> None:
    """The error names the format or a remedy."""
    path = tmp_path / "pasted"
    text, reason = REJECTED[kind]
    path.write_text(f"{text}\n" * 2)
    with pytest.raises(RefusedError, match=reason):
        read(path)
