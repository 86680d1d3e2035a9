"""The rules for who a Chat Completions call is, as a table: (field, entry, what came) → (defect, edit).

A header opens a call for the client, a continuation goes on with it. What came is seen in the light of what came
before: the call as it is resolved so far, the client's header, and the other calls of the choice.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.defects.identity import (
    CHANGING_ID,
    CHANGING_INDEX,
    DECORATED_NAME,
    DOUBLED_CALL,
    DUPLICATE_ID,
    EMPTY_ID,
    EMPTY_NAME,
    LATE_ID,
    LATE_NAME,
    MISSING_ID,
    MISSING_INDEX,
    MISSING_NAME,
    MISSING_TYPE,
    NULL_IDENTITY,
    ODD_ID,
    ODD_INDEX,
    OFFSET_INDEX,
    REPEATED_ID,
    REPEATED_INDEX,
    REPEATED_NAME,
    REUSED_ID,
    REUSED_INDEX,
    SPLIT_NAME,
)
from toolstream_core.defects.row import NOTE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.defects.row import Row
    from toolstream_core.model import Severity


class Field(StrEnum):
    """A field of an entry that says who its call is, or the entry itself."""

    INDEX = "index"
    ID = "id"
    NAME = "name"
    TYPE = "type"
    ENTRY = "entry"


class Place(StrEnum):
    """Which entry of its call it is, to the client."""

    HEADER = "header"
    CONTINUATION = "continuation"
    ANY = "any"


class Came(StrEnum):
    """What came in the field, in the light of what came before."""

    NOTHING = "nothing"
    NOTHING_CLEAR = "nothing, and the call is clear without it"
    NULL = "null"
    BLANK = "an empty value, or null as text"
    NEGATIVE = "a number below 0"
    OTHER_TYPE = "a value of another type"
    ANOTHER_CALLS = "the value of another call"
    NOBODYS = "the index of entries that are no call's"
    OUT_OF_ORDER = "another number than the one that comes next"
    CHANGED = "another value than the header's"
    RENUMBERED = "the header's index, which the client has as another one"
    LATER = "nothing yet: a later entry, which is here already, has it"
    UNLIKE_THE_CALLS = "another value than the call's, or none"
    FIRST = "the value for the first time"
    AWAITED = "the value that the client's header has in advance"
    AGAIN = "the value that the header had"
    PART = "a part of the name"
    PART_KNOWN = "a part of the name, all of which the client has"
    DECORATED = "a tool's name with something around it"
    UNUSUAL = "characters or a length that other APIs refuse"
    EARLIER_TURN = "the id of a call of an earlier turn"
    BESIDE_DROPPED = "a type, in an entry of which another field is dropped"
    CALL_AGAIN = "an earlier call again"


class Edit(StrEnum):
    """What becomes of the field, where the defect's repair is on."""

    KEEP = "it stays"
    DROP = "it goes"
    NEXT_INDEX = "the index that comes next"
    CLIENT_INDEX = "the index that the client has"
    NEW_ID = "an id that is made up"
    CALL_ID = "the call's id"
    CALL_NAME = "the call's name"
    TOOL_NAME = "the tool's name"
    FUNCTION = "function"


class Rule(NamedTuple):
    """One line of the table."""

    field: Field
    place: Place
    came: Came
    row: Row | None
    """The defect; `None` where the edit only follows from another one."""
    edit: Edit
    message: str = ""
    """A format string."""
    severity: Severity | None = None
    """Where it is another one than the row's."""


_LATE_ID: Final = "the id comes after the call's first fragment"
_LATE_NAME: Final = "the name comes after the call's first fragment"
_NO_INDEX: Final = "the call opens without an index"
_NO_INDEX_AGAIN: Final = "a continuation has no index"
_CHANGED_INDEX: Final = "the index goes from {header} to {index}"
_NO_ID: Final = "the call opens without an id"
_TAKEN: Final = "index {index} is that of an earlier call"
_NOT_NEXT: Final = "the index is {index} where {next} comes next"
_DECORATED: Final = "the name is {name!r}, the tool is {tool}"
_UNUSUAL: Final = "the id has {length} characters, or some that other APIs refuse"
_SPLIT: Final = "the name is spread over several fragments"

