"""The bytes of one response that the client gets, which are read again if they were changed."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from toolstream_core.engine.session import Session
from toolstream_core.model import Json, Record, StreamFacts
from toolstream_core.wire import json_access
from toolstream_core.wire.body import BodyDecoder, BodyFraming

MAX_BYTES: Final = 1024 * 1024
"""Bytes of a response that are kept; a longer one is read while it is sent, and not kept."""
_HEAD: Final = 16 * 1024
"""Bytes in which a response's id is searched."""
_NAMED: Final = ("response", "interaction")
"""The responses that later requests may name: the value of `object`, and the key under which events have them."""


class SentBytes:
    """Keeps the bytes of one response that the client gets."""

    def __init__(self, exchange: StreamFacts, *, reads_long: bool = True, max_bytes: int = MAX_BYTES) -> None:
        """`exchange` describes the sent bytes: with `content_encoding` only if they are still encoded.

        `reads_long`: whether a response that is too long to be kept is read while it is sent; else `record` is `None`.
        """
        self.exchange = exchange
        self.reads_long = reads_long
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._session: Session | None = None
        self._id = ""
        self._too_long = False

    def take(self, chunk: bytes) -> None:
        """Keep the next chunk."""
        self._size += len(chunk)
        if self._session is not None:
            self._session.feed(chunk)
        elif not self._too_long:
            self._pieces.append(chunk)
            if self._size > self._max_bytes:
                self._keep_no_more()

    def _keep_no_more(self) -> None:
        self._too_long = True
        self._id = self.response_id
        if self.reads_long:
            self._session = Session(self.exchange)
            self._session.feed(b"".join(self._pieces))
        self._pieces.clear()

    @property
    def body(self) -> bytes | None:
        """All of the bytes; `None` if they were too many to keep."""
        return None if self._too_long else b"".join(self._pieces)

    @property
    def response_id(self) -> str:
        """The id by which later requests may name the response (`previous_response_id`, `previous_interaction_id`)."""
        return self._id or response_id(self._pieces, self.exchange)

    def record(self, *, broken: str | None) -> Generator[None, None, Record | None]:
        """Read the response that the client received, after its end, a chunk in each step after the first.

        `None` if it is not an LLM's, or was neither kept nor read.
        """
        session = self._session
        if session is None:
            if self._too_long:
                return None
            session = Session(self.exchange)
            for chunk in self._pieces:
                yield
                session.feed(chunk)
                if not session.reading:
                    break
        session.end(broken=broken)
        return session.record(broken=broken)


def response_id(chunks: Sequence[bytes], exchange: StreamFacts) -> str:
    """The id of the response, from its first events or its JSON body."""
    decoder = BodyDecoder(exchange.content_encoding)
    head = bytearray()
    for chunk in chunks:
        head += decoder.decode(chunk[:MAX_BYTES])
        if len(head) > _HEAD or len(chunk) > MAX_BYTES:
            break
    else:
        head += decoder.decode(b"")
    if not any(b'"%b"' % kind.encode() in head for kind in _NAMED):
        return ""
    frames = BodyFraming(exchange.content_type).cut(bytes(head))
    return next(filter(None, (_id_in(frame.json) for frame in frames)), "")


def _id_in(payload: Json) -> str:
    for kind in _NAMED:
        response = payload if json_access.get(payload, "object") == kind else json_access.get(payload, kind)
        if isinstance(found := json_access.get(response, "id"), str):
            return found
    return ""
