"""The id that all chunks of one Chat Completions answer have, and chunks that have another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.framing import CHANGING_STREAM_ID
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.chat.repair.stream import ChatStream
    from toolstream_core.wire.frame import Frame

# One id throughout, or the ids as they came: clients that collect by the id are served by either, and by no mixture.
# Text is not looked at, for the sake of speed, but for the first two chunks: most streams whose ids change show it
# there, and all of it is looked at then. Where text has gone by unseen, nobody knows its id, and all stays as it came.

_ENOUGH = 2
"""Chunks after which an id that has not changed counts as the stream's."""


class StreamId:
    """The id of one stream's chunks."""

    def __init__(self, stream: ChatStream) -> None:
        """For one stream."""
        self._stream = stream
        self._id = ""
        self._said = b""
        self._seen = 0
        self._mends = False

    @property
    def looks(self) -> bool:
        """Whether the next chunk has to be seen, whatever it says."""
        return self._mends or self._seen < _ENOUGH

    def differs(self, frame: Frame, *, seen: bool = False) -> bool:
        """Whether the chunk's id is another than the stream's, and is to be mended.

        `seen`: it is one that is looked at however the bytes are cut, as text is not.
        """
        if not (seen or self.looks) and json_access.items(json_access.get(frame.json, "choices")):
            return False
        if self._said and self._said in frame.raw:
            self._seen += 1
            return False
        payload = frame.json
        if not isinstance(payload, dict):
            return False
        self._seen += bool(payload.get("choices"))
        identity = payload.get("id")
        if not isinstance(identity, str) or not identity:
            return False
        if not self._id and payload.get("choices"):
            self._id, self._said = identity, f'"{identity}"'.encode("utf-8", "replace")
        if identity == self._id or not self._id:
            return False
        message = "the chunk's id is another than the first one's"
        repair = self._stream.reporter.report(CHANGING_STREAM_ID, frame.number, message)
        self._mends = repair and (self._mends or not self._stream.skipped)
        return self._mends

    def pinned(self, frame: Frame) -> Frame:
        """A chunk whose id differs, with the stream's."""
        payload: Json = frame.json
        out = self._stream.context.writer.rewrite(frame, {**payload, "id": self._stream.head["id"]})
        self._stream.reporter.audit(frame.number, [frame], [out])
        return out
