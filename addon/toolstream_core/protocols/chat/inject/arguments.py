"""Defects of what a Chat Completions call says, caused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.chat.edit import Piece, continuation, entry_chunk, pieces, with_entries
from toolstream_core.protocols.chat.inject.entry import EntryInjector, maker
from toolstream_core.stages.inject.injector import Injector

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker, Pick
    from toolstream_core.wire.frame import Frame


def _empty(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    if not injector.context.may_be_empty(piece.call.name) or piece.arguments.strip() != "{}":
        return None
    if not piece.opening and piece.call.arguments.text().strip() != "{}":
        return None
    return _said(piece, "")


def _lost(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    return _said(piece, "") if piece.arguments else None


def _null(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    return _said(piece, None) if piece.opening and not piece.arguments else None


def _object(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """Once they are whole, the arguments come as an object; their fragments are left out."""
    del injector
    if not piece.arguments:
        return None
    value = _value(piece)
    return _said(piece, value) if isinstance(value, dict) else _left_out(piece)


def _cumulative(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    if not piece.arguments:
        return None
    before = injector.kept.get(id(piece.call), "")
    injector.kept[id(piece.call)] = so_far = before + piece.arguments
    return _said(piece, so_far) if before else None


def _replayed(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """Behind the last fragment comes the whole call again."""
    call = piece.call
    if not call.arguments.whole or id(call) in injector.kept or not piece.arguments:
        return None
    injector.kept[id(call)] = "said again"
    again = continuation(piece.fragment.index, call.arguments.reading()[0])
    again["function"]["name"] = call.name
    identity = {"id": call.id, "type": "function"} if call.id else {}
    return [piece.entry, {**_place(piece), **identity, "function": again["function"]}]


def _placeholder(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """`{}` stands in the header, and the arguments follow."""
    if not piece.opening or injector.context.takes_none(piece.call.name):
        return None
    arguments = piece.arguments
    if arguments.strip() == "{}":
        return None
    piece.function["arguments"] = "{}"
    return [piece.entry, *([continuation(piece.fragment.index, arguments)] if arguments else [])]


def _double_encoded(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """Each fragment as it stands within a JSON string; the quotes come with the first and the last."""
    if not piece.arguments:
        return None
    begun = id(piece.call) in injector.kept
    injector.kept[id(piece.call)] = "begun"
    text = json.dumps(piece.arguments, ensure_ascii=False)[1:-1]
    closing = '"' if piece.call.arguments.whole else ""
    return _said(piece, f"{'' if begun else chr(34)}{text}{closing}")


def _invalid(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """A line feed stands unescaped in a string: one that was there, or at the end of a value."""
    if id(piece.call) in injector.kept or ("\\n" not in piece.arguments and '"}' not in piece.arguments):
        return None
    injector.kept[id(piece.call)] = "done"
    if "\\n" in piece.arguments:
        return _said(piece, piece.arguments.replace("\\n", "\n", 1))
    return _said(piece, piece.arguments.replace('"}', '\n"}', 1))


def _garbage(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """Special tokens come behind the arguments, and the next delta goes on with them."""
    if not piece.call.arguments.whole or not piece.arguments or id(piece.call) in injector.kept:
        return None
    injector.kept[id(piece.call)] = "done"
    piece.function["arguments"] = f"{piece.arguments}<|tool"
    return [piece.entry, continuation(piece.fragment.index, "_call_end|>")]


def _misnamed(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """Once they are whole, the arguments come as an object under `parameters`."""
    del injector
    if not piece.arguments:
        return None
    value = _value(piece)
    if not isinstance(value, dict):
        return _left_out(piece)
    piece.function.pop("arguments", None)
    piece.function["parameters"] = value
    return [piece.entry]


def _split_surrogate(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """The first character outside the basic plane is cut in two."""
    del injector
    text = piece.arguments
    at = next((place for place, character in enumerate(text) if character > "\uffff"), -1)
    if at < 0:
        return None
    high, low = divmod(ord(text[at]) - 0x10000, 0x400)
    piece.function["arguments"] = text[:at] + chr(0xD800 + high)
    return [piece.entry, continuation(piece.fragment.index, chr(0xDC00 + low) + text[at + 1 :])]


def _value(piece: Piece) -> Json:
    try:
        return json.loads(piece.call.arguments.reading()[0]) if piece.call.arguments.whole else None
    except (ValueError, RecursionError):
        return None


def _said(piece: Piece, arguments: Json) -> Iterable[Json]:
    piece.function["arguments"] = arguments
    return [piece.entry]


def _left_out(piece: Piece) -> Iterable[Json]:
    """The fragment goes; a header stays."""
    if not piece.opening and not piece.function.get("name"):
        return []
    return _said(piece, "")


def _place(piece: Piece) -> dict[str, Json]:
    return {"index": piece.entry["index"]} if "index" in piece.entry else {}


class MergedCalls(Injector):
    """The second call's arguments come behind the first one's, and the second call does not."""

    def __init__(self, context: Context, pick: Pick) -> None:
        """As `Injector`."""
        super().__init__(context, pick)
        self._seen: set[int] = set()
        self._order: list[int] = []

    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """As `Stage.take`."""
        found = pieces(event, resolved, self._seen)
        if found is None or not self._pick.stream():
            return [event.frame]
        said: list[tuple[int, Json]] = []
        for piece in found:
            if piece.opening:
                self._order.append(id(piece.call))
            if id(piece.call) == self._order[0]:
                self._index = piece.fragment.index
                said.append((piece.choice, piece.entry))
            elif piece.arguments:
                self._pick.acted()
                said.append((piece.choice, continuation(self._index, piece.arguments)))
        if not said:
            return []
        if len(said) == len(found) and all(id(piece.call) == self._order[0] for piece in found):
            return [event.frame]
        writer, payload, number = self._context.writer, event.frame.json, event.frame.number
        extra = [writer.make(entry_chunk(payload, choice, entry), number) for choice, entry in said[:-1]]
        return [*extra, writer.rewrite(event.frame, with_entries(payload, said[-1:]))]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "empty-arguments": maker(_empty),
    "lost-arguments": maker(_lost),
    "null-arguments": maker(_null),
    "object-arguments": maker(_object),
    "cumulative-arguments": maker(_cumulative),
    "replayed-arguments": maker(_replayed),
    "placeholder-arguments": maker(_placeholder),
    "double-encoded-arguments": maker(_double_encoded),
    "merged-calls": MergedCalls,
    "invalid-arguments": maker(_invalid),
    "trailing-garbage": maker(_garbage),
    "misnamed-arguments": maker(_misnamed),
    "split-surrogate": maker(_split_surrogate),
}
