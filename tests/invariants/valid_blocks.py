"""Valid streams of Anthropic Messages, Cohere, Amazon Bedrock and Gemini Interactions.

https://docs.claude.com/en/docs/build-with-claude/streaming
https://docs.cohere.com/v2/docs/streaming
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
https://ai.google.dev/gemini-api/docs/streaming
"""

from __future__ import annotations

from typing import Any, Final

type Payload = dict[str, Any]
type Events = list[Payload]

# Anthropic


def _message(*blocks: tuple[Payload, Events], stop: str = "tool_use", **delta: Any) -> Events:
    """Return the events of blocks: each the content of its start, and its deltas."""
    head: Payload = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    usage = {"input_tokens": 1, "cache_read_input_tokens": 0, "output_tokens": 1, "service_tier": "standard"}
    events: Events = [
        {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "ping"},
    ]
    for at, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": at, "content_block": block})
        events += [{"type": "content_block_delta", "index": at, "delta": one} for one in deltas]
        events.append({"type": "content_block_stop", "index": at})
        events.append({"type": "ping"})
    ending = {"stop_reason": stop, "stop_sequence": None, **delta}
    tokens = {"output_tokens": 9, "server_tool_use": {"web_search_requests": 1}}
    return [*events, {"type": "message_delta", "delta": ending, "usage": tokens}, {"type": "message_stop"}]


def _text(*parts: str) -> tuple[Payload, Events]:
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in parts]


def _tool_use(
    name: str, *parts: str, kind: str = "tool_use", identity: str = "toolu_1", **more: Any
) -> tuple[Payload, Events]:
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    return {"type": kind, "id": identity, "name": name, "input": {}, **more}, deltas


def _result(kind: str, content: Any, identity: str = "srvtoolu_1") -> tuple[Payload, Events]:
    return {"type": kind, "tool_use_id": identity, "content": content}, []


