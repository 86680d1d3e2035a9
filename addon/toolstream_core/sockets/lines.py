"""A socket's messages as lines of JSON, as which events are read, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from toolstream_core.protocols.socket_wire import SocketLane

_NO_MESSAGES: Final = (b":", b"event:", b"id:", b"retry:")
_DATA: Final = b"data:"
_LINE_ENDS: Final = {"lf": b"\n", "cr": b"\r"}


def line_of(message: bytes) -> bytes:
    """A message as one line. Line ends in JSON stand between its tokens, so a space is equivalent."""
    if b"\n" in message or b"\r" in message:
        message = message.replace(b"\r", b" ").replace(b"\n", b" ")
    return message + b"\n"


class LineEnds:
    """The line ends inside the messages of a response, which their lines lack: offsets in all lines, joined."""

    def __init__(self, places: Mapping[str, Iterable[int]] | None = None) -> None:
        """`places` from a saved flow: those of LF under `lf`, those of CR under `cr`."""
        self.places = {key: [*(places or {}).get(key, ())] for key in _LINE_ENDS}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return any(self.places.values())

    def add(self, at: int, message: bytes) -> None:
        """Record the line ends of a message whose line begins at an offset."""
        for key, end in _LINE_ENDS.items():
            self.places[key] += [at + found.start() for found in re.finditer(end, message)]

    def messages(self, lines: Iterable[bytes]) -> dict[bytes, bytes]:
        """The messages that have line ends, by their lines."""
        if not self:
            return {}
        body = bytearray(b"".join(lines := [*lines]))
        for key, end in _LINE_ENDS.items():
            for place in self.places[key]:
                if body[place : place + 1] == b" ":
                    body[place : place + 1] = end
        found: dict[bytes, bytes] = {}
        at = 0
        for line in lines:
            message, at = bytes(body[at : at + len(line)]), at + len(line)
            if message != line:
                found[line] = message.removesuffix(b"\n")
        return found


class Messages:
    """Makes messages from the lines that are sent to the client."""

    def __init__(
        self,
        place: SocketLane,
        saved: Mapping[bytes, bytes] | None = None,
        odd: Callable[[bytes], None] | None = None,
    ) -> None:
        """Each message that was not the provider's has the lane, if the API has a key for it.

        `saved` has messages of a served response, by their lines. `odd` receives each of the provider's that
        has line ends.
        """
        self._saved = saved
        self._odd = odd
        self._key = json.dumps(place.wire.lane_key).encode()
        self._lane = b""
        if place.lane and place.wire.lane_key:
            self._lane = self._key + b":" + json.dumps(place.lane).encode()
        self._rest = b""
        self._originals: dict[bytes, bytes] = {}

    def line(self, message: bytes) -> bytes:
        """The line of a provider's message, which is forwarded unchanged if the line is."""
        if b"\n" not in message and b"\r" not in message:
            return message + b"\n"
        if self._odd is not None:
            self._odd(message)
        line = line_of(message)
        self._originals[line] = message
        return line

    def take(self, chunk: bytes) -> list[bytes]:
        """The messages that the next bytes complete."""
        if not self._rest and chunk.endswith(b"\n") and chunk.count(b"\n") == 1:
            return [self._message(chunk)] if chunk.strip() else []
        lines = (self._rest + chunk).splitlines(keepends=True)
        self._rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        return [self._message(line) for line in lines if line.strip()]

    def take_events(self, chunks: Iterable[bytes]) -> list[bytes]:
        """As `take`, for bytes in which faults may have inserted server-sent events: their data is a message."""
        messages: list[bytes] = []
        for chunk in chunks:
            for message in self.take(chunk):
                if message.startswith(_DATA):
                    messages += self.take(message.removeprefix(_DATA).strip() + b"\n")
                elif not message.startswith(_NO_MESSAGES):
                    messages.append(message)
        return messages

    def end(self) -> list[bytes]:
        """The incomplete rest."""
        rest, self._rest = self._rest, b""
        return [self._message(rest)] if rest.strip() else []

    def _message(self, line: bytes) -> bytes:
        original = self._originals.pop(line, None) if self._originals else None
        if original is None and self._saved is not None:
            original = self._saved.get(line)
        if original is not None:
            return original
        message = line.removesuffix(b"\n")
        if self._lane and self._key not in message and message.rstrip().endswith(b"}"):
            head = message.rstrip()[:-1]
            return head + (b"" if head.strip() == b"{" else b",") + self._lane + b"}"
        return message
