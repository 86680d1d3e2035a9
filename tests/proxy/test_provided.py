"""Saved responses as the metadata of flows."""

from __future__ import annotations

from mitmproxy.test import tflow

from tests.proxy.flows import CHUNK, DONE, llm_flow
from toolstream_core.model import Chunk
from toolstream_core.proxy.flow_facts import NOTED, Provided, breaks, provided
from toolstream_core.saved.flow import body_note
from toolstream_core.sockets.lines import LineEnds, line_of

CHUNKS = [Chunk(0, CHUNK), Chunk(12, DONE)]


def test_noted_chunks_are_read_back() -> None:
    """The chunks with their times and the disconnect are read back."""
    flow = llm_flow(body=CHUNK + DONE)
    for broken in (None, "peer closed"):
        flow.metadata[NOTED] = body_note(CHUNKS, broken)
        assert provided(flow) == Provided(CHUNKS, broken)
        assert breaks(flow) == (broken is not None)


def test_messages_of_several_lines_are_read_back() -> None:
    """A WebSocket message with line breaks is read back by its line, which is the chunk."""
    message = b'{\r\n"a": 1\n}'
    chunk = Chunk(0, line_of(message))
    ends = LineEnds()
    ends.add(0, message)
    flow = llm_flow(body=chunk.data)
    flow.metadata[NOTED] = body_note([chunk], None, ends)
    assert provided(flow) == Provided([chunk], None, {chunk.data: message})


def test_a_disconnect_before_the_first_byte() -> None:
    """A response may have a disconnect and no chunks."""
    flow = llm_flow(body=b"")
    flow.metadata[NOTED] = body_note([], "peer closed")
    assert provided(flow) == Provided([], "peer closed")


def test_a_live_response_has_no_saved_chunks() -> None:
    """Neither a live response nor a saved one that mitmproxy replays, whose body follows, has saved chunks."""
    assert provided(llm_flow(body=CHUNK)) is None
    assert provided(tflow.tflow()) is None
    replayed = llm_flow()
    replayed.metadata[NOTED] = body_note(CHUNKS, "peer closed")
    assert provided(replayed) is None
    assert not breaks(replayed)
