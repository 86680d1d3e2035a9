"""Defects of the events themselves: their framing or data is malformed."""

from typing import Final

from toolstream_core.defects.defect import (
    ALL_PROTOCOLS,
    ANTHROPIC,
    ARGUMENT_KEYS,
    BEDROCK,
    BLOCK_PROTOCOLS,
    CHAT,
    COHERE,
    ERROR,
    GEMINI,
    GEMINI_INTERACTIONS,
    NOTE,
    OLLAMA,
    REALTIME,
    RESPONSES,
    SAFE,
    TYPE_KEYS,
    UNSAFE,
    WARNING,
    Defect,
)

_BLOCKS = (CHAT, RESPONSES, ANTHROPIC, GEMINI, GEMINI_INTERACTIONS, COHERE)
_STREAMED = (CHAT, RESPONSES, ANTHROPIC, GEMINI_INTERACTIONS, COHERE)
_READ_THE_REST = "reads the same calls as without it"

OVERSIZE_FRAME: Final = Defect(
    "TS001", "oversize-frame", "framing", WARNING, None, ALL_PROTOCOLS,
    "one event is larger than clients accept",
    "rejects the response with an error, and runs none of its calls",
    lossy=True,
)  # fmt: skip
UNPARSABLE_DATA: Final = Defect(
    "TS002", "unparsable-data", "framing", WARNING, None, ALL_PROTOCOLS,
    "an event's data is not valid JSON",
    "reports a broken stream; does not run a call that may lack a part",
    also=(
        "missing-id", "missing-name", "missing-type", "missing-calls", "missing-deltas",
        "short-deltas", "offset-index", "reused-index", "lost-arguments", "trailing-garbage",
        "invalid-arguments",
    ),
    lossy=True,
)  # fmt: skip
UNTERMINATED_EVENT: Final = Defect(
    "TS003", "unterminated-event", "framing", NOTE, SAFE, (*_BLOCKS, OLLAMA),
    "the last event lacks its closing blank line",
    "accepts the event anyway, or reports a truncated response",
    may_refuse=True,
)  # fmt: skip
UNREADABLE_BODY: Final = Defect(
    "TS004", "unreadable-body", "framing", ERROR, None, ALL_PROTOCOLS,
    "the body cannot be decoded to its end",
    "reports a broken stream, and runs no open call",
    lossy=True,
)  # fmt: skip
COMMENT_AS_DATA: Final = Defect(
    "TS005", "comment-as-data", "framing", WARNING, SAFE, _BLOCKS,
    "a keep-alive comment is sent as an event's data",
    _READ_THE_REST,
)  # fmt: skip
EMPTY_DATA: Final = Defect(
    "TS006", "empty-data", "framing", NOTE, SAFE, _BLOCKS,
    "an event's data is empty, or null",
    _READ_THE_REST,
)  # fmt: skip
MISSING_EVENT_NAME: Final = Defect(
    "TS007", "missing-event-name", "framing", NOTE, SAFE, (ANTHROPIC, GEMINI_INTERACTIONS, COHERE),
    "events have no event line, which many clients require",
    "uses the type in the data",
)  # fmt: skip
DATA_AFTER_END: Final = Defect(
    "TS008", "data-after-end", "framing", WARNING, SAFE, (CHAT, COHERE),
    "events follow the end of the stream",
    "ignores everything after the end",
)  # fmt: skip
BODY_NOT_STREAM: Final = Defect(
    "TS009", "body-not-stream", "framing", WARNING, None, (*_STREAMED, BEDROCK),
    "a stream was requested, but the response is one JSON body",
    "reads the JSON body, or reports an error",
    may_refuse=True,
)  # fmt: skip
MISSING_DELTA: Final = Defect(
    "TS010", "missing-delta", "framing", NOTE, SAFE, (CHAT,),
    "a choice has no delta object",
    _READ_THE_REST,
    keys=("delta",),
)  # fmt: skip
CHANGING_STREAM_ID: Final = Defect(
    "TS011", "changing-stream-id", "framing", NOTE, SAFE, (CHAT,),
    "chunks of one response have different ids",
    _READ_THE_REST,
    keys=("id",),
)  # fmt: skip
BARE_RESPONSE: Final = Defect(
    "TS012", "bare-response", "framing", WARNING, SAFE, (REALTIME, RESPONSES),
    "the first or last event has the fields of the response without the enclosing response object",
    _READ_THE_REST,
    keys=("response",),
)  # fmt: skip
SEQUENCE_NUMBERS: Final = Defect(
    "TS013", "sequence-numbers", "framing", NOTE, SAFE, (RESPONSES,),
    "sequence numbers repeat or decrease",
    "uses the order of the events",
    keys=("sequence_number",),
)  # fmt: skip
NULL_USAGE: Final = Defect(
    "TS014", "null-usage", "framing", NOTE, SAFE, (ANTHROPIC, COHERE, BEDROCK),
    "usage is null or missing where clients expect numbers",
    _READ_THE_REST,
    keys=("usage",),
)  # fmt: skip
MISSING_INPUT: Final = Defect(
    "TS015", "missing-input", "framing", NOTE, SAFE, (ANTHROPIC, GEMINI_INTERACTIONS),
    "a tool_use block starts without input, or a function_call step without arguments",
    _READ_THE_REST,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
FOREIGN_DELTA: Final = Defect(
    "TS016", "foreign-delta", "framing", WARNING, SAFE, (ANTHROPIC, GEMINI_INTERACTIONS, BEDROCK),
    "a delta has another type than its content block",
    "does not add it to the arguments of the call",
    keys=TYPE_KEYS,
)  # fmt: skip
RESTARTED_STREAM: Final = Defect(
    "TS017", "restarted-stream", "framing", ERROR, None, (REALTIME, RESPONSES, *BLOCK_PROTOCOLS),
    "the response starts again inside one stream",
    "reports a broken stream; runs no call twice",
    lossy=True,
)  # fmt: skip
TOOL_CALLS_OBJECT: Final = Defect(
    "TS018", "tool-calls-object", "framing", ERROR, SAFE, (CHAT, COHERE),
    "tool_calls is an object instead of a list, or a list instead of an object",
    "reads the entries anyway, or reports an error",
    may_refuse=True,
    keys=("tool_calls",),
)  # fmt: skip
LEGACY_FUNCTION_CALL: Final = Defect(
    "TS019", "legacy-function-call", "framing", WARNING, SAFE, (CHAT,),
    "the call is sent as function_call although tools were offered",
    "runs the call, or reports that it is unsupported",
    also=("missing-index", "missing-id", "missing-type", "foreign-finish"),
    may_refuse=True,
    keys=("function_call",),
)  # fmt: skip
SPLIT_CHOICES: Final = Defect(
    "TS020", "split-choices", "framing", WARNING, UNSAFE, (CHAT,),
    "one response is spread over two choices, text in one and calls in the other",
    "looks for calls in every choice, or reports that the first has none",
    may_refuse=True,
    keys=("choices",),
)  # fmt: skip
MISSING_HEAD: Final = Defect(
    "TS021", "missing-head", "framing", NOTE, SAFE, (RESPONSES, ANTHROPIC),
    "the response does not begin with its first event (response.created, message_start)",
    _READ_THE_REST,
)  # fmt: skip
JOINED_EVENTS: Final = Defect(
    "TS022", "joined-events", "framing", ERROR, None, _BLOCKS,
    "several events share one block: blank lines are missing, or one data line holds two JSON texts",
    "reports a broken stream, or reads each event by itself",
    also=UNPARSABLE_DATA.also,
    lossy=True,
    may_refuse=True,
)  # fmt: skip
WRONG_CONTENT_TYPE: Final = Defect(
    "TS023", "wrong-content-type", "framing", WARNING, None, ALL_PROTOCOLS,
    "the content-type header names another format than the body has",
    "reads the stream all the same, or reports an error",
    may_refuse=True,
)  # fmt: skip
MISSING_EVENT_TYPE: Final = Defect(
    "TS024", "missing-event-type", "framing", WARNING, SAFE, (RESPONSES,),
    "events have their type in the event line only, not in the data",
    "uses the event line, or reports a broken stream",
    may_refuse=True,
    keys=TYPE_KEYS,
)  # fmt: skip
MISSING_CHOICES: Final = Defect(
    "TS025", "missing-choices", "framing", NOTE, SAFE, (CHAT,),
    "a chunk has no list of choices: choices is null or missing",
    _READ_THE_REST,
    keys=("choices",),
)  # fmt: skip
