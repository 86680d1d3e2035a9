"""AWS event streams: one message, one frame, both of its checksums checked. Knows bytes, and no service.

https://smithy.io/2.0/aws/amazon-eventstream.html
"""

# What a frame shows of its message:
#
# | `:message-type` | `name`                        | `data`                                                           |
# |-----------------|-------------------------------|------------------------------------------------------------------|
# | `event`         | `:event-type`                 | the payload; of a `chunk`, the bytes that its JSON has as base64 |
# | `exception`     | `:exception-type`             | the payload                                                      |
# | `error`         | `:error-code`                 | the payload; without one, `{"message": …}` of `:error-message`   |
#
# A `chunk` is how services stream the bytes of somebody else's answer (Bedrock's InvokeModelWithResponseStream, whose
# bytes are, for Anthropic's models, the events of Anthropic's API). Whoever reads or changes the frame sees the inner
# bytes alone; `write.EventStreamWriter` wraps them again.
#
# A message whose checksum is wrong passes unread, and the next one is read: its prelude has a checksum of its own.
# Where that is wrong, or the lengths are, everything from there on passes unread.

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from toolstream_core.wire import numbers
from toolstream_core.wire.event_message import PRELUDE, DamageError, Header, HeaderType, Message, decode, length
from toolstream_core.wire.form import CONTENT_TYPES, Form
from toolstream_core.wire.frame import MAX_FRAME, DamagedFrame, Frame, parse
from toolstream_core.wire.framer import Cutter

if TYPE_CHECKING:
    from toolstream_core.wire.json_value import Json

MESSAGES: Final = CONTENT_TYPES[Form.MESSAGES]
"""The content type."""
CHUNK: Final = "chunk"
_WRAPPED: Final = "bytes"
_EXCEPTION: Final = "exception"
_NAMES: Final = {_EXCEPTION: ":exception-type", "error": ":error-code"}
"""The header with a message's name, by `:message-type`; every other message is an event."""


class EventStreamFramer(Cutter):
    """Cuts an AWS event stream into its messages.

    A message that the body's end cuts off is a frame without data, marked `trailing`.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        """Bytes of one message above `max_frame` go through unread."""
        super().__init__(max_frame)
        self.wraps = False
        """Whether the stream's first event wraps bytes in JSON, so that new ones have to."""
        self.kind = ""
        """The name of the stream's first event."""
        self._begun = False
        self._prelude = b""
        self._left = 0
        """Bytes that the open message still lacks behind its prelude."""
        self._lost = ""
        """Why nobody can tell any more where a message ends."""

    def _seek(self, chunk: bytes, at: int) -> int:
        if self._lost:
            return -1
        if not self._left:
            head = chunk[at : at + PRELUDE - len(self._prelude)]
            self._prelude += head
            at += len(head)
            if not self._begin():
                return -1
        end = at + self._left
        self._left = max(end - len(chunk), 0)
        return -1 if self._left else end

    def _begin(self) -> bool:
        """Whether the prelude is there, and right: what it says is awaited then."""
        if len(self._prelude) < PRELUDE:
            return False
        prelude, self._prelude = self._prelude, b""
        try:
            self._left = length(prelude) - PRELUDE
        except DamageError as error:
            self._lost = f"{error}; the rest cannot be read"
        return not self._lost

    def _keep(self, piece: bytes, frames: list[Frame]) -> None:
        if self._lost:
            frames.append(DamagedFrame(self._release(piece), self._number, self._lost))
        else:
            super()._keep(piece, frames)

    def _read(self, raw: bytes, *, trailing: bool) -> Frame:
        if trailing:
            return Frame(raw, self._number, None, trailing=True)
        try:
            message = decode(raw)
        except DamageError as error:
            return DamagedFrame(raw, self._number, str(error))
        name = name_of(message)
        inner = unwrap(message) if name == CHUNK else None
        if not self._begun and not failed(message):
            self._begun, self.wraps, self.kind = True, inner is not None, name
        data = message.payload or _data(message)
        return Frame(raw, self._number, data if inner is None else inner, name)

    def _numbered(self, frame: Frame) -> Frame:
        if frame.data is not None or isinstance(frame, DamagedFrame):
            self._number += 1
        return frame


def name_of(message: Message) -> str:
    """What kind of event, exception or error a message is, `""` where it does not say."""
    return _name_in(message.headers)


@lru_cache(maxsize=32)
def _name_in(headers: tuple[Header, ...]) -> str:
    """The name that headers give. Most messages of a stream have those of a few others."""
    message = Message(headers, b"")
    return message.text(_NAMES.get(message.text(":message-type"), ":event-type"))


def failed(message: Message) -> bool:
    """Whether a message is an exception or an error."""
    return message.text(":message-type") in _NAMES


def _data(message: Message) -> bytes | None:
    """What stands for the payload of a message that has none."""
    if not failed(message):
        return None
    return numbers.dumps({"message": message.text(":error-message")}, ascii_only=True).encode()


def unwrap(message: Message) -> bytes | None:
    """The bytes that a `chunk` wraps, `None` where the message is anything else."""
    wrapped = _members(message).get(_WRAPPED)
    try:
        return base64.b64decode(wrapped, validate=True) if isinstance(wrapped, str) else None
    except binascii.Error:
        return None


def _members(message: Message) -> dict[str, Json]:
    payload = parse(message.payload) if name_of(message) == CHUNK else None
    return payload if isinstance(payload, dict) else {}


def wrapping(message: Message, inner: bytes) -> Message:
    """A `chunk` with other bytes in it, and what else its JSON has as it was."""
    payload = {**_members(message), _WRAPPED: base64.b64encode(inner).decode()}
    return message._replace(payload=numbers.dumps(payload, ascii_only=True).encode())


def named(message: Message, name: str) -> Message:
    """A message of another name, as an event."""
    return message._replace(
        headers=tuple(
            header._replace(value=name) if header.name == ":event-type" else header for header in message.headers
        )
    )


def chunk(inner: bytes) -> Message:
    """A new `chunk` that wraps these bytes."""
    return wrapping(fresh(b"", CHUNK), inner)


def fresh(payload: bytes, name: str) -> Message:
    """A message of JSON; a name that ends as those of the services' exceptions do makes it one."""
    kind = _EXCEPTION if name.endswith("Exception") else "event"
    said = {_NAMES.get(kind, ":event-type"): name, ":content-type": "application/json", ":message-type": kind}
    return Message(tuple(Header(key, HeaderType.STRING, value) for key, value in said.items()), payload)
