"""Requests made smaller: settings, tools, earlier messages, texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.shrinking.candidate import with_turn
from toolstream_core.shrinking.passes.proposal import Proposal, spans
from toolstream_core.shrinking.tree import nodes, put, without

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import Json
    from toolstream_core.shrinking.candidate import Candidate
    from toolstream_core.shrinking.passes.proposal import Cursor
    from toolstream_core.shrinking.tree import Path

_LONG = 16
_KEPT = {"model", "stream", "messages", "input", "contents"}


def proposals(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Each request with something less in it."""
    del cursor  # After a change the request is looked at anew.
    for at, turn in enumerate(candidate):
        request = turn.exchange.request
        if isinstance(request, dict):
            for smaller in _smaller(request):
                yield Proposal(with_turn(candidate, at, turn.with_request(smaller)), ())


def _smaller(request: dict[str, Json]) -> Iterator[Json]:
    for key in [key for key in request if key not in _KEPT]:
        yield without(request, (key,))
    lists = [(path, value) for path, _, value in nodes(request) if isinstance(value, list) and value]
    for path, value in lists:
        for span in spans(len(value), ()):
            kept = value[: span.begin] + value[span.end :]
            if kept or path[:1] not in {(key,) for key in _KEPT}:
                yield put(request, path, kept)
    for path, _, value in nodes(request):
        yield from _simpler(request, path, value)


def _simpler(request: Json, path: Path, value: Json) -> Iterator[Json]:
    """The request with a shorter text, or without what only describes a tool."""
    last = path[-1] if path else None
    if isinstance(value, str) and len(value) > _LONG and last not in _KEPT:
        yield from (put(request, path, short) for short in ("", value[:_LONG]))
    if last in {"description", "title", "examples", "default"}:
        yield without(request, path)
