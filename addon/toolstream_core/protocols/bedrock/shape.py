"""Lawful ways to say the same Converse calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.bedrock.converse_event import BLOCK_DELTA, INDEX, with_input
from toolstream_core.stages.shape.small_fragments import SplitFragments
from toolstream_core.stages.shape.whole_calls import MergedFragments

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.stages.stage import Stage

_KNOWN: Final = frozenset({BLOCK_DELTA, INDEX, "delta", "toolUse", "input", "p"})
"""The keys of a fragment's event."""


class WholeCalls(MergedFragments):
    """Each call's input comes in one delta; a call that was cut off does not come."""

    place = INDEX
    known = _KNOWN

    @override
    def delta(self, payload: dict[str, Json], text: str, call: OpenCall) -> dict[str, Json]:
        del call
        return with_input(payload, text)


class TinyFragments(SplitFragments):
    """Arguments come a few characters at a time."""

    known = _KNOWN

    @override
    def delta(self, payload: dict[str, Json], text: str) -> dict[str, Json]:
        return with_input(payload, text)


SHAPES: Final[dict[str, type[Stage]]] = {"whole-calls": WholeCalls, "tiny-fragments": TinyFragments}
