"""Calls that come only in the `message` of a choice: sent to the client as deltas before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.finish import UNSTREAMED_CALLS
from toolstream_core.protocols.chat.repair.entries import ReceivedEntry, read_entry, written
from toolstream_core.repair.difference import lack
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.chat.repair.stream import Stream
    from toolstream_core.protocols.chat.repair.writer import EntryWriter
    from toolstream_core.repair.client import Client
    from toolstream_core.repair.contract import Touched
    from toolstream_core.wire.frame import Frame

_STREAMED: Final = frozenset(
    {"role", "content", "reasoning", "reasoning_content", "reasoning_details", "refusal", "annotations", "audio"}
)
"""Keys of a message that deltas before it have had."""


def unstreamed(
    raw: dict[str, Json], said: list[Touched], number: int, client: Client, stream: Stream, writer: EntryWriter
) -> list[Frame] | None:
    """The events with these calls; `None` where the message is forwarded unchanged."""
    entries = [read_entry(entry) for entry in _message_entries(raw)]
    out: list[Frame] = []
    moved = False
    for at, part in enumerate(said):
        one, choice = part.one, part.fragment.choice
        one.came = part.upto
        if (one.is_open or one.held) and not one.in_message:
            one.row = UNSTREAMED_CALLS  # where the deltas lack something that only the message says
            continue
        if one.intended.nothing or client.doubles(one):
            continue
        more = lack(one, part.piece, upto=part.upto)
        if more.contradicts:
            continue
        one.in_message = True
        if not client.reporter.report(UNSTREAMED_CALLS, number, "the call comes in a message only", one.intended.call):
            one.text.diverged = True
            continue
        moved = True
        if names := client.withholding(one, over=True):
            client.reporter.shape(names)
            continue
        if one.is_open and not more.text:
            continue
        entry = entries[at].raw if at < len(entries) else {}
        rest = {key: value for key, value in entry.items() if key != "index"} if isinstance(entry, dict) else {}
        fields = writer.said_fields(one, writer.turn(choice), more)
        out.append(
            stream.chunk(stream.choice(choice), {"tool_calls": [written(ReceivedEntry({}, rest), fields)]}, number)
        )
    return out if moved else None


def without_calls(choice: dict[str, Json], *, text_said: bool) -> dict[str, Json]:
    """A choice whose calls were sent as deltas: the rest of its message becomes the delta, if no text came before."""
    rest, delta = rest_of(choice), choice.get("delta")
    kept = {key: value for key, value in choice.items() if key != "message"}
    if text_said:
        rest = {key: value for key, value in rest.items() if key not in _STREAMED}
    return {**kept, "delta": {**rest, **(delta if isinstance(delta, dict) else {})}}


def rest_of(choice: dict[str, Json]) -> dict[str, Json]:
    """The message of a choice without its calls."""
    return {key: value for key, value in choice["message"].items() if key not in {"tool_calls", "function_call"}}


def _message_entries(choice: Json) -> list[Json]:
    message = json_access.get(choice, "message")
    entries = json_access.items(json_access.get(message, "tool_calls"))
    if entries:
        return entries
    legacy = json_access.get(message, "function_call")
    return [{"function": legacy}] if isinstance(legacy, dict) else []
