"""Reads AWS event stream messages, with code that only the fuzzer uses, and converts them to lines of text.

A message consists of its length, the headers' length, their checksum, headers, payload, and a checksum of all that.
https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import base64
import json
import struct
from binascii import crc32
from typing import Any, Final, NamedTuple

MESSAGES: Final = "application/vnd.amazon.eventstream"
"""The content type."""
_HEAD: Final = 12
_LEAST: Final = 16
_STRING: Final = 7
_KINDS: Final = (":event-type", ":exception-type", ":error-code")


class Message(NamedTuple):
    """A message; name and data are empty if its checksum is wrong."""

    raw: bytes
    name: str
    data: bytes | None


def messages(body: bytes) -> tuple[list[Message], bytes]:
    """Return the messages of a body, and the bytes after the last complete message."""
    found: list[Message] = []
    at = 0
    while len(body) - at >= _LEAST:
        length, headers, checksum = struct.unpack_from(">III", body, at)
        sound = crc32(body[at : at + 8]) == checksum and length >= _LEAST + headers
        if not sound or at + length > len(body):
            break
        found.append(_message(body[at : at + length], headers))
        at += length
    return found, body[at:]


def _message(raw: bytes, length: int) -> Message:
    if not is_sound(raw):
        return Message(raw, "", None)
    headers = _headers(raw[_HEAD : _HEAD + length])
    name = next((headers[kind] for kind in _KINDS if kind in headers), "")
    data = raw[_HEAD + length : -4]
    inner = _object(data).get("bytes") if name == "chunk" else None
    try:
        return Message(raw, name, base64.b64decode(inner, validate=True) if isinstance(inner, str) else data or None)
    except ValueError:
        return Message(raw, name, data or None)


def is_sound(raw: bytes) -> bool:
    """Return whether a message's checksum is right; otherwise AWS's clients raise."""
    return crc32(raw[:-4]) == int.from_bytes(raw[-4:])


def _headers(raw: bytes) -> dict[str, str]:
    """Return the text headers before the first header of another type."""
    found: dict[str, str] = {}
    at = 0
    while at < len(raw):
        begin = at + 1 + raw[at]
        if raw[begin : begin + 1] != bytes((_STRING,)):
            break
        size = int.from_bytes(raw[begin + 1 : begin + 3])
        found[raw[at + 1 : begin].decode("utf-8", "replace")] = raw[begin + 3 : begin + 3 + size].decode(
            "utf-8", "replace"
        )
        at = begin + 3 + size
    return found


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def as_lines(body: bytes) -> list[bytes]:
    """Convert complete messages to lines `NAME DATA` that can be mutated as text."""
    return [b"%s %s\n" % (one.name.encode(), one.data or b"") for one in messages(body)[0]]


def of_lines(lines: list[bytes]) -> bytes:
    """Convert such lines to messages; a line without a line feed becomes a truncated message."""
    return b"".join(_of_line(line) for block in lines for line in block.splitlines(keepends=True) if line.strip())


def _of_line(line: bytes) -> bytes:
    name, _, data = line.rstrip(b"\r\n").partition(b" ")
    if name == b"chunk":
        data = json.dumps({"bytes": base64.b64encode(data).decode()}).encode()
    kind = b"exception" if name.endswith(b"Exception") else b"event"
    fields = ((b":%s-type" % kind, name), (b":content-type", b"application/json"), (b":message-type", kind))
    headers = b"".join(struct.pack(">B", len(key)) + key + struct.pack(">BH", _STRING, len(value)) + value
                       for key, value in ((key, value[:99]) for key, value in fields))  # fmt: skip
    lengths = struct.pack(">II", _LEAST + len(headers) + len(data), len(headers))
    message = lengths + struct.pack(">I", crc32(lengths)) + headers + data
    message += struct.pack(">I", crc32(message))
    return message if line.endswith((b"\n", b"\r")) else message[:-5]
