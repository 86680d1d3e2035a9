"""Conversion of messages to lines, and of lines to messages."""

import json

from toolstream_core.protocols.registry import SOCKETS
from toolstream_core.protocols.socket_wire import SocketLane
from toolstream_core.sockets.lines import LineEnds, Messages, line_of

[WIRE] = (wire for wire in SOCKETS if wire.lane_key == "stream_id")


def test_an_unchanged_line_becomes_its_original_message() -> None:
    """An unchanged line becomes the original message, also if it had several lines."""
    messages = Messages(SocketLane(WIRE, ""))
    for message in (b'{"a":1}', b'{\r\n  "a": 1\n}', b" {} "):
        line = messages.line(message)
        assert line.count(b"\n") == 1
        assert json.loads(line) == json.loads(message)
        assert messages.take(line) == [message]


def test_chunks_are_joined_to_lines() -> None:
    """Several lines in a chunk, a line in several chunks, blank lines and a last line without its end are read."""
    messages = Messages(SocketLane(WIRE, ""))
    assert messages.take(b'{"a":1}\n\n{"b":2}\n{"c"') == [b'{"a":1}', b'{"b":2}']
    assert messages.take(b':3}\n{"d":4}') == [b'{"c":3}']
    assert messages.end() == [b'{"d":4}']
    assert messages.end() == []


def test_an_inserted_message_gets_its_lane() -> None:
    """An inserted object gets the lane, unless it has a lane; other JSON is unchanged."""
    messages = Messages(SocketLane(WIRE, 'a "b"'))
    lane = json.dumps('a "b"').encode()
    assert messages.take(b'{"a":1}\n{}\n') == [b'{"a":1,"stream_id":' + lane + b"}", b'{"stream_id":' + lane + b"}"]
    assert messages.take(b'{"stream_id":"c"}\n7\n') == [b'{"stream_id":"c"}', b"7"]


def test_line_ends_are_restored() -> None:
    """The line ends of each message are restored, except where a space was changed."""
    messages = [b'{"a":1}', b'{\r\n  "a": 1\n}\n', b"\r[]", b'{"a":1}']
    lines = [line_of(one) for one in messages]
    ends, at = LineEnds(), 0
    for message, line in zip(messages, lines, strict=True):
        ends.add(at, message)
        at += len(line)
    restored = LineEnds(json.loads(json.dumps(ends.places)))
    assert restored.messages(lines) == {lines[1]: messages[1], lines[2]: messages[2]}
    changed = [lines[0], lines[1].replace(b" ", b"*", 1), *lines[2:]]
    assert restored.messages(changed)[changed[1]] == messages[1].replace(b"\r", b"*", 1)
    assert not LineEnds()
    assert LineEnds({"lf": [99], "other": [1]}).messages(lines) == {}


def test_saved_messages_are_returned_for_each_equal_line() -> None:
    """Each equal line becomes the saved message; a changed line becomes its own message."""
    message = b'{\n"a":1}'
    line = line_of(message)
    messages = Messages(SocketLane(WIRE, ""), {line: message})
    assert messages.take(line) + messages.take(line) + messages.take(b'{"b":2}\n') == [message, message, b'{"b":2}']
