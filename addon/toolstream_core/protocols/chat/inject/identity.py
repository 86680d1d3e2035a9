"""Defects of who a Chat Completions call is, caused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model import ABSENT
from toolstream_core.protocols.chat.edit import Piece, continuation
from toolstream_core.protocols.chat.inject.entry import EntryInjector, maker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.model import Json
    from toolstream_core.stages.inject.injector import InjectorMaker

_TWO = 2


def _missing_id(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    if piece.entry.pop("id", None) is None and not piece.opening:
        return None
    return [piece.entry]


def _empty_id(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    return None if piece.opening else [_with(piece, id="")]


def _null_identity(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    if piece.opening:
        return None
    piece.function.setdefault("name", None)
    return [_with(piece, id=None, type=None)]


def _repeated_id(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    return None if piece.opening or not piece.call.id else [_with(piece, id=piece.call.id)]


def _changing_id(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    if piece.opening or not piece.call.id or not piece.arguments:
        return None
    count = injector.kept[id(piece.call)] = str(int(injector.kept.get(id(piece.call), "0")) + 1)
    return [_with(piece, id=f"{piece.call.id}_{count}")]


def _duplicate_id(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    first = injector.calls[0]
    if piece.call is first or not first.id or "id" not in piece.entry:
        return None
    return [_with(piece, id=first.id)]


def _late_id(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """The id comes with the second entry; a call of one entry gets a header without id before it."""
    if piece.opening and piece.call.id:
        injector.kept[id(piece.call)] = piece.call.id
        identity = piece.entry.pop("id", None)
        if not piece.arguments:
            return [piece.entry]
        arguments = piece.function["arguments"]
        piece.function["arguments"] = ""
        rest = {**continuation(piece.fragment.index, arguments), "id": identity}
        injector.kept.pop(id(piece.call))
        return [piece.entry, rest]
    owed = injector.kept.pop(id(piece.call), None)
    return None if owed is None else [_with(piece, id=owed)]


def _late_name(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """The name comes after the first arguments."""
    if piece.opening and piece.call.name:
        name = piece.function.pop("name", None)
        if not piece.arguments:
            injector.kept[id(piece.call)] = str(name)
            return [piece.entry]
        rest = continuation(piece.fragment.index, "")
        rest["function"]["name"] = name
        return [piece.entry, rest]
    owed = injector.kept.pop(id(piece.call), None)
    if owed is None:
        return None
    more = piece.function.get("name") or ""
    piece.function["name"] = owed if more == owed else f"{owed}{more}"
    return [piece.entry]


def _split_name(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    name = piece.function.get("name")
    if not piece.opening or not isinstance(name, str) or len(name) < _TWO:
        return None
    arguments = piece.function.get("arguments", ABSENT)
    half = len(name) // 2
    piece.function.update({"name": name[:half], "arguments": ""})
    rest = continuation(piece.fragment.index, "")
    rest["function"] = {"name": name[half:]}
    return [piece.entry, rest, *([continuation(piece.fragment.index, arguments)] if arguments else [])]


def _repeated_name(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    if piece.opening or not piece.call.name or (piece.call.arguments.whole and not piece.arguments):
        return None
    piece.function["name"] = piece.call.name
    return [piece.entry]


def _empty_name(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    if piece.opening or piece.function.get("name"):
        return None
    piece.function["name"] = ""
    return [piece.entry]


def _decorated_name(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    name = piece.function.get("name")
    if not piece.opening or not isinstance(name, str) or name not in injector.context.schemas:
        return None
    piece.function["name"] = f"functions.{name}"
    return [piece.entry]


def _missing_name(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    return None if piece.function.pop("name", None) is None else [piece.entry]


def _missing_type(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    return None if piece.entry.pop("type", None) is None else [piece.entry]


def _missing_index(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    return None if piece.entry.pop("index", None) is None else [piece.entry]


def _reused_index(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    first = injector.calls[0]
    if piece.call is first or not isinstance(first.index, int):
        return None
    return [_with(piece, index=first.index)]


def _offset_index(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    index = piece.entry.get("index")
    return [_with(piece, index=index + 1)] if isinstance(index, int) else None


def _odd_index(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    index = piece.entry.get("index")
    return [_with(piece, index=str(index))] if isinstance(index, int) else None


def _changing_index(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    index = piece.entry.get("index")
    if piece.opening or not isinstance(index, int) or not piece.call.id or not piece.arguments:
        return None
    return [_with(piece, index=index + 7, id=piece.call.id)]


def _doubled_call(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    """Once the call is whole it comes again, whole, at an index of its own."""
    call = piece.call
    if not call.arguments.whole or not call.id or not injector.first_time(call):
        return None
    function = {"name": call.name, "arguments": call.arguments.reading()[0]}
    again = {"index": 100 + call.position, "id": call.id, "type": "function", "function": function}
    return [piece.entry, again]


def _odd_id(piece: Piece, injector: EntryInjector) -> Iterable[Json] | None:
    del injector
    identity = piece.entry.get("id")
    return [_with(piece, id=f"{identity}{'x' * 400}")] if piece.opening and identity else None


def _with(piece: Piece, **fields: Json) -> Json:
    """The entry with these fields, in their usual places."""
    order = ("index", "id", "type")
    entry = {**piece.entry, **fields}
    first = {key: entry[key] for key in order if key in entry}
    return {**first, **{key: value for key, value in entry.items() if key not in order}}


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "missing-id": maker(_missing_id, steady=True),
    "empty-id": maker(_empty_id, steady=True),
    "null-identity": maker(_null_identity, steady=True),
    "repeated-id": maker(_repeated_id, steady=True),
    "changing-id": maker(_changing_id),
    "duplicate-id": maker(_duplicate_id, steady=True),
    "late-id": maker(_late_id, steady=True),
    "late-name": maker(_late_name, steady=True),
    "split-name": maker(_split_name, steady=True),
    "repeated-name": maker(_repeated_name, steady=True),
    "empty-name": maker(_empty_name, steady=True),
    "decorated-name": maker(_decorated_name, steady=True),
    "missing-name": maker(_missing_name, steady=True),
    "missing-type": maker(_missing_type, steady=True),
    "missing-index": maker(_missing_index, steady=True),
    "reused-index": maker(_reused_index, steady=True),
    "offset-index": maker(_offset_index, steady=True),
    "odd-index": maker(_odd_index, steady=True),
    "changing-index": maker(_changing_index, steady=True),
    "doubled-call": maker(_doubled_call, steady=True),
    "odd-id": maker(_odd_id, steady=True),
}
