"""Lawful ways to say the same Anthropic calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.stages.shape import sse
from toolstream_core.stages.shape.small_fragments import SplitFragments
from toolstream_core.stages.shape.whole_calls import MergedFragments

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.stages.stage import Stage

_KNOWN: Final = frozenset({"type", "index", "delta", "partial_json"})
"""The keys of a fragment's event."""


class WholeCalls(MergedFragments):
    """Each call's input comes in one delta; a call that was cut off does not come."""

    place = "index"
    known = _KNOWN

    @override
    def delta(self, payload: dict[str, Json], text: str, call: OpenCall) -> dict[str, Json]:
        del call
        return {**payload, "delta": {**payload["delta"], "partial_json": text}}


class TinyFragments(SplitFragments):
    """Arguments come a few characters at a time."""

    known = _KNOWN

    @override
    def delta(self, payload: dict[str, Json], text: str) -> dict[str, Json]:
        return {**payload, "delta": {**payload["delta"], "partial_json": text}}


SHAPES: Final[dict[str, type[Stage]]] = {"whole-calls": WholeCalls, "tiny-fragments": TinyFragments, **sse.SHAPES}
