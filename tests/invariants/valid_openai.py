"""Valid streams of Chat Completions and Responses.

https://platform.openai.com/docs/api-reference/chat-streaming
https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

type Payload = dict[str, Any]
type Events = list[Payload]

_CHUNK: Final = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
_TAIL: Final = {"service_tier": "default", "system_fingerprint": "fp_1"}


# Chat Completions


def _choice(delta: Payload, finish: str | None = None, index: int = 0, **more: Any) -> Payload:
    return {"index": index, "delta": delta, **more, "finish_reason": finish}


def _chunk(*choices: Payload, **more: Any) -> Payload:
    return {**_CHUNK, **_TAIL, "choices": [*choices], **more}


def _entry(index: int, arguments: str, name: str = "", **more: Any) -> Payload:
    if not name:
        return {"index": index, "function": {"arguments": arguments}, **more}
    identity = f"call_{name}_{index}"
    return {
        "index": index,
        "id": identity,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
        **more,
    }


def _calls(*entries: Payload, **more: Any) -> Payload:
    return {"tool_calls": [*entries], **more}


def _chat(*chunks: Payload, usage: bool = True) -> Events:
    count = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    return [*chunks, *([_chunk(usage=count)] if usage else [])]


_ROLE: Final = _chunk(_choice({"role": "assistant", "content": None, "refusal": None}, logprobs=None))
_FINISH: Final = _chunk(_choice({}, "tool_calls"))


def _logprobs(token: str) -> Payload:
    return {
        "content": [{"token": token, "logprob": -0.1, "bytes": [*token.encode()], "top_logprobs": []}],
        "refusal": None,
    }


def _custom(index: int, text: str, name: str = "") -> Payload:
    if not name:
        return {"index": index, "custom": {"input": text}}
    return {"index": index, "id": f"call_{index}", "type": "custom", "custom": {"name": name, "input": text}}


CHAT: Final[dict[str, Events]] = {
    "text and logprobs": _chat(
        _ROLE,
        *(_chunk(_choice({"content": one}, logprobs=_logprobs(one))) for one in ("Let", " me", " é😀")),
        _chunk(_choice({}, "stop", logprobs=None)),
    ),
    "a refusal": _chat(
        _ROLE,
        *(_chunk(_choice({"refusal": one}, logprobs=None)) for one in ("I", " cannot")),
        _chunk(_choice({}, "stop")),
    ),
    "two choices, interleaved": _chat(
        *(_chunk(_choice({"role": "assistant", "content": None}, index=at)) for at in (0, 1)),
        *(_chunk(_choice(_calls(_entry(0, "", "get_weather")), index=at)) for at in (0, 1)),
        *(_chunk(_choice(_calls(_entry(0, part)), index=at)) for part in ('{"city":', '"Oslo"}') for at in (0, 1)),
        *(_chunk(_choice({}, "tool_calls", index=at)) for at in (1, 0)),
    ),
    "two choices, one of text": _chat(
        _chunk(_choice({"role": "assistant", "content": ""}), _choice({"role": "assistant", "content": ""}, index=1)),
        _chunk(_choice({"content": "No."}, index=1)),
        _chunk(_choice(_calls(_entry(0, '{"zone":"UTC"}', "get_time")))),
        _chunk(_choice({}, "stop", index=1)),
        _FINISH,
    ),
    "parallel calls, interleaved": _chat(
        _ROLE,
        _chunk(_choice(_calls(_entry(0, "", "get_weather"), _entry(1, "", "get_time")))),
        _chunk(_choice(_calls(_entry(0, '{"city":'), _entry(1, '{"zone":')))),
        _chunk(_choice(_calls(_entry(1, '"UTC"}')))),
        _chunk(_choice(_calls(_entry(0, '"Oslo"}')))),
        _FINISH,
    ),
    "text, then a call": _chat(
        _ROLE,
        _chunk(_choice({"content": "Let me look."})),
        _chunk(_choice(_calls(_entry(0, "", "ping")))),
        _chunk(_choice(_calls(_entry(0, "{}")))),
        _FINISH,
    ),
    "a custom tool": _chat(
        _ROLE,
        _chunk(_choice(_calls(_custom(0, "", "apply_patch")))),
        *(_chunk(_choice(_calls(_custom(0, one)))) for one in ("*** Begin", " Patch\n", "{}")),
        _FINISH,
    ),
    "a custom tool beside a function": _chat(
        _ROLE,
        _chunk(_choice(_calls(_custom(0, "", "apply_patch")))),
        _chunk(_choice(_calls(_custom(0, '{"a":')))),
        _chunk(_choice(_calls(_entry(1, "", "get_time")))),
        _chunk(_choice(_calls(_entry(1, '{"zone":"UTC"}')))),
        _FINISH,
    ),
    "audio": _chat(
        _chunk(_choice({"role": "assistant", "content": None, "audio": {"id": "audio_1", "transcript": "Hi"}})),
        _chunk(_choice({"audio": {"data": "UklGRg=="}})),
        _chunk(_choice({"audio": {"expires_at": 1}})),
        _chunk(_choice({}, "stop")),
    ),
    "reasoning and a signature": _chat(
        _ROLE,
        _chunk(_choice({"reasoning_content": "Hm", "content": None})),
        _chunk(_choice({"reasoning": "Hm", "reasoning_details": [{"type": "reasoning.encrypted", "data": "c2ln"}]})),
        _chunk(
            _choice(
                _calls(
                    _entry(0, '{"city":"Oslo"}', "get_weather", extra_content={"google": {"thought_signature": "c2ln"}})
                )
            )
        ),
        _FINISH,
    ),
    "padding and annotations": _chat(
        _chunk(_choice({"role": "assistant", "content": ""}), obfuscation="a1b2"),
        _chunk(_choice({"content": "See", "annotations": [{"type": "url_citation", "url_citation": {"url": "u"}}]})),
        _chunk(_choice({"content": " there."}), obfuscation=""),
        _chunk(_choice({}, "stop"), obfuscation="zz"),
    ),
    "filter results first, without choices": _chat(
        {
            "id": "",
            "object": "",
            "created": 0,
            "model": "",
            "choices": [],
            "prompt_filter_results": [{"prompt_index": 0}],
        },
        _chunk(_choice({"role": "assistant", "content": ""}, content_filter_results={})),
        _chunk(_choice(_calls(_entry(0, "", "get_weather")), content_filter_results={})),
        _chunk(_choice(_calls(_entry(0, '{"city":"Oslo"}')), content_filter_results={})),
        _chunk(_choice({}, "tool_calls", content_filter_results={})),
    ),
    "usage in every chunk": _chat(
        *({**one, "usage": None} for one in (_ROLE, _chunk(_choice(_calls(_entry(0, "{}", "ping")))), _FINISH))
    ),
    "logprobs of a call": _chat(
        _ROLE,
        _chunk(_choice(_calls(_entry(0, "", "get_time")), logprobs=_logprobs("{"))),
        _chunk(_choice({}, logprobs=None)),
        _chunk(_choice(_calls(_entry(0, '{"zone":"UTC"}')), logprobs=_logprobs("x"))),
        _FINISH,
    ),
    "the legacy function_call": _chat(
        _ROLE,
        _chunk(_choice({"function_call": {"name": "get_time", "arguments": ""}})),
        _chunk(_choice({"function_call": {"arguments": '{"zone":"UTC"}'}})),
        _chunk(_choice({}, "function_call")),
    ),
    "the finish reason is length": _chat(
        _ROLE, _chunk(_choice({"content": "Once"})), _chunk(_choice({}, "length")), usage=False
    ),
    "the finish reason is content_filter": _chat(
        _ROLE, _chunk(_choice({"content": "Once"})), _chunk(_choice({}, "content_filter")), usage=False
    ),
    "a named tool, finished with stop": _chat(
        _ROLE,
        _chunk(_choice(_calls(_entry(0, "", "get_time")))),
        _chunk(_choice(_calls(_entry(0, '{"zone":"UTC"}')))),
        _chunk(_choice({}, "stop")),
    ),
}


# Responses


def _numbered(events: Iterable[Payload]) -> Events:
    return [{**one, "sequence_number": at} for at, one in enumerate(events)]


def _response(status: str, output: Events, **more: Any) -> Payload:
    head: Payload = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status}
    return {**head, "error": None, "incomplete_details": None, "output": output, "usage": None, **more}


def _responses(*items: tuple[Payload, Events, Payload], end: str = "completed", **more: Any) -> Events:
    """Return the events of items: each the added item, its events, and the completed item."""
    events: Events = [
        {"type": "response.created", "response": _response("in_progress", [])},
        {"type": "response.in_progress", "response": _response("in_progress", [])},
    ]
    for at, (added, inner, done) in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": at, "item": added})
        events += [{**one, "item_id": added["id"], "output_index": at} for one in inner]
        events.append({"type": "response.output_item.done", "output_index": at, "item": done})
    output = [done for _, _, done in items]
    return _numbered([*events, {"type": f"response.{end}", "response": _response(end, output, **more)}])


def _item(kind: str, events: Iterable[str | Payload], added: Payload, done: Payload) -> tuple[Payload, Events, Payload]:
    """Return an item of the type `kind` and its events, given as names or as names with fields."""
    identity = f"{kind[:3]}_{json.dumps(done, sort_keys=True)[-9:-3].encode().hex()}"
    head = {"id": identity, "type": kind}
    inner = [{"type": f"response.{one}"} if isinstance(one, str) else one for one in events]
    return {**head, "status": "in_progress", **added}, inner, {**head, "status": "completed", **done}


def _event(event: str, **more: Any) -> Payload:
    return {"type": f"response.{event}", **more}


def _function(name: str, *parts: str, **more: Any) -> tuple[Payload, Events, Payload]:
    call, text = {"call_id": f"call_{name}", "name": name, **more}, "".join(parts)
    deltas = [_event("function_call_arguments.delta", delta=part, obfuscation="x1") for part in parts]
    events = [*deltas, _event("function_call_arguments.done", arguments=text)]
    return _item("function_call", events, {**call, "arguments": ""}, {**call, "arguments": text})


def _text(*events: Payload, text: str = "Hi é😀", **more: Any) -> tuple[Payload, Events, Payload]:
    place, part = {"content_index": 0}, {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    inner = [
        _event("content_part.added", **place, part={**part, "text": ""}),
        _event("output_text.delta", **place, delta=text, logprobs=[]),
        *events,
        _event("output_text.done", **place, text=text, logprobs=[]),
        _event("content_part.done", **place, part=part),
    ]
    return _item(
        "message", inner, {"role": "assistant", "content": [], **more}, {"role": "assistant", "content": [part], **more}
    )


def _run(kind: str, *steps: str, **done: Any) -> tuple[Payload, Events, Payload]:
    return _item(kind, [f"{kind}.{step}" for step in steps], {}, done)


_REASONING: Final = _item(
    "reasoning",
    [
        _event("reasoning_summary_part.added", summary_index=0, part={"type": "summary_text", "text": ""}),
        _event("reasoning_summary_text.delta", summary_index=0, delta="Hm", obfuscation="q"),
        _event("reasoning_summary_text.done", summary_index=0, text="Hm"),
        _event("reasoning_summary_part.done", summary_index=0, part={"type": "summary_text", "text": "Hm"}),
        _event("reasoning_text.delta", content_index=0, delta="Hm"),
        _event("reasoning_text.done", content_index=0, text="Hm"),
    ],
    {"summary": [], "encrypted_content": "gAAA"},
    {"summary": [{"type": "summary_text", "text": "Hm"}], "encrypted_content": "gAAAB"},
)
RESPONSES: Final[dict[str, Events]] = {
    "reasoning, then parallel calls": _responses(
        _REASONING, _function("get_weather", '{"city":', '"Oslo"}'), _function("get_time", '{"zone":"UTC"}')
    ),
    "a call without parameters": _responses(_function("ping", "{}")),
    "text with annotations": _responses(
        _text(
            _event(
                "output_text.annotation.added",
                content_index=0,
                annotation_index=0,
                annotation={"type": "url_citation", "start_index": 0, "end_index": 2, "url": "u", "title": "t"},
            )
        )
    ),
    "a refusal": _responses(
        _item(
            "message",
            [
                _event("content_part.added", content_index=0, part={"type": "refusal", "refusal": ""}),
                _event("refusal.delta", content_index=0, delta="No"),
                _event("refusal.done", content_index=0, refusal="No"),
                _event("content_part.done", content_index=0, part={"type": "refusal", "refusal": "No"}),
            ],
            {"role": "assistant", "content": []},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No"}]},
        )
    ),
    "searches": _responses(
        _run("web_search_call", "in_progress", "searching", "completed", action={"type": "search", "query": "q"}),
        _run("file_search_call", "in_progress", "searching", "completed", queries=["q"], results=None),
        _text(phase="final_answer"),
    ),
    "a code interpreter": _responses(
        _item(
            "code_interpreter_call",
            [
                "code_interpreter_call.in_progress",
                _event("code_interpreter_call_code.delta", delta="print("),
                _event("code_interpreter_call_code.delta", delta="1)"),
                _event("code_interpreter_call_code.done", code="print(1)"),
                "code_interpreter_call.interpreting",
                "code_interpreter_call.completed",
            ],
            {"code": "", "container_id": "cntr_1", "outputs": None},
            {"code": "print(1)", "container_id": "cntr_1", "outputs": []},
        ),
        _text(),
    ),
    "an image": _responses(
        _item(
            "image_generation_call",
            [
                "image_generation_call.in_progress",
                "image_generation_call.generating",
                _event("image_generation_call.partial_image", partial_image_index=0, partial_image_b64="aGk="),
                "image_generation_call.completed",
            ],
            {},
            {"result": "aGk="},
        )
    ),
    "an MCP server": _responses(
        _item(
            "mcp_list_tools",
            ["mcp_list_tools.in_progress", "mcp_list_tools.completed"],
            {"server_label": "s", "tools": []},
            {"server_label": "s", "tools": [{"name": "roll", "input_schema": {"type": "object"}}]},
        ),
        _item(
            "mcp_call",
            [
                "mcp_call.in_progress",
                _event("mcp_call_arguments.delta", delta='{"n":2}', obfuscation="a"),
                _event("mcp_call_arguments.done", arguments='{"n":2}'),
                "mcp_call.completed",
            ],
            {"name": "roll", "server_label": "s", "arguments": ""},
            {"name": "roll", "server_label": "s", "arguments": '{"n":2}', "output": "7", "error": None},
        ),
        _text(),
    ),
    "a custom tool": _responses(
        _item(
            "custom_tool_call",
            [
                _event("custom_tool_call_input.delta", delta="*** Begin"),
                _event("custom_tool_call_input.delta", delta=" Patch"),
                _event("custom_tool_call_input.done", input="*** Begin Patch"),
            ],
            {"call_id": "call_1", "name": "apply_patch", "input": ""},
            {"call_id": "call_1", "name": "apply_patch", "input": "*** Begin Patch"},
        )
    ),
    "a local shell and a computer": _responses(
        _item(
            "local_shell_call",
            [],
            {"call_id": "call_1", "action": {"type": "exec", "command": ["ls"], "env": {}}},
            {"call_id": "call_1", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        ),
        _item(
            "computer_call",
            [],
            {"call_id": "call_2", "action": {"type": "click", "x": 1, "y": 2}, "pending_safety_checks": []},
            {"call_id": "call_2", "action": {"type": "click", "x": 1, "y": 2}, "pending_safety_checks": []},
        ),
    ),
    "a hosted shell and a patch": _responses(
        _item(
            "shell_call",
            [],
            {"call_id": "call_1", "action": {"commands": ["ls"], "timeout_ms": 1}},
            {"call_id": "call_1", "action": {"commands": ["ls"], "timeout_ms": 1}},
        ),
        _item(
            "apply_patch_call",
            [
                _event("apply_patch_call_operation_diff.delta", delta="+x"),
                _event("apply_patch_call_operation_diff.done", diff="+x"),
            ],
            {"call_id": "call_2", "operation": {"type": "create_file", "path": "a", "diff": ""}},
            {"call_id": "call_2", "operation": {"type": "create_file", "path": "a", "diff": "+x"}},
        ),
    ),
    "a search for tools": _responses(
        _item(
            "tool_search_call",
            [],
            {"call_id": None, "arguments": {}, "execution": "server"},
            {"call_id": None, "arguments": {"paths": ["time"]}, "execution": "server"},
        ),
        _item("tool_search_output", [], {"tools": []}, {"tools": []}),
        _function("get_time", '{"zone":"UTC"}'),
    ),
    "a call in a namespace": _responses(_function("search", '{"q":1}', namespace="mcp__s")),
    "text that is cut off": _responses(_text(), end="incomplete", incomplete_details={"reason": "max_output_tokens"}),
}
