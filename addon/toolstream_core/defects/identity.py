"""Defects of a call's identity: index, id, name, type."""

from typing import Final

from toolstream_core.defects.defect import (
    ANTHROPIC,
    BEDROCK,
    BLOCK_PROTOCOLS,
    CHAT,
    CHECKED_PROTOCOLS,
    COHERE,
    ERROR,
    GEMINI,
    GEMINI_INTERACTIONS,
    ID_KEYS,
    INDEX_KEYS,
    ITEM_KEYS,
    NAME_KEYS,
    NOTE,
    REALTIME,
    RESPONSES,
    SAFE,
    TYPE_KEYS,
    UNSAFE,
    WARNING,
    Defect,
)

_STREAMED = (CHAT, REALTIME, RESPONSES, ANTHROPIC, GEMINI_INTERACTIONS, COHERE)
_ONE_CALL = "joins the fragments into one call"
_EACH_CALL = "keeps the calls apart and runs each once"

MISSING_ID: Final = Defect(
    "TS101", "missing-id", "identity", WARNING, SAFE, (*_STREAMED, BEDROCK),
    "a call opens without an id",
    "generates an id for the call and uses it for the result",
    keys=ID_KEYS,
)  # fmt: skip
EMPTY_ID: Final = Defect(
    "TS102", "empty-id", "identity", NOTE, SAFE, (CHAT,),
    'later fragments of a call carry id "" instead of no id',
    _ONE_CALL,
    keys=ID_KEYS,
)  # fmt: skip
NULL_IDENTITY: Final = Defect(
    "TS103", "null-identity", "identity", NOTE, SAFE, (CHAT,),
    "later fragments of a call carry null as id, name or type",
    _ONE_CALL,
    keys=(*ID_KEYS, *NAME_KEYS, *TYPE_KEYS),
)  # fmt: skip
REPEATED_ID: Final = Defect(
    "TS104", "repeated-id", "identity", NOTE, SAFE, (CHAT, COHERE),
    "later fragments of a call repeat its id",
    _ONE_CALL,
    keys=ID_KEYS,
)  # fmt: skip
CHANGING_ID: Final = Defect(
    "TS105", "changing-id", "identity", WARNING, SAFE, (CHAT, COHERE),
    "the id changes inside one call",
    f"{_ONE_CALL}, under the first id",
    keys=ID_KEYS,
)  # fmt: skip
ROTATING_ITEM_ID: Final = Defect(
    "TS106", "rotating-item-id", "identity", NOTE, SAFE, (REALTIME, RESPONSES),
    "events of one output item carry different item ids",
    f"matches events on output_index and call_id, and {_ONE_CALL}",
    keys=ITEM_KEYS,
)  # fmt: skip
DUPLICATE_ID: Final = Defect(
    "TS107", "duplicate-id", "identity", WARNING, SAFE, (*_STREAMED, GEMINI, BEDROCK),
    "two different calls share one id",
    _EACH_CALL,
    keys=ID_KEYS,
)  # fmt: skip
LATE_ID: Final = Defect(
    "TS108", "late-id", "identity", NOTE, SAFE, (CHAT, COHERE),
    "the id arrives after the call's first fragment",
    f"{_ONE_CALL}, under that id",
    also=("repeated-index",),
    keys=ID_KEYS,
)  # fmt: skip
LATE_NAME: Final = Defect(
    "TS109", "late-name", "identity", NOTE, SAFE, (CHAT, REALTIME, RESPONSES, COHERE),
    "the name arrives after the call's first fragment",
    f"{_ONE_CALL} and waits for its name",
    also=("repeated-index",),
    keys=NAME_KEYS,
)  # fmt: skip
SPLIT_NAME: Final = Defect(
    "TS110", "split-name", "identity", NOTE, SAFE, (CHAT,),
    "the name is split over several fragments",
    "joins the parts of the name",
    also=("repeated-index",),
    keys=NAME_KEYS,
)  # fmt: skip
REPEATED_NAME: Final = Defect(
    "TS111", "repeated-name", "identity", NOTE, SAFE, (CHAT, COHERE),
    "later fragments of a call repeat its name",
    _ONE_CALL,
    keys=NAME_KEYS,
)  # fmt: skip
EMPTY_NAME: Final = Defect(
    "TS112", "empty-name", "identity", NOTE, SAFE, (CHAT, REALTIME, RESPONSES),
    'a later fragment of the call carries name ""',
    "keeps the call's first name",
    keys=NAME_KEYS,
)  # fmt: skip
DECORATED_NAME: Final = Defect(
    "TS113", "decorated-name", "identity", WARNING, SAFE, CHECKED_PROTOCOLS,
    "the name of an offered tool has a prefix or suffix",
    "runs the offered tool, or reports an unknown one",
    may_refuse=True,
    keys=NAME_KEYS,
)  # fmt: skip
MISSING_TYPE: Final = Defect(
    "TS114", "missing-type", "identity", NOTE, SAFE, (CHAT, COHERE),
    "a call opens without its type",
    "treats it as a function",
    keys=TYPE_KEYS,
)  # fmt: skip
MISSING_INDEX: Final = Defect(
    "TS115", "missing-index", "identity", WARNING, SAFE,
    (CHAT, REALTIME, RESPONSES, GEMINI_INTERACTIONS, COHERE, BEDROCK),
    "fragments have no index",
    _EACH_CALL,
    keys=INDEX_KEYS,
)  # fmt: skip
REUSED_INDEX: Final = Defect(
    "TS116", "reused-index", "identity", WARNING, SAFE, (*_STREAMED, BEDROCK),
    "one index is used for several calls",
    _EACH_CALL,
    keys=INDEX_KEYS,
)  # fmt: skip
OFFSET_INDEX: Final = Defect(
    "TS117", "offset-index", "identity", NOTE, SAFE, (CHAT, ANTHROPIC, GEMINI_INTERACTIONS, COHERE),
    "indexes do not count up from 0 by one",
    "treats an index as a key, not as a position",
    keys=INDEX_KEYS,
)  # fmt: skip
ODD_INDEX: Final = Defect(
    "TS118", "odd-index", "identity", WARNING, SAFE, (CHAT, COHERE, BEDROCK),
    "an index is negative or not an integer",
    _EACH_CALL,
    keys=INDEX_KEYS,
)  # fmt: skip
REPEATED_INDEX: Final = Defect(
    "TS119", "repeated-index", "identity", NOTE, SAFE, (CHAT,),
    "one event has two entries for the same call",
    _ONE_CALL,
    keys=INDEX_KEYS,
)  # fmt: skip
CHANGING_INDEX: Final = Defect(
    "TS120", "changing-index", "identity", WARNING, SAFE, (CHAT, COHERE, REALTIME, RESPONSES),
    "the index changes inside one call",
    _ONE_CALL,
    also=("repeated-id",),
    keys=INDEX_KEYS,
)  # fmt: skip
DOUBLED_CALL: Final = Defect(
    "TS121", "doubled-call", "identity", ERROR, SAFE, (*_STREAMED, GEMINI, BEDROCK),
    "one call is sent twice",
    "runs the call once",
    also=("offset-index",),
    keys=(*ID_KEYS, *INDEX_KEYS),
)  # fmt: skip
UNKNOWN_BLOCK: Final = Defect(
    "TS122", "unknown-block", "identity", ERROR, SAFE, BLOCK_PROTOCOLS,
    "a delta or stop names a content block that was never started, or that has stopped",
    "reports a broken stream, or adds the delta to the only open call",
    may_refuse=True,
    keys=INDEX_KEYS,
)  # fmt: skip
CHANGING_CALL_ID: Final = Defect(
    "TS123", "changing-call-id", "identity", WARNING, SAFE, (REALTIME, RESPONSES),
    "later events of the call have another call_id than the first",
    "uses the first one for the result",
    keys=ID_KEYS,
)  # fmt: skip
ITEM_PER_FRAGMENT: Final = Defect(
    "TS124", "item-per-fragment", "identity", ERROR, SAFE, (REALTIME, RESPONSES),
    "each fragment of one call is sent as a separate output item",
    _ONE_CALL,
    also=("rotating-item-id",),
    keys=ITEM_KEYS,
)  # fmt: skip
REUSED_ID: Final = Defect(
    "TS125", "reused-id", "identity", NOTE, None, CHECKED_PROTOCOLS,
    "the id was already used in an earlier turn",
    "matches results with calls of the same turn",
    keys=ID_KEYS,
)  # fmt: skip
ODD_ID: Final = Defect(
    "TS126", "odd-id", "identity", NOTE, None, CHECKED_PROTOCOLS,
    "the id has a format that other APIs reject",
    "returns the id unchanged",
    keys=ID_KEYS,
)  # fmt: skip
MISSING_NAME: Final = Defect(
    "TS127", "missing-name", "identity", ERROR, None, CHECKED_PROTOCOLS,
    "a call has no name",
    "does not run the call, and reports it",
    lossy=True,
    keys=NAME_KEYS,
)  # fmt: skip
MISSING_START: Final = Defect(
    "TS128", "missing-start", "identity", WARNING, SAFE, (REALTIME, RESPONSES),
    "fragments refer to an output item that was not added",
    "reads the call from the events that close it",
    keys=ITEM_KEYS,
)  # fmt: skip
CUSTOM_AS_FUNCTION: Final = Defect(
    "TS129", "custom-as-function", "identity", ERROR, UNSAFE, (RESPONSES,),
    "a call of a custom tool is sent as a function call with its text in JSON",
    "extracts the text from the JSON, or reports an unsupported call",
    may_refuse=True,
    keys=TYPE_KEYS,
)  # fmt: skip
FUNCTION_AS_CUSTOM: Final = Defect(
    "TS130", "function-as-custom", "identity", ERROR, SAFE, (REALTIME, RESPONSES),
    "the arguments of a function call are sent in the events of a custom tool",
    "reads the call from the event that closes it",
    keys=TYPE_KEYS,
)  # fmt: skip
DETACHED_SIGNATURE: Final = Defect(
    "TS131", "detached-signature", "identity", NOTE, None, (CHAT,),
    "the thought signature of a call is sent in a delta without the call",
    "runs the call; its next request lacks the signature",
    keys=("thought_signature",),
)  # fmt: skip
MISSING_NAMESPACE: Final = Defect(
    "TS132", "missing-namespace", "identity", WARNING, SAFE, (RESPONSES,),
    "a call does not name the namespace of its tool, names itself as that, or has it as a part of the name",
    "runs the only offered tool that fits, or reports an unknown one",
    may_refuse=True,
    keys=("namespace", *NAME_KEYS),
)  # fmt: skip
UNKNOWN_TOOL: Final = Defect(
    "TS133", "unknown-tool", "identity", NOTE, None, CHECKED_PROTOCOLS,
    "the call names a tool that the request does not offer",
    "reports the unknown tool to the model, and continues",
    lossy=True,
    keys=NAME_KEYS,
)  # fmt: skip
