"""Upstream and client in lockstep: upstream sends a chunk only after the client has received the previous one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.harness.codings import DECODERS
from tests.e2e.harness.script import Gate, Response, Send, Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.harness.client import Reply
    from tests.e2e.harness.script import Step


def lockstep(
    chunks: Sequence[bytes], *, coding: str = "identity", content_type: str = "text/event-stream"
) -> tuple[Response, list[Gate]]:
    """A response in which each chunk waits for its gate, and the end for the last gate."""
    gates = [Gate() for _ in range(len(chunks) + 1)]
    steps: list[Step] = [Wait(gates[0])]
    for chunk, gate in zip(chunks, gates[1:], strict=True):
        steps += [Send(chunk), Wait(gate)]
    return Response(tuple(steps), coding=coding, content_type=content_type), gates


def follow(reply: Reply, chunks: Sequence[bytes], gates: Sequence[Gate], coding: str) -> None:
    """Open the gate of each chunk once the previous chunk has arrived. Times out if the proxy holds a chunk back."""
    decode = DECODERS[coding]()
    gates[0].open()
    for chunk, gate in zip(chunks, gates[1:], strict=True):
        received = b""
        while len(received) < len(chunk):
            received += decode(reply.next_chunk())
        assert received == chunk
        gate.open()
    assert decode(reply.rest()) == b""
