"""Messages become lines and messages again."""

import json

from toolstream_core.protocols.registry import SOCKETS
from toolstream_core.protocols.socket_wire import SocketLane
from toolstream_core.sockets.lines import Messages

[WIRE] = (wire for wire in SOCKETS if wire.lane_key == "stream_id")


def test_a_message_that_goes_on_is_the_one_that_came() -> None:
    """Also one that was written over several lines."""
    messages = Messages(SocketLane(WIRE, ""))
    for message in (b'{"a":1}', b'{\r\n  "a": 1\n}', b" {} "):
        line = messages.line(message)
        assert line.count(b"\n") == 1
        assert json.loads(line) == json.loads(message)
        assert messages.take(line) == [message]


def test_pieces_are_put_together() -> None:
    """Several lines in one piece, one line in several, blank lines, and a last one without its end."""
    messages = Messages(SocketLane(WIRE, ""))
    assert messages.take(b'{"a":1}\n\n{"b":2}\n{"c"') == [b'{"a":1}', b'{"b":2}']
    assert messages.take(b':3}\n{"d":4}') == [b'{"c":3}']
    assert messages.end() == [b'{"d":4}']
    assert messages.end() == []


def test_a_message_that_was_put_in_gets_its_lane() -> None:
    """One that has a lane keeps it; what is no object has no place for it."""
    messages = Messages(SocketLane(WIRE, 'a "b"'))
    lane = json.dumps('a "b"').encode()
    assert messages.take(b'{"a":1}\n{}\n') == [b'{"a":1,"stream_id":' + lane + b"}", b'{"stream_id":' + lane + b"}"]
    assert messages.take(b'{"stream_id":"c"}\n7\n') == [b'{"stream_id":"c"}', b"7"]
