"""Bytes in a JSON document: as base64, hexadecimal or lists of numbers, compressed or not."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from toolstream_core.model import Json

_GZIP: Final = b"\x1f\x8b"
_HEX: Final = re.compile(r"(?:7b|5b|1f8b|64617461|6576656e74)(?:[0-9a-fA-F]{2}){16,}")
_BASE64: Final = re.compile(r"(?:ey|W3s|H4sI|ZGF0YT|ZXZlbnQ)[A-Za-z0-9+/\s]{24,}={0,2}\s*")
"""Base64 of a text that begins with `{`, `[{`, `data:` or `event:`, or of gzip data."""
_BYTE: Final = range(256)


def text_of(value: Json) -> str | None:
    """The text of a value; `None` if it has none. Bytes that are not UTF-8 become surrogates."""
    data = _bytes(value)
    if data is not None:
        return _unzipped(data).decode("utf-8", "surrogateescape")
    return value if isinstance(value, str) else None


def texts_of(values: Iterable[Json]) -> Iterator[str]:
    """The texts of values that are the parts of one text: the first one with a text shows the coding."""
    decode: Callable[[str], bytes] | None = None
    begun = False
    for value in values:
        if not begun and isinstance(value, str):
            decode, begun = _notation(value) if is_coded(value) else None, True
        try:
            text = text_of(value) if decode is None else decode(value).decode("utf-8", "surrogateescape")
        except (ValueError, TypeError):
            text = None
        if text is not None:
            yield text


def is_coded(text: str) -> bool:
    """Whether a text has bytes in another notation."""
    return _bytes(text) is not None


def _bytes(value: Json) -> bytes | None:
    """The bytes of a value that has them in another notation."""
    if isinstance(value, str):
        return _decoded(value)
    if isinstance(value, dict):  # a Buffer of Node
        return _bytes(value.get("data")) if value.get("type") == "Buffer" else None
    if not isinstance(value, list) or not value:
        return None
    if all(type(item) is int and item in _BYTE for item in value):
        return bytes(value)
    if not isinstance(value[0], str) or _decoded(value[0]) is None:
        return None
    try:
        return b"".join(map(_notation(value[0]), value))
    except (ValueError, TypeError):
        return None


def _notation(first: str) -> Callable[[str], bytes]:
    """The notation of the parts of a body, which only the first part shows."""
    return bytes.fromhex if _HEX.fullmatch(first) else base64.b64decode


def _decoded(text: str) -> bytes | None:
    if _HEX.fullmatch(text):
        return bytes.fromhex(text)
    if not _BASE64.fullmatch(text):
        return None
    try:
        return base64.b64decode(text)
    except ValueError:
        return None


def _unzipped(data: bytes) -> bytes:
    """The content of gzip data, which may be truncated."""
    if not data.startswith(_GZIP):
        return data
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data)
    except zlib.error:
        return data
