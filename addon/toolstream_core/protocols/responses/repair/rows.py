"""The name of each elementary difference: which row a field that deviates is, or an event too many or too few."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.arguments import (
    MISSING_DELTAS,
    OBJECT_ARGUMENTS,
    PREFILLED_ARGUMENTS,
    SHORT_CLOSING,
    SHORT_DELTAS,
)
from toolstream_core.defects.identity import (
    CHANGING_CALL_ID,
    DECORATED_NAME,
    DUPLICATE_ID,
    EMPTY_NAME,
    ITEM_PER_FRAGMENT,
    LATE_NAME,
    MISSING_ID,
    MISSING_INDEX,
    REUSED_INDEX,
    ROTATING_ITEM_ID,
)
from toolstream_core.model import ABSENT
from toolstream_core.protocols.responses.repair.event_types import ADDED, CLOSED
from toolstream_core.repair.reading import read_text
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.defects.row import Row
    from toolstream_core.protocols.responses.repair.client import Client
    from toolstream_core.protocols.responses.repair.truth import Meant
    from toolstream_core.repair.fields import Deviation

type Namer = Callable[[Deviation, str, Meant, Client], Row | None]


def of_field(one: Deviation, kind: str, meant: Meant, client: Client) -> Row | None:
    """The row of a field that is not as it has to be; `None` where the deviation is none that can be told."""
    return _FIELDS[one.field](one, kind, meant, client)


def _index(one: Deviation, kind: str, meant: Meant, client: Client) -> Row | None:
    if not isinstance(json_access.integer(one.came), int):
        return MISSING_INDEX
    if meant.has is not None and (why := meant.has.why.get("output_index")):
        return why
    if meant.in_pieces:
        return ITEM_PER_FRAGMENT
    anothers = isinstance(one.came, int) and one.came in client.taken
    return REUSED_INDEX if kind == CLOSED and anothers else None


def _item_id(one: Deviation, kind: str, meant: Meant, client: Client) -> Row | None:
    del one, client, kind
    return ITEM_PER_FRAGMENT if meant.in_pieces else ROTATING_ITEM_ID


def _call_id(one: Deviation, kind: str, meant: Meant, client: Client) -> Row | None:
    del client
    given = meant.call.id
    if kind == ADDED:
        return DUPLICATE_ID if isinstance(one.came, str) and nonblank(one.came) else MISSING_ID
    if one.came == given and meant.has is not None:
        return meant.has.why.get("call_id")
    blank = not (isinstance(one.came, str) and nonblank(one.came))
    return MISSING_ID if blank and not nonblank(given) else CHANGING_CALL_ID


def _name(one: Deviation, kind: str, meant: Meant, client: Client) -> Row | None:
    del client
    if not (isinstance(one.came, str) and nonblank(one.came)):
        return LATE_NAME if kind == ADDED else EMPTY_NAME
    return DECORATED_NAME if one.came == meant.call.name else None


def _delta(one: Deviation, kind: str, meant: Meant, client: Client) -> Row | None:
    del kind, client
    if not isinstance(one.came, str):
        return OBJECT_ARGUMENTS
    prefilled = meant.has.why.get("arguments") if meant.has is not None else None
    return meant.text_row or prefilled


def _arguments(one: Deviation, kind: str, meant: Meant, client: Client) -> Row | None:
    """Of an event that says the arguments whole."""
    del client
    said, text = one.came, one.meant
    assert isinstance(text, str)
    if kind == ADDED:
        return PREFILLED_ARGUMENTS if said not in ("", None, ABSENT) and isinstance(said, str | dict) else None
    if said is ABSENT or said is None:
        return SHORT_CLOSING if is_object(text) else None
    if not isinstance(said, str):
        return OBJECT_ARGUMENTS
    if meant.in_pieces and text.endswith(said):
        return ITEM_PER_FRAGMENT
    meaning = read_text(said, over=True)
    if meaning.row is not None and meaning.text != said and same_arguments(meaning.text, text):
        return meaning.row
    return SHORT_CLOSING if is_object(text) and not is_object(said) else None


_FIELDS: Final[dict[str, Namer]] = {
    "output_index": _index,
    "item_id": _item_id,
    "id": _item_id,
    "call_id": _call_id,
    "name": _name,
    "delta": _delta,
    "arguments": _arguments,
}


def of_rest(meant: Meant) -> Row:
    """Arguments that the deltas lack when an event says them whole."""
    assert meant.has is not None
    return SHORT_DELTAS if meant.has.text.size else MISSING_DELTAS


MESSAGES: Final = {
    "missing-index": "an event of the item has no output_index",
    "reused-index": "the output_index is that of another item",
    "rotating-item-id": "the event has another item id",
    "missing-id": "the item has no call_id",
    "duplicate-id": "the call_id is that of another call",
    "changing-call-id": "the call_id is another than before",
    "late-name": "the name comes with a later event than the one that adds the item",
    "empty-name": "the item that closes the call has no name",
    "decorated-name": "the name is a tool's with something around it",
    "item-per-fragment": "a fragment of the call comes as an item of its own",
    "doubled-call": "the call was said before",
    "repeated-start": "the item is added again",
    "repeated-stop": "the item is closed again",
    "missing-start": "the item was not added before",
    "unstreamed-calls": "the call comes in the completed response only",
    "unclosed-call": "no output_item.done came for the call",
    "missing-deltas": "no delta brought the arguments",
    "short-deltas": "the deltas lack the end of the arguments",
    "short-closing": "the event says less of the arguments than those before it",
    "prefilled-arguments": "the item is added with its arguments",
    "object-arguments": "the arguments are no text",
    "cumulative-arguments": "a delta carries all arguments so far instead of the next ones",
    "replayed-arguments": "the whole arguments came again",
    "placeholder-arguments": "a placeholder came before the arguments",
    "double-encoded-arguments": "the arguments are JSON within a JSON string",
    "trailing-garbage": "something follows the arguments",
    "merged-calls": "arguments of another call follow whole ones",
    "split-surrogate": "a delta ends with half of a surrogate pair",
}
"""What is told, by the row's name."""
