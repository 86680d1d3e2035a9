"""What a saved answer becomes on its way."""

from __future__ import annotations

from mitmproxy.test import tflow

from tests.proxy.flows import CHUNK, DONE, llm_flow
from toolstream_core.proxy.flow_facts import Provided, breaks, note_chunks, provided
from toolstream_core.shrinking.candidate import Chunk
from toolstream_core.sockets.lines import LineEnds, line_of

CHUNKS = [Chunk(0, CHUNK), Chunk(12, DONE)]


def test_what_was_noted_is_read_back() -> None:
    """The chunks with their times, and how it broke."""
    flow = llm_flow(body=CHUNK + DONE)
    for broken in (None, "peer closed"):
        note_chunks(flow, CHUNKS, broken)
        assert provided(flow) == Provided(CHUNKS, broken)
        assert breaks(flow) == (broken is not None)


def test_messages_of_several_lines_are_read_back() -> None:
    """By their lines, which are the chunks."""
    message = b'{\r\n"a": 1\n}'
    chunk = Chunk(0, line_of(message))
    ends = LineEnds()
    ends.add(0, message)
    flow = llm_flow(body=chunk.data)
    note_chunks(flow, [chunk], None, ends)
    assert provided(flow) == Provided([chunk], None, {chunk.data: message})


def test_a_break_before_the_first_byte() -> None:
    """There is an answer, without any chunk."""
    flow = llm_flow(body=b"")
    note_chunks(flow, [], "peer closed")
    assert provided(flow) == Provided([], "peer closed")


def test_live_answers_are_not_provided() -> None:
    """One that nobody has noted; a saved one that mitmproxy plays again, whose body is still to come."""
    assert provided(llm_flow(body=CHUNK)) is None
    assert provided(tflow.tflow()) is None
    again = llm_flow()
    note_chunks(again, CHUNKS, "peer closed")
    assert provided(again) is None
    assert not breaks(again)
