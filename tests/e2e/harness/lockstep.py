"""Upstream and client in step: no piece is sent before the client has the one before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.harness.codings import DECODERS
from tests.e2e.harness.script import Answer, Gate, Send, Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.harness.client import Reply
    from tests.e2e.harness.script import Step


def lockstep(
    pieces: Sequence[bytes], *, coding: str = "identity", content_type: str = "text/event-stream"
) -> tuple[Answer, list[Gate]]:
    """An answer whose every piece waits for its gate, and the end for the last one."""
    gates = [Gate() for _ in range(len(pieces) + 1)]
    steps: list[Step] = [Wait(gates[0])]
    for piece, gate in zip(pieces, gates[1:], strict=True):
        steps += [Send(piece), Wait(gate)]
    return Answer(tuple(steps), coding=coding, content_type=content_type), gates


def follow(reply: Reply, pieces: Sequence[bytes], gates: Sequence[Gate], coding: str) -> None:
    """Let each piece go when the one before is here; a piece that is held back is waited for in vain."""
    decode = DECODERS[coding]()
    gates[0].open()
    for piece, gate in zip(pieces, gates[1:], strict=True):
        here = b""
        while len(here) < len(piece):
            here += decode(reply.piece())
        assert here == piece
        gate.open()
    assert decode(reply.rest()) == b""
