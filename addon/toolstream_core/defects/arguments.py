"""Defects of a call's arguments."""

from typing import Final

from toolstream_core.defects.defect import (
    ANTHROPIC,
    ARGUMENT_KEYS,
    BEDROCK,
    BLOCK_PROTOCOLS,
    CHAT,
    CHECKED_PROTOCOLS,
    COHERE,
    ERROR,
    GEMINI,
    GEMINI_INTERACTIONS,
    NOTE,
    REALTIME,
    RESPONSES,
    SAFE,
    UNSAFE,
    WARNING,
    Defect,
)

_STREAMED = (CHAT, REALTIME, RESPONSES, ANTHROPIC, GEMINI_INTERACTIONS, COHERE)
_NOT_RUN = "does not run the call, and reports the error to the model"
_AS_MEANT = "runs the call once with the intended arguments, or reports invalid arguments"

EMPTY_ARGUMENTS: Final = Defect(
    "TS201", "empty-arguments", "arguments", NOTE, SAFE, (CHAT, REALTIME, RESPONSES),
    "the arguments of a call without parameters are empty instead of {}",
    "treats them as {}",
    keys=ARGUMENT_KEYS,
)  # fmt: skip
LOST_ARGUMENTS: Final = Defect(
    "TS202", "lost-arguments", "arguments", ERROR, None, (*_STREAMED, BEDROCK),
    "a tool with required parameters is called without arguments",
    _NOT_RUN,
    lossy=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
NULL_ARGUMENTS: Final = Defect(
    "TS203", "null-arguments", "arguments", NOTE, SAFE, (CHAT, COHERE, BEDROCK),
    "arguments are null",
    'treats null as ""',
    keys=ARGUMENT_KEYS,
)  # fmt: skip
OBJECT_ARGUMENTS: Final = Defect(
    "TS204", "object-arguments", "arguments", ERROR, SAFE, (*_STREAMED, BEDROCK),
    "arguments are an object, or another JSON value, instead of a string",
    _AS_MEANT,
    may_refuse=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
CUMULATIVE_ARGUMENTS: Final = Defect(
    "TS205", "cumulative-arguments", "arguments", ERROR, SAFE, (*_STREAMED, BEDROCK),
    "a delta repeats all arguments sent so far",
    _AS_MEANT,
    may_refuse=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
REPLAYED_ARGUMENTS: Final = Defect(
    "TS206", "replayed-arguments", "arguments", ERROR, SAFE, (*_STREAMED, BEDROCK),
    "complete arguments are sent a second time",
    _AS_MEANT,
    also=("repeated-id", "repeated-name", "repeated-index"),
    may_refuse=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
PLACEHOLDER_ARGUMENTS: Final = Defect(
    "TS207", "placeholder-arguments", "arguments", ERROR, SAFE, (*_STREAMED, GEMINI, BEDROCK),
    "{}, null or other text is sent before the real arguments",
    _AS_MEANT,
    also=("repeated-index",),
    may_refuse=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
DOUBLE_ENCODED_ARGUMENTS: Final = Defect(
    "TS208", "double-encoded-arguments", "arguments", ERROR, SAFE, CHECKED_PROTOCOLS,
    "arguments are encoded as JSON twice",
    _AS_MEANT,
    may_refuse=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
MERGED_CALLS: Final = Defect(
    "TS209", "merged-calls", "arguments", ERROR, None, (*_STREAMED, BEDROCK),
    "the arguments of two calls are concatenated in one call",
    _NOT_RUN,
    lossy=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
INVALID_ARGUMENTS: Final = Defect(
    "TS210", "invalid-arguments", "arguments", ERROR, UNSAFE, (*_STREAMED, BEDROCK),
    "the finished arguments are not valid JSON",
    _NOT_RUN,
    lossy=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
TRAILING_GARBAGE: Final = Defect(
    "TS211", "trailing-garbage", "arguments", ERROR, SAFE, (*_STREAMED, BEDROCK),
    "special tokens or other text follow the arguments",
    _AS_MEANT,
    also=("repeated-index",),
    may_refuse=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
MISNAMED_ARGUMENTS: Final = Defect(
    "TS212", "misnamed-arguments", "arguments", WARNING, SAFE, (CHAT, COHERE),
    "arguments are sent under a wrong key",
    _AS_MEANT,
    may_refuse=True,
    keys=("parameters", "args", *ARGUMENT_KEYS),
)  # fmt: skip
SPLIT_SURROGATE: Final = Defect(
    "TS213", "split-surrogate", "arguments", NOTE, SAFE, (*_STREAMED, BEDROCK),
    "a delta ends between the two halves of a surrogate pair",
    "joins the deltas before it decodes the character",
    keys=ARGUMENT_KEYS,
)  # fmt: skip
PREFILLED_ARGUMENTS: Final = Defect(
    "TS214", "prefilled-arguments", "arguments", NOTE, SAFE, (REALTIME, RESPONSES, *BLOCK_PROTOCOLS),
    "the event that opens the call already carries its arguments",
    "uses them once",
    keys=ARGUMENT_KEYS,
)  # fmt: skip
MISSING_DELTAS: Final = Defect(
    "TS215", "missing-deltas", "arguments", NOTE, SAFE, (REALTIME, RESPONSES, COHERE),
    "arguments are sent only in the event that closes the call",
    "reads them from that event",
    keys=ARGUMENT_KEYS,
)  # fmt: skip
SHORT_DELTAS: Final = Defect(
    "TS216", "short-deltas", "arguments", ERROR, SAFE, (REALTIME, RESPONSES),
    "the deltas end before the arguments of the closing event do",
    "uses the arguments of the closing event",
    keys=ARGUMENT_KEYS,
)  # fmt: skip
SHORT_CLOSING: Final = Defect(
    "TS217", "short-closing", "arguments", WARNING, SAFE, (REALTIME, RESPONSES),
    "an event with the complete arguments lacks a part that the deltas sent",
    "uses the arguments of the deltas",
    keys=ARGUMENT_KEYS,
)  # fmt: skip
SNAPSHOT_ARGUMENTS: Final = Defect(
    "TS218", "snapshot-arguments", "arguments", ERROR, UNSAFE, (*_STREAMED, BEDROCK),
    "each delta is a complete object: a newer state of the arguments, or another call",
    "uses the last one, or does not run the call",
    may_refuse=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
LOST_BEGINNING: Final = Defect(
    "TS220", "lost-beginning", "arguments", ERROR, SAFE, (*_STREAMED, BEDROCK),
    'the arguments lack their beginning, { or {"',
    _AS_MEANT,
    may_refuse=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
ENVELOPED_ARGUMENTS: Final = Defect(
    "TS219", "enveloped-arguments", "arguments", ERROR, SAFE, CHECKED_PROTOCOLS,
    "the arguments are wrapped in an object, as a complete call or under one key",
    _AS_MEANT,
    may_refuse=True,
    keys=ARGUMENT_KEYS,
)  # fmt: skip
