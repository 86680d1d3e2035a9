"""The content of events and of complete responses that several protocols read alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolstream_core.calls.scanner import WHITE
from toolstream_core.model import ABSENT, NOTHING, Absent, EventContent, Finish, Fragment, Json, Kind, Phase, Seen
from toolstream_core.protocols.errors import error_text
from toolstream_core.wire import json_access


def kind_of(payload: dict[str, Json], name: str, key: str = "type") -> str:
    """The type of an event, or the event line's `name` if it has none; `""` if the type is not a string."""
    kind = payload.get(key, name)
    return kind if isinstance(kind, str) else ""


def place_of(value: Json) -> int | Absent:
    """The place of a call or a block: a number in any spelling; `ABSENT` for other values."""
    place = value if type(value) is int else json_access.integer(value)
    return place if isinstance(place, int) else ABSENT


SIGNATURE: Final = ("extra_content", "google", "thought_signature")
"""The path of a thought signature in a call of Google's Chat Completions; source as for `requires_signatures`."""


def requires_signatures(model: Json) -> bool:
    """Whether a model refuses requests that lack the thought signature of a call.

    https://ai.google.dev/gemini-api/docs/thought-signatures
    """
    return isinstance(model, str) and "gemini-3" in model


def call_fragment(
    entry: dict[str, Json],
    named: dict[str, Json],
    arguments: Seen[str],
    index: Seen[int],
    phase: Phase,
    *,
    choice: int = 0,
    kind: Kind = Kind.FUNCTION,
    well_formed: bool = True,
) -> Fragment:
    """The fragment of an entry with the `id` and `type` of a call; `named` has its `name`, often the entry itself."""
    return Fragment(
        choice,
        index,
        json_access.text(entry.get("id", ABSENT)),
        ABSENT,
        json_access.text(named.get("name", ABSENT)),
        arguments,
        json_access.text(entry.get("type", ABSENT)),
        phase,
        kind,
        well_formed,
    )


def started_call(entry: dict[str, Json], key: str, index: Seen[int], phase: Phase, kind: Kind) -> Fragment:
    """The fragment of a block's start, or of a complete block, with the arguments as an object under `key`.

    In a start, an empty object or text stands in place of the arguments.
    """
    value = entry.get(key, ABSENT)
    arguments = ABSENT if value == {} and phase is Phase.OPEN else json_access.argument_text(value)[0]
    if phase is Phase.OPEN and isinstance(arguments, str) and arguments.strip(WHITE) in {"{}", ""}:
        arguments = ABSENT
    return call_fragment(entry, entry, arguments, index, phase, kind=kind)


def finishes(reason: Json) -> tuple[Finish, ...]:
    """The finish of the only choice; none if there is no reason."""
    return (Finish(0, reason),) if reason and isinstance(reason, str) else ()


def text_content(text: Json, thought: Json) -> EventContent:
    """The content of a part of the visible text, or of the model's thinking."""
    if thought and isinstance(thought, str):
        return EventContent(thought=thought)
    return EventContent(text=text) if text and isinstance(text, str) else NOTHING


def unstreamed_content(
    payload: Json, fragments: Iterable[Fragment], texts: Iterable[str], reason: Json
) -> EventContent:
    """The content of a complete response that has its model and its error under the usual keys."""
    model = json_access.get(payload, "model")
    return EventContent(
        tuple(fragments),
        finishes(reason),
        "".join(texts),
        model if isinstance(model, str) else None,
        error_text(payload, ""),
        end=True,
    )
