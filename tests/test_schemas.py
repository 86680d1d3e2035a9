from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.checking.cases import Kind as CaseKind
from toolstream_core.checking.grading import Skip
from toolstream_core.defects.table import DEFECTS
from toolstream_core.engine.session import read_body
from toolstream_core.model import Kind, Phase, Severity, StreamFacts
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.report import jsonform
from toolstream_core.report.jsonform import JsonLines
from toolstream_core.saved.expectation import ExpectedCall, ExpectedFinding, ExpectedResponse
from toolstream_core.verdict import Outcome
from toolstream_core.verdict.outcome import Grade, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).resolve().parents[1] / "docs"
FLOWS = DOCS.parent / "flows"
NAMES = ("inspect", "jsonl", "expect", "check", "view")
INSPECT, JSONL, EXPECT, CHECK, VIEW = (json.loads((DOCS / f"{name}.schema.json").read_text()) for name in NAMES)
SCHEMAS = pytest.mark.parametrize("schema", [INSPECT, JSONL, EXPECT, CHECK, VIEW], ids=NAMES)
DOCUMENT = jsonschema.Draft202012Validator(INSPECT)
LINE = jsonschema.Draft202012Validator(JSONL)
HEAD = {"flow": "f", "stream": 1, "host": "api.example.com", "dialect": "openai-chat", "protocol": "openai-chat"}


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield all schemas of objects in a schema."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for inner in schema.values():
            yield from objects(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from objects(inner)


def validated(body: bytes, path: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the JSON document and lines of a body, after validation."""
    lines: list[str] = []
    kind = "application/x-ndjson" if body.endswith(b"}\n") else ""
    exchange = StreamFacts(source="s", path=path, content_type=kind)
    sink = JsonLines(lines.append, HEAD, elapsed=lambda: 5)
    record = read_body([body], exchange, sinks=[sink])
    assert record is not None
    document = json.loads(json.dumps(jsonform.document([jsonform.record_object(record)])))
    assert [error.message for error in DOCUMENT.iter_errors(document)] == []
    parsed = [json.loads(line) for line in lines]
    assert [error.message for line in parsed for error in LINE.iter_errors(line)] == []
    assert parsed[-1]["record"] == document["streams"][0]
    return document, parsed


@SCHEMAS
def test_a_schema_is_valid(schema: dict[str, Any]) -> None:
    """A schema is valid for the draft that it names."""
    assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    jsonschema.Draft202012Validator.check_schema(schema)


@SCHEMAS
def test_every_key_is_described_and_no_other_is_allowed(schema: dict[str, Any]) -> None:
    """Every key has a description, here or in its definition, and no other keys are allowed."""
    assert schema["description"]
    for one in objects(schema):
        assert one["additionalProperties"] is False
        assert set(one["required"]) <= one["properties"].keys()
        assert one["description"].endswith(".")
        for key, value in one["properties"].items():
            definition = schema["$defs"][value["$ref"].rpartition("/")[2]] if "$ref" in value else value
            assert definition["description"].endswith("."), key


def test_both_schemas_define_the_same_record() -> None:
    """The definitions of `inspect.schema.json` are equal to those of `jsonl.schema.json`."""
    for name, definition in INSPECT["$defs"].items():
        assert JSONL["$defs"][name] == definition


def test_the_schema_of_expectations_matches_the_reader() -> None:
    """The schema of expectations has the keys, defaults and enumerations of their reader and of records."""
    for name, expected_type in (("answer", ExpectedResponse), ("call", ExpectedCall), ("finding", ExpectedFinding)):
        definition = EXPECT["$defs"][name]
        assert list(definition["properties"]) == [one.name for one in fields(expected_type)]
        assert definition["required"] == [one.name for one in fields(expected_type) if one.default is MISSING]
        defaults = {key: value["default"] for key, value in definition["properties"].items() if "default" in value}
        assert defaults == {one.name: one.default for one in fields(expected_type) if one.default is not MISSING}
    assert EXPECT["$defs"]["dialect"] == INSPECT["$defs"]["dialect"]
    assert EXPECT["$defs"]["call"]["properties"]["kind"] == INSPECT["$defs"]["call"]["properties"]["kind"]


@pytest.mark.parametrize("path", sorted(FLOWS.glob("*.expect.json")), ids=lambda path: path.name)
def test_saved_expectations_are_valid(path: Path) -> None:
    """Every saved expectation of the project is valid for its schema."""
    document = json.loads(path.read_text())
    assert [error.message for error in jsonschema.Draft202012Validator(EXPECT).iter_errors(document)] == []


def test_enumerations_match_the_source() -> None:
    """The enumerations of the schemas match the source, and the codes and names of defects have their form."""
    defs = JSONL["$defs"]
    assert defs["dialect"]["enum"] == [protocol.name for protocol in PROTOCOLS]
    assert defs["call"]["properties"]["kind"]["enum"] == list(Kind)
    assert defs["finding"]["properties"]["severity"]["enum"] == list(Severity)
    assert defs["fragment"]["properties"]["phase"]["enum"] == list(Phase)
    assert defs["outcome"]["enum"] == list(Outcome)
    cases = CHECK["$defs"]["case"]["properties"]
    assert cases["kind"]["enum"] == list(CaseKind)
    assert cases["grade"]["enum"] == list(Grade)
    assert cases["reason"]["enum"] == [*Reason, *Skip, None]
    assert CHECK["$defs"]["verdict"]["properties"]["verdict"]["enum"] == list(Outcome)
    assert CHECK["$defs"]["protocol"]["enum"] == [*(protocol.name for protocol in PROTOCOLS), None]
    for defect in DEFECTS:
        for key in ("code", "name"):
            jsonschema.validate(getattr(defect, key), defs["finding"]["properties"][key])


@pytest.mark.parametrize("change", [{"more": 1}, {"streams": None}, {"version": 1}])
def test_other_documents_are_invalid(change: dict[str, Any]) -> None:
    """A document with an unknown key, a wrong type or another version is invalid."""
    assert DOCUMENT.is_valid({"version": 2, "streams": []})
    assert not DOCUMENT.is_valid({"version": 2, "streams": [], **change})


# Values in the place of text, numbers and objects.
ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False),
    st.sampled_from(["", "null", "c1", "f", "{}", '{"a":', "1}", '{"a":1}', "stop", "\ud800"]),
    st.just({}),
    st.just({"a": [1]}),
    st.just([]),
)


def object_with(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for objects with some of these keys, or for other values."""
    return st.fixed_dictionaries({}, optional=keys) | ODD


def array_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for arrays, or for other values."""
    return st.lists(inner, max_size=3) | ODD


FUNCTION = object_with(name=ODD, arguments=ODD)
ENTRIES = array_of(object_with(index=ODD, id=ODD, type=ODD, function=FUNCTION))
MESSAGE = object_with(content=ODD, tool_calls=ENTRIES, function_call=FUNCTION)
ITEM = object_with(
    type=st.sampled_from(["function_call", "custom_tool_call", "mcp_call", "web_search_call", "message"]) | ODD,
    id=ODD,
    call_id=ODD,
    name=ODD,
    arguments=ODD,
    input=ODD,
    status=ODD,
)


def item_events(delta: str, end: str, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for events of Responses or Realtime."""
    types = (
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        delta,
        "response.output_item.done",
        "response.output_text.delta",
        end,
        "response.failed",
        "error",
    )
    return object_with(
        **more,
        type=st.sampled_from(types),
        output_index=ODD,
        item_id=ODD,
        call_id=ODD,
        delta=ODD,
        arguments=ODD,
        item=ITEM,
        response=object_with(model=ODD, status=ODD, error=ODD, output=array_of(ITEM)),
    )


EVENTS = {
    "openai-chat": object_with(
        model=ODD,
        error=ODD,
        choices=array_of(object_with(index=ODD, delta=MESSAGE, message=MESSAGE, finish_reason=ODD)),
    ),
    "openai-realtime": item_events(
        "response.output_audio_transcript.delta", "response.done", event_id=ODD, response_id=ODD
    ),
    "openai-responses": item_events("response.custom_tool_call_input.delta", "response.completed"),
    "anthropic": object_with(
        type=st.sampled_from(
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop",
                "error",
            ]
        ),
        index=ODD,
        message=object_with(model=ODD, content=ODD, stop_reason=ODD),
        content_block=object_with(
            type=st.sampled_from(["tool_use", "server_tool_use", "mcp_tool_use", "text"]),
            id=ODD,
            name=ODD,
            input=ODD,
        ),
        delta=object_with(
            type=st.sampled_from(["input_json_delta", "text_delta"]),
            partial_json=ODD,
            text=ODD,
            stop_reason=ODD,
        ),
        error=ODD,
    ),
    "gemini": object_with(
        modelVersion=ODD,
        error=ODD,
        candidates=array_of(
            object_with(
                index=ODD,
                finishReason=ODD,
                content=object_with(
                    parts=array_of(
                        object_with(
                            text=ODD,
                            functionCall=object_with(id=ODD, name=ODD, args=ODD, partialArgs=ODD, willContinue=ODD),
                        )
                    )
                ),
            )
        ),
    ),
    "gemini-interactions": object_with(
        event_type=st.sampled_from(
            [
                "interaction.created",
                "interaction.status_update",
                "step.start",
                "step.delta",
                "step.stop",
                "interaction.completed",
                "error",
            ]
        ),
        index=ODD,
        step=object_with(type=ODD, id=ODD, name=ODD, arguments=ODD, content=ODD, summary=ODD),
        delta=object_with(type=ODD, arguments=ODD, text=ODD, content=object_with(text=ODD)),
        interaction=object_with(id=ODD, status=ODD, model=ODD, steps=ODD),
        object=st.sampled_from(["interaction"]),
        steps=array_of(object_with(type=ODD, id=ODD, name=ODD, arguments=ODD, content=array_of(object_with(text=ODD)))),
        status=ODD,
        error=ODD,
    ),
    "cohere-v2": object_with(
        type=st.sampled_from(
            [
                "message-start",
                "tool-plan-delta",
                "content-start",
                "content-delta",
                "tool-call-start",
                "tool-call-delta",
                "tool-call-end",
                "message-end",
                "error",
            ]
        ),
        index=ODD,
        delta=object_with(
            finish_reason=ODD,
            error=ODD,
            message=object_with(content=object_with(text=ODD, thinking=ODD), tool_plan=ODD, tool_calls=ENTRIES),
        ),
        message=ODD,
    ),
    "gemini-live": object_with(
        serverContent=object_with(
            modelTurn=object_with(parts=array_of(object_with(text=ODD, thought=ODD, inlineData=ODD))),
            outputTranscription=object_with(text=ODD),
            interrupted=ODD,
            turnComplete=ODD,
            turnCompleteReason=ODD,
        ),
        toolCall=object_with(functionCalls=array_of(object_with(id=ODD, name=ODD, args=ODD))),
        toolCallCancellation=object_with(ids=ODD),
        usageMetadata=ODD,
        error=ODD,
    ),
    "ollama": object_with(model=ODD, message=MESSAGE, done=ODD, done_reason=ODD, error=ODD),
    "bedrock": object_with(
        contentBlockStart=object_with(
            contentBlockIndex=ODD, start=object_with(toolUse=object_with(toolUseId=ODD, name=ODD, input=ODD, type=ODD))
        ),
        contentBlockDelta=object_with(
            contentBlockIndex=ODD, delta=object_with(toolUse=object_with(input=ODD), text=ODD)
        ),
        contentBlockStop=object_with(contentBlockIndex=ODD),
        messageStop=object_with(stopReason=ODD),
        metadata=object_with(usage=ODD),
    ),
}
PATHS = {
    "openai-realtime": "/v1/realtime",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:streamGenerateContent",
    "gemini-interactions": "/v1beta/interactions",
    "gemini-live": "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
    "ollama": "/api/chat",
    "cohere-v2": "/v2/chat",
    "bedrock": "/model/m/converse-stream",
}
FIRST = {
    "openai-chat": {"object": "chat.completion.chunk", "choices": []},
    "openai-realtime": {"type": "response.created", "event_id": "e", "response": {"object": "realtime.response"}},
    "openai-responses": {"type": "response.created", "response": {"object": "response", "model": "m"}},
    "anthropic": {"type": "message_start", "message": {"type": "message", "model": "m"}},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "x"}]}}], "modelVersion": "m"},
    "gemini-interactions": {"event_type": "interaction.created", "interaction": {"id": "i", "model": "m"}},
    "gemini-live": {"serverContent": {"modelTurn": {"parts": [{"text": "x"}]}}},
    "ollama": {"model": "m", "message": {"content": "x"}, "done": False},
    "cohere-v2": {"id": "i", "type": "message-start", "delta": {"message": {"role": "assistant"}}},
    "bedrock": {"messageStart": {"role": "assistant"}},
}