_F, _P, _C, _E = Field, Place, Came, Edit
TABLE: Final = (
    Rule(_F.INDEX, _P.HEADER, _C.NOTHING, MISSING_INDEX, _E.NEXT_INDEX, _NO_INDEX),
    Rule(_F.INDEX, _P.HEADER, _C.NOTHING_CLEAR, MISSING_INDEX, _E.NEXT_INDEX, _NO_INDEX, NOTE),
    Rule(_F.INDEX, _P.HEADER, _C.OTHER_TYPE, ODD_INDEX, _E.NEXT_INDEX, "the index is {raw!r}"),
    Rule(_F.INDEX, _P.HEADER, _C.NEGATIVE, ODD_INDEX, _E.NEXT_INDEX, "the index is {index!r}", NOTE),
    Rule(_F.INDEX, _P.HEADER, _C.ANOTHER_CALLS, REUSED_INDEX, _E.NEXT_INDEX, _TAKEN),
    Rule(_F.INDEX, _P.HEADER, _C.NOBODYS, None, _E.NEXT_INDEX),
    Rule(_F.INDEX, _P.HEADER, _C.OUT_OF_ORDER, OFFSET_INDEX, _E.NEXT_INDEX, _NOT_NEXT),
    Rule(_F.INDEX, _P.CONTINUATION, _C.NOTHING, MISSING_INDEX, _E.CLIENT_INDEX, _NO_INDEX_AGAIN),
    Rule(_F.INDEX, _P.CONTINUATION, _C.NOTHING_CLEAR, MISSING_INDEX, _E.CLIENT_INDEX, _NO_INDEX_AGAIN, NOTE),
    Rule(_F.INDEX, _P.CONTINUATION, _C.OTHER_TYPE, ODD_INDEX, _E.CLIENT_INDEX, "the index is {raw!r}"),
    Rule(_F.INDEX, _P.CONTINUATION, _C.CHANGED, CHANGING_INDEX, _E.CLIENT_INDEX, _CHANGED_INDEX),
    Rule(_F.INDEX, _P.CONTINUATION, _C.RENUMBERED, None, _E.CLIENT_INDEX),
    Rule(_F.ID, _P.HEADER, _C.NOTHING, MISSING_ID, _E.NEW_ID, _NO_ID),
    Rule(_F.ID, _P.HEADER, _C.BLANK, MISSING_ID, _E.NEW_ID, _NO_ID, NOTE),
    Rule(_F.ID, _P.HEADER, _C.ANOTHER_CALLS, DUPLICATE_ID, _E.NEW_ID, "id {id} is that of another call"),
    Rule(_F.ID, _P.HEADER, _C.LATER, LATE_ID, _E.CALL_ID, _LATE_ID),
    Rule(_F.ID, _P.HEADER, _C.UNLIKE_THE_CALLS, None, _E.CALL_ID),
    Rule(_F.ID, _P.HEADER, _C.EARLIER_TURN, REUSED_ID, _E.KEEP, "id {id} was that of a call of an earlier turn"),
    Rule(_F.ID, _P.HEADER, _C.UNUSUAL, ODD_ID, _E.KEEP, _UNUSUAL),
    Rule(_F.ID, _P.CONTINUATION, _C.NULL, NULL_IDENTITY, _E.DROP, "a continuation has id null"),
    Rule(_F.ID, _P.CONTINUATION, _C.BLANK, EMPTY_ID, _E.DROP, 'a continuation has id "{value}"'),
    Rule(_F.ID, _P.CONTINUATION, _C.FIRST, LATE_ID, _E.KEEP, _LATE_ID),
    Rule(_F.ID, _P.CONTINUATION, _C.AWAITED, LATE_ID, _E.DROP, _LATE_ID),
    Rule(_F.ID, _P.CONTINUATION, _C.AGAIN, REPEATED_ID, _E.DROP, "a continuation has the call's id again"),
    Rule(_F.ID, _P.CONTINUATION, _C.CHANGED, CHANGING_ID, _E.DROP, "the id goes from {id} to {value}"),
    Rule(_F.NAME, _P.HEADER, _C.NOTHING, MISSING_NAME, _E.KEEP, "the call has no name"),
    Rule(_F.NAME, _P.HEADER, _C.LATER, LATE_NAME, _E.CALL_NAME, _LATE_NAME),
    Rule(_F.NAME, _P.HEADER, _C.PART, SPLIT_NAME, _E.CALL_NAME, _SPLIT),
    Rule(_F.NAME, _P.HEADER, _C.DECORATED, DECORATED_NAME, _E.TOOL_NAME, _DECORATED),
    Rule(_F.NAME, _P.CONTINUATION, _C.NULL, NULL_IDENTITY, _E.DROP, "a continuation has name null"),
    Rule(_F.NAME, _P.CONTINUATION, _C.BLANK, EMPTY_NAME, _E.DROP, 'a continuation has name "{value}"'),
    Rule(_F.NAME, _P.CONTINUATION, _C.FIRST, LATE_NAME, _E.KEEP, _LATE_NAME),
    Rule(_F.NAME, _P.CONTINUATION, _C.AWAITED, LATE_NAME, _E.DROP, _LATE_NAME),
    Rule(_F.NAME, _P.CONTINUATION, _C.AGAIN, REPEATED_NAME, _E.DROP, "a continuation has the call's name again"),
    Rule(_F.NAME, _P.CONTINUATION, _C.PART, SPLIT_NAME, _E.KEEP, _SPLIT),
    Rule(_F.NAME, _P.CONTINUATION, _C.PART_KNOWN, SPLIT_NAME, _E.DROP, _SPLIT),
    Rule(_F.TYPE, _P.HEADER, _C.NOTHING, MISSING_TYPE, _E.FUNCTION, "the call opens without its type"),
    Rule(_F.TYPE, _P.CONTINUATION, _C.NULL, NULL_IDENTITY, _E.DROP, "a continuation has type null"),
    Rule(_F.TYPE, _P.CONTINUATION, _C.BLANK, MISSING_TYPE, _E.DROP, 'a continuation has type ""'),
    Rule(_F.TYPE, _P.CONTINUATION, _C.BESIDE_DROPPED, None, _E.DROP),
    Rule(_F.ENTRY, _P.HEADER, _C.NOTHING, MISSING_ID, _E.DROP, "an entry has neither a name nor arguments"),
    Rule(_F.ENTRY, _P.ANY, _C.CALL_AGAIN, DOUBLED_CALL, _E.DROP, "the call was said before"),
)  # fmt: skip
RULES: Final[Mapping[tuple[Field, Place, Came], Rule]] = {(one.field, one.place, one.came): one for one in TABLE}
ELSEWHERE: Final = {REPEATED_INDEX.name: "toolstream_core.protocols.chat.repair.structure"}
"""Rows of identity that are not about one entry alone, and the module that handles them."""
