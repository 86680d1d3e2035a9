"""Lawful ways to say the same Cohere calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.cohere.wire import CALL_DELTA, CALL_END, CALL_START, index_of, kind_of, with_arguments
from toolstream_core.stages.shape import sse
from toolstream_core.stages.shape.small_fragments import SplitFragments
from toolstream_core.stages.shape.whole_calls import MergedFragments

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.stages.stage import Stage

_KNOWN: Final = frozenset({"type", "index", "delta", "message", "tool_calls", "function", "arguments"})
"""The keys of a fragment's event."""


class WholeCalls(MergedFragments):
    """Each call's arguments come in one delta; a call that was cut off does not come."""

    place = "index"
    known = _KNOWN

    @override
    def place_of(self, payload: Json) -> int | None:
        """Content blocks are counted apart from calls."""
        return index_of(payload) if kind_of(payload) in {CALL_START, CALL_DELTA, CALL_END} else None

    @override
    def delta(self, payload: dict[str, Json], text: str, call: OpenCall) -> dict[str, Json]:
        del call
        return with_arguments(payload, text)


class TinyFragments(SplitFragments):
    """Arguments come a few characters at a time."""

    known = _KNOWN

    @override
    def delta(self, payload: dict[str, Json], text: str) -> dict[str, Json]:
        return with_arguments(payload, text)


SHAPES: Final[dict[str, type[Stage]]] = {"whole-calls": WholeCalls, "tiny-fragments": TinyFragments, **sse.SHAPES}