_THINKING: Final = (
    {"type": "thinking", "thinking": "", "signature": ""},
    [
        {"type": "thinking_delta", "thinking": "Hm"},
        {"type": "thinking_delta", "thinking": " é😀"},
        {"type": "signature_delta", "signature": "c2ln"},
    ],
)
_CITED: Final = {
    "type": "web_search_result_location",
    "url": "u",
    "title": "t",
    "encrypted_index": "e",
    "cited_text": "c",
}
_MADE_BY_CODE: Final = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "get_time",
    "input": {"zone": "UTC"},
    "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"},
}
"""https://github.com/vercel/ai/pull/11262"""
ANTHROPIC: Final[dict[str, Events]] = {
    "thinking, then parallel calls": _message(
        _THINKING,
        ({"type": "redacted_thinking", "data": "ZW5j"}, []),
        _text("Let", " me look."),
        _tool_use("get_weather", "", '{"city":', ' "Oslo"}'),
        _tool_use("get_time", "", '{"zone": "UTC"}', identity="toolu_2"),
    ),
    "a call without parameters": _message(_tool_use("ping")),
    "a call without parameters, with an empty delta": _message(_tool_use("ping", "")),
    "a call with an empty object as input": _message(_tool_use("ping", "", "{}")),
    "one delta for each parameter": _message(
        _tool_use("get_weather", "", '{"city": "Oslo"', "}", caller={"type": "direct"})
    ),
    "a web search with citations": _message(
        _text("I will search."),
        _tool_use("web_search", "", '{"query"', ': "q"}', kind="server_tool_use", identity="srvtoolu_1"),
        _result("web_search_tool_result", [{"type": "web_search_result", "url": "u", "encrypted_content": "e"}]),
        (
            {"type": "text", "text": "", "citations": []},
            [{"type": "citations_delta", "citation": _CITED}, {"type": "text_delta", "text": "It is so."}],
        ),
        stop="end_turn",
    ),
    "a paused turn": _message(
        _tool_use("web_search", "", '{"query": "q"}', kind="server_tool_use", identity="srvtoolu_1"), stop="pause_turn"
    ),
    "a server tool that fails": _message(
        _tool_use("web_fetch", "", '{"url": "u"}', kind="server_tool_use", identity="srvtoolu_1"),
        _result("web_fetch_tool_result", {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"}),
        _text("No."),
        stop="end_turn",
    ),
    "code execution in a container": _message(
        _tool_use("bash_code_execution", "", '{"command": "ls"}', kind="server_tool_use", identity="srvtoolu_1"),
        _result(
            "bash_code_execution_tool_result",
            {"type": "bash_code_execution_result", "stdout": "", "stderr": "", "return_code": 0, "content": []},
        ),
        _text("Done."),
        stop="end_turn",
        container={"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"},
    ),
    "an MCP server": _message(
        _tool_use("echo", "", '{"a": 1}', kind="mcp_tool_use", identity="mcptoolu_1", server_name="s"),
        ({"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": []}, []),
        _text("1"),
        stop="end_turn",
    ),
    "a call made by code": _message(
        _tool_use("code_execution", "", '{"code": "f()"}', kind="server_tool_use", identity="srvtoolu_1"),
        _tool_use(
            "get_time", "", '{"zone": "UTC"}', caller={"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
        ),
        container={"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"},
    ),
    "a call made by code, complete in its start": _message(
        _tool_use("code_execution", "", '{"code": "f()"}', kind="server_tool_use", identity="srvtoolu_1"),
        (_MADE_BY_CODE, []),
    ),
    "the next call made by code, in the first event": [
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [_MADE_BY_CODE],
                "stop_reason": "tool_use",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        },
        {"type": "message_stop"},
    ],
    "compaction": _message(
        ({"type": "compaction", "content": ""}, [{"type": "compaction_delta", "content": "So far."}]),
        _text("Yes."),
        stop="end_turn",
    ),
    "a fallback to another model, which cancels a call": _message(
        _tool_use("get_time", "", '{"zo'),
        ({"type": "fallback", "from": {"model": "m"}, "to": {"model": "n"}}, []),
        _tool_use("get_time", "", '{"zone": "UTC"}', identity="toolu_2"),
    ),
    "pings between all events, and the usage twice": [
        event
        for one in _message(_tool_use("get_time", "", '{"zone": "UTC"}'))
        for event in (one, *([one, {"type": "ping"}] if one["type"] in {"message_delta", "ping"} else []))
    ],
    "a stop sequence": _message(_text("1, 2"), stop="stop_sequence", stop_sequence="3"),
    "a refusal": _message(_text("I"), stop="refusal"),
    "truncated text": _message(_text("Once"), stop="max_tokens"),
    "no content": _message(stop="end_turn"),
}


# Cohere


def _at(kind: str, index: int | None = None, message: Payload | None = None, **more: Any) -> Payload:
    place = {} if index is None else {"index": index}
    return {"type": kind, **place, **({} if message is None else {"delta": {"message": message}}), **more}


def _call(index: int, name: str, *parts: str) -> Events:
    entry = {"id": f"{name}_{index}", "type": "function", "function": {"name": name, "arguments": ""}}
    return [
        _at("tool-call-start", index, {"tool_calls": entry}),
        *(_at("tool-call-delta", index, {"tool_calls": {"function": {"arguments": part}}}) for part in parts),
        _at("tool-call-end", index),
    ]


def _content(index: int, *parts: str, kind: str = "text") -> Events:
    return [
        _at("content-start", index, {"content": {"type": kind, kind: ""}}),
        *(_at("content-delta", index, {"content": {kind: part}}) for part in parts),
        _at("content-end", index),
    ]


def _cohere(*events: Payload, finish: str = "TOOL_CALL") -> Events:
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    count = {"input_tokens": 1, "output_tokens": 2}
    usage = {"billed_units": count, "tokens": count}
    return [
        {"id": "m1", "type": "message-start", "delta": {"message": message}},
        *events,
        {"type": "message-end", "delta": {"finish_reason": finish, "usage": usage}},
    ]


_PLAN: Final = [_at("tool-plan-delta", None, {"tool_plan": part}) for part in ("I will", " look é😀.")]
_CITATION: Final = {"start": 0, "end": 2, "text": "It", "sources": [{"type": "tool", "id": "t:0", "tool_output": {}}]}
COHERE: Final[dict[str, Events]] = {
    "a plan, then parallel calls": _cohere(
        *_PLAN, *_call(0, "get_weather", '{"city":', '"Oslo"}'), *_call(1, "get_time", '{"zone":"UTC"}')
    ),
    "a call without parameters": _cohere(*_PLAN, *_call(0, "ping", "{}")),
    "thinking, then text with citations": _cohere(
        *_content(0, "Hm", kind="thinking"),
        *_content(1, "It", " is")[:2],
        _at("citation-start", 0, {"citations": _CITATION}),
        _at("citation-end", 0),
        *_content(1, "It", " is")[2:],
        finish="COMPLETE",
    ),
    "truncated text": _cohere(*_content(0, "Once"), finish="MAX_TOKENS"),
    "a stop sequence": _cohere(*_content(0, "Once"), finish="STOP_SEQUENCE"),
}


# Bedrock


def _block(index: int, start: Payload | None, *deltas: Payload) -> Events:
    place = {"contentBlockIndex": index}
    return [
        *([] if start is None else [{"contentBlockStart": {**place, "start": start}}]),
        *({"contentBlockDelta": {**place, "delta": one}} for one in deltas),
        {"contentBlockStop": place},
    ]


def _tool(index: int, name: str, *parts: str, **more: Any) -> Events:
    start = {"toolUse": {"toolUseId": f"tooluse_{name}_{index}", "name": name, **more}}
    return _block(index, start, *({"toolUse": {"input": part}} for part in parts))


def _converse(*events: Payload, stop: str = "tool_use", **more: Any) -> Events:
    count = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3, "cacheReadInputTokens": 0}
    ending = {"messageStop": {"stopReason": stop, **more}}
    return [
        {"messageStart": {"role": "assistant"}},
        *events,
        ending,
        {"metadata": {"usage": count, "metrics": {"latencyMs": 9}}},
    ]


BEDROCK: Final[dict[str, Events]] = {
    "reasoning, then parallel calls": _converse(
        *_block(0, None, {"reasoningContent": {"text": "Hm"}}, {"reasoningContent": {"signature": "c2ln"}}),
        *_block(1, None, {"text": "Let me"}, {"text": " look é😀."}),
        *_tool(2, "get_weather", '{"city":', '"Oslo"}'),
        *_tool(3, "get_time", "", '{"zone":"UTC"}'),
    ),
    "redacted reasoning": _converse(
        *_block(0, None, {"reasoningContent": {"redactedContent": "ZW5j"}}),
        *_tool(1, "ping", ""),
    ),
    "a call without parameters": _converse(*_tool(0, "ping")),
    "citations": _converse(
        *_block(0, None, {"text": "So"}, {"citation": {"title": "t", "sourceContent": [{"text": "c"}]}}),
        stop="end_turn",
    ),
    "a server tool": _converse(
        *_tool(0, "nova_grounding", '{"q":"x"}', type="server_tool_use"),
        *_block(
            1,
            {"toolResult": {"toolUseId": "t1", "type": "nova_grounding_result", "status": "success"}},
            {"toolResult": [{"json": {}}]},
        ),
        *_block(2, None, {"text": "So."}),
        stop="end_turn",
    ),
    "an image": _converse(
        *_block(0, {"image": {"format": "png"}}, {"image": {"source": {"bytes": "aGk="}}}), stop="end_turn"
    ),
    "a guardrail": _converse(
        *_block(0, None, {"text": "No."}), stop="guardrail_intervened", additionalModelResponseFields={"a": 1}
    ),
    "truncated text": _converse(*_block(0, None, {"text": "Once"}), stop="max_tokens"),
}


# Gemini Interactions


def _steps(*steps: tuple[Payload, Events], status: str = "requires_action", **more: Any) -> Events:
    """Return the events of steps: each the content of its start, and its deltas."""
    head: Payload = {"id": "v1_1", "object": "interaction", "model": "m"}
    events: Events = [
        {"interaction": {**head, "status": "in_progress"}, "event_type": "interaction.created", "event_id": "e1"},
        {"interaction_id": "v1_1", "status": "in_progress", "event_type": "interaction.status_update"},
    ]
    for at, (step, deltas) in enumerate(steps):
        events.append({"index": at, "step": step, "event_type": "step.start"})
        events += [{"index": at, "delta": one, "event_type": "step.delta"} for one in deltas]
        events.append({"index": at, "event_type": "step.stop"})
    ending = {**head, "status": status, "usage": {"total_tokens": 9}, "created": "2026-05-12T17:24:26Z", **more}
    return [*events, {"interaction": ending, "event_type": "interaction.completed"}]


def _function(name: str, *parts: str, identity: str = "ktr5aysg", **more: Any) -> tuple[Payload, Events]:
    step = {"id": identity, "type": "function_call", "name": name, "arguments": {}, **more}
    return step, [{"arguments": part, "type": "arguments_delta"} for part in parts]


def _output(*parts: str) -> tuple[Payload, Events]:
    return {"type": "model_output"}, [{"text": part, "type": "text"} for part in parts]


def _search(kind: str, **fields: Any) -> tuple[Payload, Events]:
    step: Payload = {"signature": "", "type": kind}
    step |= {key: fields.pop(key) for key in ("id", "call_id") if key in fields}
    return step, [{"signature": "c2ln", "type": kind, **fields}]


_THOUGHT: Final[tuple[Payload, Events]] = (
    {"type": "thought"},
    [
        {"content": {"text": "Hm é😀", "type": "text"}, "type": "thought_summary"},
        {"signature": "c2ln", "type": "thought_signature"},
    ],
)
_TEXT: Final[Payload] = {"type": "text", "text": "Once"}
_NOTED: Final[Payload] = {"annotations": [], "type": "text_annotation_delta"}
INTERACTIONS: Final[dict[str, Events]] = {
    "a thought, then parallel calls": _steps(
        _THOUGHT,
        _output("Let", " me look."),
        _function("get_weather", '{"city":', ' "Oslo"}', signature="c2ln"),
        _function("get_time", '{"zone": "UTC"}', identity="un6k8t18"),
    ),
    "a call without parameters": _steps(_function("ping")),
    "a call without parameters, with an object": _steps(_function("ping", "{}")),
    "a search by the provider, then a call": _steps(
        _search("google_search_call", id="mk", arguments={"queries": ["q"]}),
        _search("google_search_result", call_id="mk", is_error=False),
        _function("get_weather", '{"city": "Oslo"}'),
    ),
    "code that the provider runs": _steps(
        _search("code_execution_call", id="c", arguments={"language": "python", "code": "1"}),
        _search("code_execution_result", call_id="c", result="1"),
        _output("1"),
        status="completed",
    ),
    "an MCP server": _steps(
        (
            {"type": "mcp_server_tool_call", "id": "c", "name": "echo", "server_name": "s", "arguments": {}},
            [{"type": "mcp_server_tool_call", "name": "echo", "server_name": "s", "arguments": {"a": 1}}],
        ),
        ({"type": "mcp_server_tool_result", "call_id": "c"}, [{"type": "mcp_server_tool_result", "result": "1"}]),
        _output("1"),
        status="completed",
    ),
    "a function that an agent runs": _steps(
        _function("get_time", '{"zone": "UTC"}'),
        ({"type": "function_result", "call_id": "ktr5aysg"}, [{"type": "function_result", "result": "12:00"}]),
        _output("Noon."),
        status="completed",
    ),
    "text in the start of a step": _steps(
        ({"type": "thought", "summary": [_TEXT], "signature": ""}, []),
        ({"type": "model_output", "content": [_TEXT]}, [_TEXT, _NOTED]),
        status="completed",
    ),
    "an image": _steps(
        ({"type": "model_output"}, [{"type": "image", "mime_type": "image/png", "data": "aGk="}]), status="completed"
    ),
    "truncated text": _steps(_output("Once"), status="incomplete"),
    "text that a further request continues": _steps(
        _output("Once"), status="requires_continuation", continuation_token="dG9r"
    ),
    "a background run that is cancelled": _steps(status="cancelled"),
    "the usage of each step": [
        {**one, **({"usage": {"total_tokens": 4}, "step_usage": {}} if one["event_type"] == "step.stop" else {})}
        for one in _steps(_function("get_time", '{"zone": "UTC"}'))
    ],
}
