"""Defects of how calls, turns and streams end."""

from typing import Final

from toolstream_core.defects.row import (
    ALL_DIALECTS,
    ANTHROPIC,
    BEDROCK,
    CHAT,
    COHERE,
    ERROR,
    JUDGED_DIALECTS,
    NOTE,
    OLLAMA,
    REALTIME,
    RESPONSES,
    SAFE,
    UNSAFE,
    WARNING,
    Row,
)

_STREAMED = (CHAT, REALTIME, RESPONSES, ANTHROPIC, COHERE)
_RUNS = "runs the calls that came"

TRUNCATED_STREAM: Final = Row(
    "TS301", "truncated-stream", "ending", ERROR, None, ALL_DIALECTS,
    "the body ended before the answer did",
    "reports a broken stream; runs nothing that is not whole",
    also=("cut-off-call",),
    lossy=True,
)  # fmt: skip
CUT_OFF_CALL: Final = Row(
    "TS302", "cut-off-call", "ending", ERROR, SAFE, ALL_DIALECTS,
    "a call's arguments are not whole",
    "does not run the call",
    lossy=True,
)  # fmt: skip
UNTERMINATED_BODY: Final = Row(
    "TS303", "unterminated-body", "ending", ERROR, SAFE, ALL_DIALECTS,
    "the connection broke after everything was said",
    "takes the answer, which is whole",
)  # fmt: skip
MISSING_DONE: Final = Row(
    "TS304", "missing-done", "ending", NOTE, SAFE, (CHAT, ANTHROPIC, COHERE),
    "the event that ends the stream is missing ([DONE], message_stop)",
    "takes the finish reason for the end",
)  # fmt: skip
MISSING_FINISH: Final = Row(
    "TS305", "missing-finish", "ending", WARNING, SAFE, (*_STREAMED, BEDROCK),
    "the answer is whole and no event says how it finished",
    "runs calls that are whole, or reports a broken stream",
    may_refuse=True,
)  # fmt: skip
WRONG_FINISH: Final = Row(
    "TS306", "wrong-finish", "ending", NOTE, SAFE, (CHAT, ANTHROPIC, COHERE, BEDROCK),
    "the finish reason says that the turn is over although calls were made",
    _RUNS,
)  # fmt: skip
MISSING_CALLS: Final = Row(
    "TS307", "missing-calls", "ending", ERROR, UNSAFE, (CHAT, ANTHROPIC, COHERE, BEDROCK),
    "the finish reason says tool calls and none came",
    "says so or asks again; never waits for a result of nothing",
)  # fmt: skip
UNSTREAMED_CALLS: Final = Row(
    "TS308", "unstreamed-calls", "ending", WARNING, SAFE, (CHAT, REALTIME, RESPONSES),
    "calls come only in the final message or response, not in deltas",
    "takes them from there",
)  # fmt: skip
EARLY_FINISH: Final = Row(
    "TS309", "early-finish", "ending", NOTE, UNSAFE, (CHAT, COHERE, BEDROCK),
    "more of the answer follows a finish reason",
    "reads to the end of the stream",
    also=("repeated-finish",),
)  # fmt: skip
REPEATED_FINISH: Final = Row(
    "TS310", "repeated-finish", "ending", NOTE, SAFE, (CHAT, COHERE),
    "the finish reason is said more than once",
    f"{_RUNS}, once",
)  # fmt: skip
EMPTY_FINISH: Final = Row(
    "TS311", "empty-finish", "ending", WARNING, SAFE, (CHAT,),
    'the finish reason of an unfinished turn is "" instead of null',
    "reads on",
)  # fmt: skip
FOREIGN_FINISH: Final = Row(
    "TS312", "foreign-finish", "ending", WARNING, SAFE, (CHAT, REALTIME, RESPONSES, ANTHROPIC, COHERE, BEDROCK),
    "the finish reason is another protocol's word",
    _RUNS,
)  # fmt: skip
IN_BAND_ERROR: Final = Row(
    "TS313", "in-band-error", "ending", ERROR, None, JUDGED_DIALECTS,
    "the provider reports an error within the stream",
    "reports the error, and runs nothing that is not whole",
    also=("cut-off-call",),
    lossy=True,
)  # fmt: skip
UNCLOSED_CALL: Final = Row(
    "TS314", "unclosed-call", "ending", WARNING, SAFE, (REALTIME, RESPONSES, ANTHROPIC, COHERE, BEDROCK),
    "the event that closes a call is missing",
    "takes the end of the answer for the end of the call",
    also=("overlapping-blocks",),
)  # fmt: skip
REPEATED_STOP: Final = Row(
    "TS315", "repeated-stop", "ending", WARNING, SAFE, (REALTIME, RESPONSES, ANTHROPIC, COHERE, BEDROCK),
    "the answer, a content block or an output item is stopped twice",
    "runs the call once",
)  # fmt: skip
REPEATED_START: Final = Row(
    "TS316", "repeated-start", "ending", WARNING, SAFE, (REALTIME, RESPONSES, ANTHROPIC, COHERE, BEDROCK),
    "the answer, a content block or an output item is started twice",
    "goes on with the call that is open",
)  # fmt: skip
OVERLAPPING_BLOCKS: Final = Row(
    "TS317", "overlapping-blocks", "ending", NOTE, SAFE, (ANTHROPIC, COHERE, BEDROCK),
    "a content block starts before the one before it has stopped",
    "goes by the index of each delta",
)  # fmt: skip
EMPTY_OUTPUT: Final = Row(
    "TS318", "empty-output", "ending", WARNING, SAFE, (REALTIME, RESPONSES),
    "the completed response lacks calls that were streamed",
    "takes the calls from the stream's items",
)  # fmt: skip
CALLS_IN_DONE: Final = Row(
    "TS319", "calls-in-done", "ending", NOTE, SAFE, (OLLAMA,),
    "calls come in the line that says done",
    "reads the calls before it stops",
)  # fmt: skip

ENDING: Final = (
    TRUNCATED_STREAM,
    CUT_OFF_CALL,
    UNTERMINATED_BODY,
    MISSING_DONE,
    MISSING_FINISH,
    WRONG_FINISH,
    MISSING_CALLS,
    UNSTREAMED_CALLS,
    EARLY_FINISH,
    REPEATED_FINISH,
    EMPTY_FINISH,
    FOREIGN_FINISH,
    IN_BAND_ERROR,
    UNCLOSED_CALL,
    REPEATED_STOP,
    REPEATED_START,
    OVERLAPPING_BLOCKS,
    EMPTY_OUTPUT,
    CALLS_IN_DONE,
)
