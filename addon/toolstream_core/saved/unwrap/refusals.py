"""Kinds of files without a stream, and which file to give instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

CODE: Final = re.compile(
    r"\s*(?:import \w|from [\w.]+ import |(?:async )?def \w|class \w|return\b|assert\b|package \w|#include |use \w+::"
    r"|(?:export )?(?:const|let|var) \w+|(?:export |async )*function[ *(]|(?:pub )?fn \w|func [\w(]"
    r"|(?:public|private|static) |expect\(|(?:it|test|describe)\()"
)
"""A line of source code."""
_QUOTED: Final = 2
"""The minimum number of lines of source code in a source text, which may quote anything."""
_NO_SSE: Final = r"^(?!\W*(?:data|event): ).*"
"""The beginning of a line that is no event: an API that toolstream does not read may use the same words in events."""
_HAR: Final = "export the session as HAR and inspect that file"
_RECORD: Final = "Record the stream with `toolstream run --capture DIR -- COMMAND`"

CUT: Final = "holds events that were printed in part"
FAILED: Final = "holds the provider's error, and no stream: the request failed"
BINARY: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x0a\x0d\x0d\x0a", "is a packet capture (pcapng): use Wireshark's “Follow HTTP Stream” and save it as text"),
    (b"\xd4\xc3\xb2\xa1", "is a packet capture (pcap): use Wireshark's “Follow HTTP Stream” and save it as text"),
    (b"\xa1\xb2\xc3\xd4", "is a packet capture (pcap): use Wireshark's “Follow HTTP Stream” and save it as text"),
    (b"PK\x03\x04", f"is a ZIP archive, such as a session of Charles, Proxyman or Fiddler: {_HAR}"),
    (b"\xac\xed\x00\x05", f"is a binary session, such as Charles saves it (.chls): {_HAR}"),
    (b"bplist00", f"is a binary property list, such as Proxyman saves it: {_HAR}"),
    (b"SQLite format 3\x00", f"is an SQLite database, such as a tool's history: {_HAR}"),
    (b"%PDF-", "is a PDF document: copy the text of the stream into a file"),
    (b"\x89PNG", "is a picture: copy the text of the stream into a file"),
    (b"\xff\xd8\xff", "is a picture: copy the text of the stream into a file"),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd: unpack it with `unzstd` first"),
    (b"BZh", "is compressed by bzip2: unpack it with `bunzip2` first"),
    (b"\xfd7zXZ\x00", "is compressed by xz: unpack it with `unxz` first"),
)
"""First bytes, and the sentence."""

PARTLY: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(r'\A\s*\{\s*"constants"\s*:\s*\{'),
        "is a net log of Chrome: save the request as HAR with content in its DevTools",
    ),
    (
        re.compile(r"^\d\d:\d\d:\d\d\.\d+ IP6? .*: Flags \[", re.MULTILINE),
        (
            "is tcpdump's output, with the packets' headers between the data: write a capture with `tcpdump -w` and use"
            " Wireshark's “Follow HTTP Stream”"
        ),
    ),
    (
        re.compile(r'"layers"\s*:\s*\{\s*"(?:frame|eth|ip|tcp)'),
        "is tshark's output packet by packet: use `tshark -q -z follow,http,ascii,0 -r FILE`",
    ),
    (
        re.compile(r"< (?:TEXT|BINARY|CONT) .{48}\.\.\..{24} \[(?:\w+, )?\d+ bytes"),
        (
            "is the log of Python's websockets, which prints long messages in part: log again with"
            " WEBSOCKETS_MAX_LOG_SIZE=10000000"
        ),
    ),
    (
        re.compile(r'^data: ?\{"output"\s*:\s*\{"(?:choices|text)"\s*:', re.MULTILINE),
        "is a stream of DashScope's own API (its OpenAI-compatible one is read), which toolstream does not read",
    ),
    (re.compile(r"\binterface \{\}[{(]"), "holds values in Go's notation. Print them as JSON: json.Marshal(chunk)"),
    (
        re.compile(r"""^[ -]+data: (?:'(?:[^']|'')*|"(?:[^"\\]|\\.)*\\?)$""", re.MULTILINE),
        "is YAML whose texts go over several lines. Convert it to JSON, for example with `yq -o json FILE`",
    ),
)
"""Forms of which only some events would be found. They are refused for any other content of a file."""

RECORDS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(r'"type"\s*:\s*"(?:session_meta|response_item|turn_context)"'),
        (
            "is a Codex rollout: it holds finished items, not the stream. Record the stream with"
            " `toolstream run --capture DIR -- codex …`"
        ),
    ),
    (
        re.compile(
            r'"(?:sessionId|session_id)"\s*:.*"type"\s*:\s*"(?:user|assistant|system)"'
            r'|"type"\s*:\s*"(?:user|assistant|system)".*"(?:sessionId|session_id)"\s*:'
        ),
        (
            "is a Claude Code transcript: it holds finished messages, not the stream. Use"
            " `claude -p --output-format stream-json --include-partial-messages`, or record the stream with"
            " `toolstream run --capture DIR -- claude …`"
        ),
    ),
    (
        re.compile(r'"op_name"\s*:\s*"weave:|"span_attributes"\s*:'),
        f"is an export of a tracing tool: it holds finished messages, not the stream. {_RECORD}",
    ),
)
"""Records of agents, which split a message into several, and of tracing tools, which assemble one."""

_OTHER_APIS: Final = {
    "the Assistants API": r"thread\.(?:run|message)\.(?:step\.)?(?:created|delta|in_progress)",
    "Gemini's Interactions API before May 2026": r'"event_type"\s*:\s*"(?:interaction\.(?:start|complete)"|content\.)',
    "Baidu's own API for ERNIE (its OpenAI-compatible one is read)": r'^data: ?\{[^\n]*"is_end"\s*:\s*(?:true|false)',
    "OCI Generative AI's own API": r'^data: ?\{"index"\s*:\s*\d+,\s*"message"\s*:\s*\{"role"\s*:\s*"ASSISTANT"',
    "Mistral's Conversations API": r'"type"\s*:\s*"(?:conversation\.response\.started|function\.call\.delta)"',
    "Cohere's Chat API of version 1": r'"event_type"\s*:\s*"(?:stream-start|text-generation|tool-calls-\w+)"',
    "Cloudflare Workers AI": r'^data: ?\{"response"\s*:[^\n]*"(?:p|tool_calls|usage)"\s*:',
    "Snowflake Cortex": r'"delta"\s*:\s*\{[^{}]*"type"\s*:\s*"(?:text|tool_use)"[^{}]*"(?:text|content_list)"\s*:',
    "Tencent Hunyuan's own API (its OpenAI-compatible one is read)": r'"Choices"\s*:\s*\[\s*\{[^\n]*"Delta"\s*:',
    "Text Generation Inference's /generate_stream": r'"token"\s*:\s*\{"id"[^\n]*"generated_text"\s*:',
    "watsonx's text generation": r'"results"\s*:\s*\[\s*\{"generated_text"\s*:',
    "Dify": (
        r'^data: ?\{"event"\s*:\s*"(?:agent_\w+|message|workflow_started)"[^\n]*'
        r'"(?:conversation_id|message_id|workflow_run_id)"\s*:'
    ),
    "Replicate": r"\Aevent: output\nid: \d+:\d+$",
    "LM Studio's own API (its OpenAI-compatible one is read)": r"^event: (?:chat\.(?:start|end)|tool_call\.\w+)$",
    "LangGraph's server": r"^event: messages/(?:partial|complete|metadata)$",
    "Ollama's /api/generate": r'^\{"model"\s*:[^\n]*"response"\s*:[^\n]*"done"\s*:',
    "the Completions API": r'"object"\s*:\s*"text_completion"',
}
"""APIs that toolstream does not read, and the marks that only their events have."""

TEXT: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    *RECORDS,
    *(
        (re.compile(form, re.MULTILINE), f"is a stream of {api}, which toolstream does not read")
        for api, form in _OTHER_APIS.items()
    ),
    (
        re.compile(r"\.\.\. \d+ more (?:bytes>|items)"),
        "holds buffers of which only the first bytes were printed: print chunk.toString()",
    ),
    (
        re.compile(r"\[object Object\]"),
        "holds objects that were printed without their content: print JSON.stringify(chunk)",
    ),
    (
        re.compile(
            r"""type["']?\s*:\s*["'](?:tool-input-(?:start|delta|available)|tool-call|text-start|start-step|stream-start)["']"""
            r'|^[0-9a-f]:(?:\{"(?:messageId|toolCallId|finishReason)"|")',
            re.MULTILINE,
        ),
        f"holds the AI SDK's own stream, which it makes from the provider's. {_RECORD}",
    ),
    (
        re.compile(r'"type"\s*:\s*"(?:RUN_STARTED|TEXT_MESSAGE_\w+|TOOL_CALL_(?:START|ARGS))"'),
        f"holds AG-UI events, which a client makes from the provider's stream. {_RECORD}",
    ),
    (
        re.compile(
            _NO_SSE
            + r'(?:"type"\s*:\s*"(?:thread\.started|function_call(?:_output)?)"|"(?:callID|tool_id|toolCallId)"\s*:)',
            re.MULTILINE,
        ),
        f"holds the messages or events of a client, not the provider's stream. {_RECORD}",
    ),
    (
        re.compile(
            r"tool_call_chunks=|'type': 'tool_call_chunk'"
            r"|\b(?:AIMessage|AIMessageChunk|HumanMessage|ToolCallPart|ToolCallPartDelta|PartStartEvent"
            r"|StreamingChatMessageContent|FunctionCallContent|ChatMessageStreamDelta)\(|ChatMessage\(role="
            r"|type='ToolCall\w+Event'|ChatResponse \[metadata="
        ),
        f"holds the objects of a framework, not the stream of the provider. {_RECORD}",
    ),
    (
        re.compile(r"\(streaming delta\): output: '"),
        f"is vLLM's log of the generated text, not the stream of the server. {_RECORD}",
    ),
    (
        re.compile(r"GenerateContentResponse\(|candidates=\[\s*Candidate\(|<dict len=\d+>"),
        "holds printed objects of google-genai. Print `chunk.model_dump_json(by_alias=True, exclude_none=True)`",
    ),
    (
        re.compile(
            r"(?:(?<![\\\"'\w])[Oo]bject|\"Object\"|\"object\"\]?\s*=>)(?:string|len|\W|\d){1,30}chat\.completion\.chunk\b"
            r"|ChatCompletionChunk[{(]id=[^'\"]|\bToolCall[{\[]index=\d|candidates \{\s*content \{"
            r"|(?<!event)(?:=>?|:)\s*(?:content_block_delta|response\.output_item\.added)\b(?!['\"`])"
            r'|(?:\) "|:\w+ "|= "|>|\(")(?:content_block_delta|response\.output_item\.added|chat\.completion\.chunk)\b'
            r"|\bContentBlock(?:Start|Delta|Stop)Event\("
            r'|functionCall(?:"?\]\s*=>|:map\[|=|:\n| = \{|>|"\))|:functionCall [{(]'
        ),
        "holds events in a notation that cannot be read, or with parts left out. Print them as JSON, one on each line",
    ),
    (
        re.compile(
            r'\{ *"(?:id|type|choices|candidates)" *:.*(?:\.\.\.|…|\[truncated)[^{}"]*$|^data: ?\{ ?(?:\.\.\.|…)',
            re.MULTILINE,
        ),
        f"{CUT}. Print them in full",
    ),
    (
        re.compile(
            r"^\W*(?:\w+: *)?(?:ChoiceDelta(?:ToolCall(?:Function)?)?\(|InputJSONDelta\(|Choice\(delta="
            r"|\{[\"'](?:delta|choices|tool_calls)[\"']"
            r"|\{.*[\"']delta[\"']\s*:\s*\{.*[\"']tool_calls[\"']|\{[\"']index[\"']\s*:.*[\"']function[\"']\s*:\s*\{.*arguments)",
            re.MULTILINE,
        ),
        "holds parts of chunks. Print each chunk as JSON on a line, in Python with `print(chunk.model_dump_json())`",
    ),
    (
        re.compile(
            r'^HTTP/[\d.]+ [45]\d\d|^(?:data: )?\{"(?:type":\s*"error","error|error)"\s*:|\bError code: [45]\d\d - ',
            re.MULTILINE,
        ),
        FAILED,
    ),
    (
        re.compile(
            r'"(?:resourceSpans|resource_spans|scopeSpans|resourceLogs)"\s*:|["\'](?:gen_ai|traceloop|llm|ai\.response)\.\w'
        ),
        f"is an OpenTelemetry export: it holds finished messages, not the stream. {_RECORD}",
    ),
    (
        re.compile(
            r'"(?:traceId|trace_id)"\s*:.*"(?:observations|parentObservationId|startTime)"\s*:'
            r'|"observations"\s*:\s*\[.*"(?:traceId|type)"\s*:',
            re.DOTALL,
        ),
        f"is a Langfuse export: it holds finished messages, not the stream. {_RECORD}",
    ),
    (
        re.compile(r'"raw_request"|"LLM_request"|"run_type"\s*:\s*"llm"'),
        f"is an export of a tracing tool: it holds finished messages, not the stream. {_RECORD}",
    ),
    (re.compile(r'"bodyFileName"\s*:'), "is a WireMock mapping: give the file below __files that it names"),
    (
        re.compile(r'"type"\s*:\s*"resource-snapshot"'),
        "is a Playwright trace, without bodies: use recordHar with content: 'embed', and give the HAR file",
    ),
    (
        re.compile(r"<\?xml[^>]*>\s*<(?:!DOCTYPE charles|charles-session)|<charles-session"),
        f"is a Charles session in XML: {_HAR}",
    ),
    (re.compile(r"^\* Received [\d.]+ \w*B chunk", re.MULTILINE), f"is Insomnia's timeline, without the body: {_HAR}"),
    (
        re.compile(r"^curl(?:\.exe)? .*https?://|^\s*-H '|^fetch\(\"https?://", re.MULTILINE),
        "holds a command without its output: run it with `curl -N -i` and save what it prints",
    ),
    (re.compile(r"\A\s*(?:<!doctype html|<html\b)", re.IGNORECASE), "is an HTML page without a stream"),
    (
        re.compile(
            _NO_SSE + r"""["']role["']\s*:\s*["'](?:user|assistant|model|tool|system|developer)["']""", re.MULTILINE
        ),
        (
            f"holds the messages of a conversation, not the provider's stream. {_RECORD}. If it is the request of a"
            " saved response, give it with --request"
        ),
    ),
)
"""Marks in the first lines, and the sentence."""


def unreadable_part(head: Sequence[str]) -> str | None:
    """Why a file is refused although some of its events could be read."""
    return _why(PARTLY, head)


def transcript(head: Sequence[str]) -> str | None:
    """Why the complete messages of a file are not responses, if it is a record of an agent."""
    return _why(RECORDS, head)


def refusal(lead: bytes, head: Sequence[str]) -> str | None:
    """Why a file without a stream cannot be read, if its kind is known."""
    for mark, why in BINARY:
        if lead.startswith(mark):
            return why
    return None if sum(1 for line in head if CODE.match(line)) >= _QUOTED else _why(TEXT, head)


def _why(table: Sequence[tuple[re.Pattern[str], str]], head: Sequence[str]) -> str | None:
    text = "\n".join(head)
    return next((why for form, why in table if form.search(text)), None)
