"""Defects of what a Chat Completions call says, caused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.chat.edit import Piece, continuation, entry_chunk, pieces, with_entries
from toolstream_core.protocols.chat.inject.entry import EntryInjector, maker
from toolstream_core.stages.inject import argument_text
from toolstream_core.stages.inject.argument_text import whole_arguments
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
    return _with_arguments(piece, "")


def _lost(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    return _with_arguments(piece, "") if piece.arguments else None


def _null(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    return _with_arguments(piece, None) if piece.opening and not piece.arguments else None


def _object(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """Once they are whole, the arguments come as an object; their fragments are left out."""
    del injector
    if not piece.arguments:
        return None
    whole = whole_arguments(piece.call)
    return _left_out(piece) if whole is None else _with_arguments(piece, whole)


def _cumulative(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    if not piece.arguments:
        return None
    before = injector.kept.get(id(piece.call), "")
    injector.kept[id(piece.call)] = so_far = before + piece.arguments
    return _with_arguments(piece, so_far) if before else None


def _replayed(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """Behind the last fragment comes the whole call again."""
    call = piece.call
    if not call.arguments.whole or not piece.arguments or not injector.first_time(call):
        return None
    again = continuation(piece.fragment.index, call.arguments.reading()[0])
    again["function"]["name"] = call.name
    identity = {"id": call.id, "type": "function"} if call.id else {}
    return [piece.entry, {**_place(piece), **identity, "function": again["function"]}]


def _placeholder(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """`{}` stands in the header, and the arguments follow."""
    if not piece.opening or piece.call.name in injector.context.parameterless:
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
    first, last = injector.first_time(piece.call), piece.call.arguments.whole
    return _with_arguments(piece, argument_text.double_encoded(piece.arguments, first=first, last=last))


def _invalid(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """A line feed stands unescaped in a string: one that was there, or at the end of a value."""
    if ("\\n" not in piece.arguments and '"}' not in piece.arguments) or not injector.first_time(piece.call):
        return None
    if "\\n" in piece.arguments:
        return _with_arguments(piece, piece.arguments.replace("\\n", "\n", 1))
    return _with_arguments(piece, piece.arguments.replace('"}', '\n"}', 1))


def _garbage(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """Special tokens come behind the arguments, and the next delta goes on with them."""
    if not piece.call.arguments.whole or not piece.arguments or not injector.first_time(piece.call):
        return None
    piece.function["arguments"] = f"{piece.arguments}<|tool"
    return [piece.entry, continuation(piece.fragment.index, "_call_end|>")]


def _misnamed(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """Once they are whole, the arguments come as an object under `parameters`."""
    del injector
    if not piece.arguments:
        return None
    whole = whole_arguments(piece.call)
    if whole is None:
        return _left_out(piece)
    piece.function.pop("arguments", None)
    piece.function["parameters"] = whole
    return [piece.entry]


def _split_surrogate(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """The first character outside the basic plane is cut in two."""
    del injector
    halves = argument_text.split_surrogates(piece.arguments)
    if halves is None:
        return None
    piece.function["arguments"] = halves[0]
    return [piece.entry, continuation(piece.fragment.index, halves[1])]


def _with_arguments(piece: Piece, arguments: Json) -> Iterable[Json]:
    piece.function["arguments"] = arguments
    return [piece.entry]


def _left_out(piece: Piece) -> Iterable[Json]:
    """The fragment goes; a header stays."""
    if not piece.opening and not piece.function.get("name"):
        return []
    return _with_arguments(piece, "")


def _place(piece: Piece) -> dict[str, Json]:
    return {"index": piece.entry["index"]} if "index" in piece.entry else {}


class MergedCalls(Injector):
    """The second call's arguments come behind the first one's, and the second call does not."""

    @override
    def __init__(self, context: Context, pick: Pick) -> None:
        super().__init__(context, pick)
        self._seen: set[int] = set()
        self._order: list[int] = []

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        found = pieces(event, resolved, self._seen)
        if found is None or not self._pick.stream():
            return [event.frame]
        entries: list[tuple[int, Json]] = []
        for piece in found:
            if piece.opening:
                self._order.append(id(piece.call))
            if id(piece.call) == self._order[0]:
                self._index = piece.fragment.index
                entries.append((piece.choice, piece.entry))
            elif piece.arguments:
                self._pick.acted()
                entries.append((piece.choice, continuation(self._index, piece.arguments)))
        if not entries:
            return []
        if len(entries) == len(found) and all(id(piece.call) == self._order[0] for piece in found):
            return [event.frame]
        writer, payload, number = self._context.writer, event.frame.json, event.frame.number
        extra = [writer.make(entry_chunk(payload, choice, entry), number) for choice, entry in entries[:-1]]
        return [*extra, writer.rewrite(event.frame, with_entries(payload, entries[-1:]))]


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
