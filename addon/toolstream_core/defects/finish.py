"""Defects of how calls, turns and streams end."""

from typing import Final

from toolstream_core.defects.defect import (
    ALL_PROTOCOLS,
    ANTHROPIC,
    ARGUMENT_KEYS,
    BEDROCK,
    BLOCK_PROTOCOLS,
    CHAT,
    CHECKED_PROTOCOLS,
    COHERE,
    ERROR,
    FINISH_KEYS,
    GEMINI_INTERACTIONS,
    INDEX_KEYS,
    NOTE,
    OLLAMA,
    REALTIME,
    RESPONSES,
    SAFE,
    UNSAFE,
    WARNING,
    Defect,
)

_STREAMED = (CHAT, REALTIME, RESPONSES, ANTHROPIC, GEMINI_INTERACTIONS, COHERE)
_RUNS = "runs the received calls"

TRUNCATED_STREAM: Final = Defect(
    "TS301", "truncated-stream", "ending", ERROR, None, ALL_PROTOCOLS,
    "the body ends before the response is complete",
    "reports a truncated response; runs no incomplete call",
    also=("cut-off-call",),
    lossy=True,
)  # fmt: skip
CUT_OFF_CALL: Final = Defect(
    "TS302", "cut-off-call", "ending", ERROR, SAFE, ALL_PROTOCOLS,
    "the arguments of a call are incomplete",
    "does not run the call",
    lossy=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
UNTERMINATED_BODY: Final = Defect(
    "TS303", "unterminated-body", "ending", ERROR, SAFE, ALL_PROTOCOLS,
    "the connection breaks after the last event",
    "accepts the response, which is complete",
)  # fmt: skip
MISSING_DONE: Final = Defect(
    "TS304", "missing-done", "ending", NOTE, SAFE, (CHAT, ANTHROPIC, GEMINI_INTERACTIONS, COHERE),
    "the event that ends the stream is missing ([DONE], message_stop)",
    "treats the finish reason as the end",
)  # fmt: skip
MISSING_FINISH: Final = Defect(
    "TS305", "missing-finish", "ending", WARNING, SAFE, (*_STREAMED, BEDROCK),
    "the response is complete, but no event has a finish reason",
    "runs complete calls, or reports a truncated response",
    may_refuse=True,
    keys=FINISH_KEYS,
)  # fmt: skip
WRONG_FINISH: Final = Defect(
    "TS306", "wrong-finish", "ending", NOTE, SAFE, (CHAT, *BLOCK_PROTOCOLS),
    "the finish reason marks the end of the turn although there are tool calls",
    _RUNS,
    keys=FINISH_KEYS,
)  # fmt: skip
MISSING_CALLS: Final = Defect(
    "TS307", "missing-calls", "ending", ERROR, UNSAFE, (CHAT, *BLOCK_PROTOCOLS),
    "the finish reason announces tool calls, but there are none",
    "reports it or retries; never waits for a tool result",
    keys=FINISH_KEYS,
)  # fmt: skip
UNSTREAMED_CALLS: Final = Defect(
    "TS308", "unstreamed-calls", "ending", WARNING, SAFE, (CHAT, REALTIME, RESPONSES),
    "calls are sent only in the final message or response, not in deltas",
    "reads them from that event",
    keys=("message", "response"),
)  # fmt: skip
EARLY_FINISH: Final = Defect(
    "TS309", "early-finish", "ending", NOTE, UNSAFE, (CHAT, COHERE, BEDROCK),
    "parts of the response follow a finish reason",
    "reads to the end of the stream",
    also=("repeated-finish",),
    keys=FINISH_KEYS,
)  # fmt: skip
REPEATED_FINISH: Final = Defect(
    "TS310", "repeated-finish", "ending", NOTE, SAFE, (CHAT, COHERE),
    "the finish reason is sent more than once",
    f"{_RUNS}, once",
    keys=FINISH_KEYS,
)  # fmt: skip
EMPTY_FINISH: Final = Defect(
    "TS311", "empty-finish", "ending", WARNING, SAFE, (CHAT,),
    'the finish reason of unfinished events is "" instead of null',
    "reads on",
    keys=FINISH_KEYS,
)  # fmt: skip
FOREIGN_FINISH: Final = Defect(
    "TS312", "foreign-finish", "ending", WARNING, SAFE, (*_STREAMED, BEDROCK),
    "the finish reason is another protocol's word",
    _RUNS,
    keys=FINISH_KEYS,
)  # fmt: skip
IN_BAND_ERROR: Final = Defect(
    "TS313", "in-band-error", "ending", ERROR, None, CHECKED_PROTOCOLS,
    "the provider reports an error inside the stream",
    "reports the error, and runs no incomplete call",
    also=("cut-off-call",),
    lossy=True,
    keys=("error",),
)  # fmt: skip
UNCLOSED_CALL: Final = Defect(
    "TS314", "unclosed-call", "ending", WARNING, SAFE, (REALTIME, RESPONSES, *BLOCK_PROTOCOLS),
    "the event that closes a call is missing",
    "treats the end of the response as the end of the call",
    also=("overlapping-blocks",),
    keys=("type", *INDEX_KEYS),
)  # fmt: skip
REPEATED_STOP: Final = Defect(
    "TS315", "repeated-stop", "ending", WARNING, SAFE, (REALTIME, RESPONSES, *BLOCK_PROTOCOLS),
    "the response, a content block or an output item is stopped twice",
    "runs the call once",
    keys=("type", *INDEX_KEYS),
)  # fmt: skip
REPEATED_START: Final = Defect(
    "TS316", "repeated-start", "ending", WARNING, SAFE, (REALTIME, RESPONSES, *BLOCK_PROTOCOLS),
    "the response, a content block or an output item is started twice",
    "continues the open call",
    keys=("type", *INDEX_KEYS),
)  # fmt: skip
OVERLAPPING_BLOCKS: Final = Defect(
    "TS317", "overlapping-blocks", "ending", NOTE, SAFE, BLOCK_PROTOCOLS,
    "a content block starts before the previous one has stopped",
    "matches deltas on their index",
    keys=("type", *INDEX_KEYS),
)  # fmt: skip
EMPTY_OUTPUT: Final = Defect(
    "TS318", "empty-output", "ending", WARNING, SAFE, (REALTIME, RESPONSES),
    "the completed response lacks calls that were streamed",
    "reads the calls from the stream's items",
    keys=("response",),
)  # fmt: skip
CALLS_IN_DONE: Final = Defect(
    "TS319", "calls-in-done", "ending", NOTE, SAFE, (OLLAMA,),
    "calls are sent in the line with done: true",
    "reads the calls before it stops",
    keys=("done", "tool_calls"),
)  # fmt: skip
