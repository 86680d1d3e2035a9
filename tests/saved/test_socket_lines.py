from __future__ import annotations

import json

from toolstream_core.model import Chunk
from toolstream_core.protocols.registry import SOCKETS
from toolstream_core.protocols.socket_wire import SocketLane
from toolstream_core.saved.flowfile import socket_lines

[WIRE] = (wire for wire in SOCKETS if wire.lane_key == "stream_id")
EVENTS = [
    b'event: a\ndata: {"type":"a"}\n\n',
    b': comment\n\ndata: {"type": "b",\ndata: "n": 1}\n\n',
    b"data: [DONE]\n\n",
]


def test_the_data_of_events_are_the_messages() -> None:
    """A message has the time of the event's last chunk; comments and data that is no JSON are skipped."""
    chunks = [Chunk(0, EVENTS[0][:9]), Chunk(5, EVENTS[0][9:] + EVENTS[1][:14]), Chunk(9, EVENTS[1][14:] + EVENTS[2])]
    lines = socket_lines(chunks, "text/event-stream", SocketLane(WIRE, ""))
    assert lines == [Chunk(5, b'{"type":"a"}\n'), Chunk(9, b'{"type": "b", "n": 1}\n')]
    without_end = [Chunk(1, EVENTS[0].rstrip())]
    assert socket_lines(without_end, "text/event-stream", SocketLane(WIRE, "")) == [Chunk(1, b'{"type":"a"}\n')]


def test_lines_are_moved_to_another_lane() -> None:
    """A line that is on the lane already keeps its bytes."""
    recorded = [Chunk(0, b'{"type": "a", "stream_id": "x"}\n'), Chunk(3, b'{"type":"b"}\n')]
    kind = "application/x-ndjson"
    assert socket_lines(recorded, kind, SocketLane(WIRE, "x")) == [
        recorded[0],
        Chunk(3, b'{"type":"b","stream_id":"x"}\n'),
    ]
    placed = [json.loads(line) for _, line in socket_lines(recorded, kind, SocketLane(WIRE, "y"))]
    assert placed == [{"type": "a", "stream_id": "y"}, {"type": "b", "stream_id": "y"}]
    plain = [json.loads(line) for _, line in socket_lines(recorded, kind, SocketLane(WIRE, ""))]
    assert plain == [{"type": "a"}, {"type": "b"}]


def test_other_bytes_give_no_messages() -> None:
    """An empty body gives no messages, too."""
    assert socket_lines([Chunk(0, b"<html>")], "text/html", SocketLane(WIRE, "")) == []
    assert socket_lines([], "", SocketLane(WIRE, "")) == []
