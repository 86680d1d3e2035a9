"""Long strings made short, each in the same way in all events and requests, because ids tie these together."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from toolstream_core.model import ABSENT
from toolstream_core.protocols.requests import asked
from toolstream_core.shrinking.channels import channels
from toolstream_core.shrinking.passes.proposal import Proposal
from toolstream_core.shrinking.tree import mapped, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import Json
    from toolstream_core.shrinking.candidate import Candidate, Turn
    from toolstream_core.shrinking.passes.proposal import Cursor

_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
_ID = re.compile(r"([A-Za-z]+[-_])?[\w-]*\d[\w-]*$")
_SHORTEST = 8
_KEPT_KEYS = {"model", "modelVersion", "type", "object", "role", "name"}


def proposals(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Each long string replaced by a short one, those that take the most bytes first."""
    del cursor  # After a change the strings are looked at anew.
    counted = Counter(_strings(candidate))
    kept = _kept(candidate)
    for old in sorted(counted, key=lambda one: (-len(one) * counted[one], one)):
        if old not in kept:
            for new in _shorter(old, frozenset(counted)):
                yield Proposal(tuple(_renamed(turn, old, new) for turn in candidate), ())


def _payloads(candidate: Candidate) -> Iterator[Json]:
    for turn in candidate:
        yield turn.exchange.request
        for piece in turn.pieces:
            yield piece.frame.json


def _strings(candidate: Candidate) -> Iterator[str]:
    for payload in _payloads(candidate):
        yield from (value for _, _, value in nodes(payload) if isinstance(value, str) and len(value) >= _SHORTEST)


def _kept(candidate: Candidate) -> set[str]:
    """Strings that stay: names, types, and texts, which have a pass of their own."""
    kept = {part.text for turn in candidate for channel in channels(turn) for part in channel.parts}
    kept.update(channel.text for turn in candidate for channel in channels(turn))
    kept.update(
        name
        for turn in candidate
        for name in asked.reader_of(turn.exchange.path, turn.exchange.request).tools(turn.exchange.request)
    )
    for payload in _payloads(candidate):
        for path, _, value in nodes(payload):
            if isinstance(value, str) and path and path[-1] in _KEPT_KEYS:
                kept.add(value)
    return kept


def _shorter(text: str, taken: frozenset[str]) -> Iterator[str]:
    if _TIME.match(text):
        return
    found = _ID.match(text)
    if found is None:
        if len(text) > _SHORTEST and (" " in text or len(text) > 4 * _SHORTEST):
            yield from ("", text[:_SHORTEST])
        return
    stem = found[1] or "id_"
    new = next(one for number in range(1, len(taken) + 2) if (one := f"{stem}{number}") not in taken)
    yield from (short for short in (new, text[: len(text) // 2]) if len(short) < len(text))


def _renamed(turn: Turn, old: str, new: str) -> Turn:
    def change(text: str) -> str:
        return new if text == old else text

    asked = turn.exchange.request
    pieces = list(turn.pieces)
    for number, piece in enumerate(pieces):
        payload = piece.frame.json
        other = payload if payload is ABSENT else mapped(payload, change)
        if other is not payload:
            pieces[number] = turn.framing.rewritten(piece, other)
    exchange = replace(turn.exchange, request=asked if asked is ABSENT else mapped(asked, change))
    return replace(turn, exchange=exchange, pieces=tuple(pieces))
