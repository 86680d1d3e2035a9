"""The stream callable of an answer: ours, and behind it another addon's. Knows mitmproxy's form of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolstream_core.proxy.watch import Watch

type Through = Callable[[bytes], bytes | Iterable[bytes]]


def pieces(passed: bytes | list[bytes]) -> list[bytes]:
    """What goes on, as a list."""
    return [passed] if isinstance(passed, bytes) else passed


def through(watch: Watch, before: bool | Through) -> Through:  # noqa: FBT001 - mitmproxy's own form of it
    """The stream callable of a flow; one that another addon has set still has its say, after us."""
    if isinstance(before, bool):
        return watch.stream

    def both(chunk: bytes) -> bytes | Iterable[bytes]:
        if not watch.rewrites:
            watch.stream(chunk)
            return before(chunk)
        out = [after for piece in pieces(watch.stream(chunk)) for after in _through_too(before, piece)]
        return out if chunk else [*out, *_through_too(before, b"")]

    return both


def _through_too(before: Through, chunk: bytes) -> list[bytes]:
    """What another addon's callable makes of a chunk, without what would end the body."""
    made = before(chunk)
    return [piece for piece in ([made] if isinstance(made, bytes) else made) if piece]
