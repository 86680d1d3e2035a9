"""Why a client misread a response: one sentence for each deviation, with the event at which it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.clients.model import (
    Adding,
    Arguments,
    Entries,
    Id,
    Invalid,
    Kept,
    Key,
    Name,
    NoIndex,
    NoObject,
    Objects,
    Source,
)
from toolstream_core.clients.stepping import What

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.clients.explanation import Explanation
    from toolstream_core.clients.model import Deviation
    from toolstream_core.clients.stepping import Change

_INVALID: Final = "At event {event} the arguments end as invalid JSON, and the client "
_DROPPED: Final = "The client dropped the call that ends at event {event}, because "
_NOT_READ: Final = "The client does not use what event {event} contains, because it reads "

_RULES: Final[Mapping[Deviation, str]] = {
    Key.CHANGED_ID: "compares only the id with that of the open call",
    Key.PRESENT_ID: "opens a call for each id that is present",
    Key.GIVEN_ID: "opens a call for each id that is not empty",
    Key.ID: "matches on the id alone",
    Key.INDEX_AND_ID: "compares index and id with those of the event before",
    Key.LONGER_ID: "compares the lengths of index and id with the open call",
    Key.NEWEST_OF_INDEX: "compares ids at the same index",
    Key.FIRST_OF_INDEX: "compares ids at the same index, else uses the first call",
    Key.ONLY_OF_INDEX: "matches on the id before the index",
    Key.CHANGED_INDEX: "compares the index with that of the event before",
    Key.POSITION: "uses the index as a position in its list of calls",
    Key.PLACE: "matches on the position of the entry in the event",
    Key.ITEM: "matches on the item id alone",
    Key.LAST: "adds each delta to the last opened call",
    Key.FIRST_OPENED: "adds each delta to the first opened call",
    Key.ENTRY: "treats each entry as a call",
    Key.ONE: "keeps a single call for all entries",
    NoIndex.NEW: "opens a call for each entry without an index",
    NoIndex.LAST: "uses the last call if the index is missing",
    NoIndex.PLACE: "uses the position in the event if the index is missing",
    NoIndex.ID: "matches on the id if the index is missing",
    NoIndex.DROPPED: "skips entries without an index",
    Entries.FIRST: "reads only the first entry of an event",
    Source.MESSAGE: "also reads the calls of the final message",
}
"""How a client finds the call of an entry."""
CAUSES: Final[Mapping[Deviation, str]] = {
    **{one: f"At event {{event}} the client {{did}}, because it {rule}" for one, rule in _RULES.items()},
    Adding.WHOLE: "At event {event} the client {did}, because the arguments of the call were valid JSON already",
    Adding.HEADER: "At event {event} the client {did}, because a name came after complete arguments",
    Adding.NEXT: "At event {event} the client {did}, because the fragment came after complete arguments",
    Adding.FINISH: "At event {event} the client {did}, because the finish reason had come",
    Adding.REPLACE: "The client lost what event {event} contains, because a later event repeats the id of the call",
    Adding.CONTINUED: "At event {event} the client opened a call, and did not reset its buffer of arguments",
    Source.DELTAS: "At event {event} the client does not use the complete call, because it reads only deltas",
    Source.DONE: _NOT_READ + "arguments only from the event with the complete arguments",
    Source.ITEM: _NOT_READ + "calls only from the event that closes their item",
    Source.COMPLETED: _NOT_READ + "calls only from the event that ends the response",
    Source.START: _NOT_READ + "arguments only from the event that opens the call",
    Source.START_AND_DELTAS: "At event {event} the client appended arguments to those of the event that opens the call",
    Name.LAST: "At event {event} the client replaced the name of the call by another one",
    Name.JOINED: "At event {event} the client appended a name to the name of the call",
    Name.OPENING: "At event {event} the client ignored the name, because the event does not open the call",
    Name.OVERWRITTEN: "At event {event} the client overwrote the name of the call",
    Id.LAST: "At event {event} the client replaced the id of the call by another one",
    Id.JOINED: "At event {event} the client appended an id to the id of the call",
    Id.OPENING: "At event {event} the client ignored the id, because the event does not open the call",
    Id.OVERWRITTEN: "At event {event} the client overwrote the id of the call",
    Id.ITEM: "At event {event} the client used the id of the item as the id of the call",
    Id.OWN: "From event {event} on the client generated the ids of calls",
    Id.UNIQUE: "From event {event} on the client generated the id of each call whose id was in use",
    Arguments.FIRST: "At event {event} the client ignored arguments, because it had read a fragment of them already",
    Arguments.LAST: "At event {event} the client replaced the arguments by a fragment of them",
    Arguments.AFTER_OPENING: "At event {event} the client dropped the arguments, because the event opens the call",
    Objects.OWN_STRING: "At event {event} the client converted an arguments object to text that is not JSON",
    Objects.PASSED_OVER: "At event {event} the client skipped arguments that are not a string or have another key",
    Invalid.EMPTY: _INVALID + "replaced them by `{{}}`",
    Invalid.HEAD: _INVALID + "kept only their valid beginning",
    Invalid.COMPLETED: _INVALID + "completed them",
    Invalid.SHORTENED: _INVALID + "shortened them to valid JSON",
    Invalid.WRAPPED: _INVALID + "wrapped them",
    NoObject.INVALID: "At event {event} the arguments end as a JSON string, which the client treats as invalid",
    Kept.NAMED: _DROPPED + "it has no name",
    Kept.WITH_ID: _DROPPED + "it has no id",
    Kept.VALID: _DROPPED + "its arguments are not valid JSON",
    Kept.FIRST: _DROPPED + "it keeps only the first call",
    Kept.LAST: _DROPPED + "it keeps only the last call",
    Kept.PADDED: "From event {event} on the client fills its list of calls with empty ones up to each index",
}
"""A sentence without a full stop for each deviation. `did` is what the client did with the event."""


def cause(explanation: Explanation) -> str:
    """How the client reads, in one sentence."""
    return f"The client {explanation.text}."


def reason(explanation: Explanation, event: int | None = None) -> str:
    """What the client did at the event where it first misread the response, in one sentence; `""` without an event.

    `event`: the number of that event in what is shown, if it is another one.
    """
    shows, place = explanation.shows, explanation.event if event is None else event
    if shows is None or place is None:
        return ""
    text = CAUSES[shows].format(event=place, did=_did(explanation.change))
    return f"{text} (here `{explanation.seen}`)." if explanation.seen else f"{text}."


def _did(change: Change | None) -> str:
    if change is None or change.what is What.SKIPPED:
        return "skipped the fragment"
    return "started a new call" if change.what is What.OPENED else f"added the fragment to its call {change.place}"