@pytest.mark.parametrize("protocol", [protocol.name for protocol in PROTOCOLS])
@given(data=st.data())
def test_the_output_of_every_stream_is_valid(protocol: str, data: st.DataObject) -> None:
    """The JSON output is valid for streams and unstreamed responses of every protocol, with values of any type."""
    events = [FIRST[protocol], *data.draw(st.lists(EVENTS[protocol], max_size=6))]
    before, after = ("", "\n") if protocol in {"gemini-live", "ollama", "openai-realtime"} else ("data: ", "\n\n")
    wire = "".join(f"{before}{json.dumps(event)}{after}" for event in events)
    document, lines = validated(wire.encode(), PATHS[protocol])
    [stream] = document["streams"]
    assert (stream["dialect"], stream["streamed"]) == (protocol, True)
    assert sum(line["type"] == "event" for line in lines) == stream["events"]
    assert lines[-1]["type"] == "end"
    response = data.draw(EVENTS[protocol])
    if isinstance(response, dict):
        document, _ = validated(json.dumps(response).encode(), PATHS[protocol])
        assert document["streams"][0]["streamed"] is False


def test_every_optional_key_of_a_line_is_used() -> None:
    """Every optional key of a line in the schema occurs in the output."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}, "index": 0}
    choice = {"index": 0, "delta": {"content": "x", "tool_calls": [call]}, "finish_reason": "tool_calls"}
    chat = f"data: {json.dumps({'model': 'm', 'choices': [choice]})}\n\ndata: [DONE]\n\n"
    item = {
        "type": "response.function_call_arguments.delta",
        "item_id": "i",
        "output_index": 0,
        "delta": "{}",
    }
    failed = {"type": "error", "message": "overloaded"}
    responses = "".join(f"data: {json.dumps(event)}\n\n" for event in (FIRST["openai-responses"], item, failed))
    lines = [
        line
        for wire, path in ((chat, PATHS["openai-chat"]), (responses, PATHS["openai-responses"]))
        for line in validated(wire.encode(), path)[1]
    ]
    keys = {key for line in lines if line["type"] == "event" for key in line}
    fragments = {key for line in lines for fragment in line.get("fragments", ()) for key in fragment}
    assert keys == JSONL["$defs"]["event"]["properties"].keys()
    assert fragments == JSONL["$defs"]["fragment"]["properties"].keys()
