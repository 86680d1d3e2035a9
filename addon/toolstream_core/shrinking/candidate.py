"""Candidates: saved responses as frames that can be removed or reduced one by one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from toolstream_core.engine.session import read_body
from toolstream_core.model import ABSENT, Chunk, Json, Record, StreamFacts
from toolstream_core.wire.body import MAX_HEAD, NOT_OURS, choose
from toolstream_core.wire.frame import Frame, Framer
from toolstream_core.wire.json_framings import ArrayFramer, DocumentFramer
from toolstream_core.wire.json_paths import Path, changed
from toolstream_core.wire.write import encoded, writer_for

type Shape = tuple[str, ...]
"""A path with `*` for places in arrays and an object's `type` before its keys; equal for fields of one meaning."""

_MAX_DEPTH = 64
"""Values nested deeper are left out."""


def nodes(value: Json, path: Path = (), shape: Shape = ()) -> Iterator[tuple[Path, Shape, Json]]:
    """Every value in `value`, beginning with itself, with path and shape."""
    yield path, shape, value
    if len(path) >= _MAX_DEPTH:
        return
    if isinstance(value, dict):
        here = with_type(shape, value)
        for key, one in value.items():
            yield from nodes(one, (*path, key), (*here, key))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from nodes(one, (*path, at), (*shape, "*"))


def with_type(shape: Shape, value: dict[str, Json]) -> Shape:
    """The shape of an object's fields, without their keys."""
    kind = value.get("type")
    return (*shape, f"<{kind}>") if isinstance(kind, str) else shape


_LEAD = re.compile(rb"^[\s\[,]*")


class ChunkStart(NamedTuple):
    """The beginning of a chunk of the body inside a frame, and its arrival time."""

    offset: int
    after: int
    """Milliseconds since the first byte."""


@dataclass(frozen=True, slots=True)
class TurnFrame:
    """One frame of a body, with the chunks that begin in it."""

    frame: Frame
    chunk_starts: tuple[ChunkStart, ...] = ()

    @property
    def size(self) -> int:
        return len(self.frame.raw)

    @property
    def counts(self) -> bool:
        """Whether it is an event, not a comment or the end of an array."""
        return self.frame.data is not None


class FrameJoiner:
    """Joins the frames of one body."""

    def __init__(self, framer: Framer) -> None:
        self._array = isinstance(framer, ArrayFramer)
        self._writer = writer_for(framer)

    def is_required(self, part: TurnFrame) -> bool:
        """Whether `part` must stay: the end of an array."""
        return self._array and not part.counts

    def rewritten(self, part: TurnFrame, changes: Mapping[Path, Json]) -> TurnFrame:
        """`part` with these changes of its JSON. A chunk that began inside the old bytes begins with the next frame."""
        if not changes:
            return part
        old, payload = part.frame, changed(part.frame.json, changes)
        if self._writer is None:
            data = encoded(payload)
            new = Frame(data, old.number, data)
        else:
            new = self._writer.rewrite(old, payload)
        return TurnFrame(new, part.chunk_starts if new.raw == old.raw else part.chunk_starts[:1])

    def joined(self, parts: Sequence[TurnFrame]) -> list[Chunk]:
        chunks: list[Chunk] = []
        for part in parts:
            raw = self._with_lead(part, first=not chunks)
            chunk_starts = [start for start in part.chunk_starts if start.offset < len(raw)]
            if not chunks and (not chunk_starts or chunk_starts[0].offset):
                chunk_starts.insert(0, ChunkStart(0, 0))
            ends = [*(start.offset for start in chunk_starts), len(raw)]
            if ends[0]:  # the beginning belongs to the chunk before
                chunks[-1] = Chunk(chunks[-1].after, chunks[-1].data + raw[: ends[0]])
            chunks += [
                Chunk(start.after, raw[start.offset : end]) for start, end in zip(chunk_starts, ends[1:], strict=True)
            ]
        return chunks

    def _with_lead(self, part: TurnFrame, *, first: bool) -> bytes:
        """The bytes of a frame; in an array, with the bracket or the comma before it."""
        raw = part.frame.raw
        lead = _LEAD.match(raw) if self._array and part.counts else None
        if lead is None or (b"[" in lead[0]) is first:
            return raw
        return (b"[" if first else b",\r\n") + raw[lead.end() :]


def split(chunks: Iterable[Chunk], content_type: str) -> tuple[FrameJoiner, tuple[TurnFrame, ...]]:
    """A body's framing and its frames; a body without a known framing is one frame."""
    taken = list(chunks)
    body = b"".join(chunk.data for chunk in taken)
    chosen = choose(content_type, body[:MAX_HEAD], ended=True)
    framer = DocumentFramer() if chosen is None or chosen is NOT_OURS else chosen
    frames = [*framer.feed(body), *framer.feed(b"")] if body else []
    return FrameJoiner(framer), tuple(_turn_frames(frames, taken))


def _turn_frames(frames: Iterable[Frame], chunks: Sequence[Chunk]) -> Iterable[TurnFrame]:
    starts: list[ChunkStart] = []
    at = 0
    for chunk in chunks:
        starts.append(ChunkStart(at, chunk.after))
        at += len(chunk.data)
    begin = taken = 0
    for frame in frames:
        end = begin + len(frame.raw)
        mine: list[ChunkStart] = []
        while taken < len(starts) and starts[taken].offset < end:
            mine.append(ChunkStart(starts[taken].offset - begin, starts[taken].after))
            taken += 1
        yield TurnFrame(frame, tuple(mine))
        begin = end


def in_own_chunk(part: TurnFrame) -> TurnFrame:
    """`part` as one chunk without delay."""
    return replace(part, chunk_starts=(ChunkStart(0, 0),))


@dataclass(frozen=True)
class Turn:
    """One response and its request."""

    number: int
    """The flow's place in its file, from 0."""
    facts: StreamFacts
    framing: FrameJoiner
    frames: tuple[TurnFrame, ...]
    broken: str | None = None
    """The error of the connection, if any."""

    @cached_property
    def chunks(self) -> list[Chunk]:
        return self.framing.joined(self.frames)

    @cached_property
    def digest(self) -> str:
        """A hash of everything that a client can observe of it."""
        hashed = hashlib.sha256()
        for part in self._visible_parts():
            hashed.update(b"%d:" % len(part))
            hashed.update(part)
        return hashed.hexdigest()

    @cached_property
    def record(self) -> Record | None:
        """Its record; `None` if no protocol recognises it."""
        return read_body((chunk.data for chunk in self.chunks), self.facts, broken=self.broken)

    @property
    def events(self) -> int:
        return sum(part.counts for part in self.frames)

    def with_frames(self, parts: Iterable[TurnFrame]) -> Turn:
        return replace(self, frames=tuple(parts))

    def with_request(self, request: Json) -> Turn:
        return replace(self, facts=replace(self.facts, request=request))

    def _visible_parts(self) -> Iterator[bytes]:
        yield str(self.number).encode()
        yield b"" if self.facts.request is ABSENT else encoded(self.facts.request)
        yield (self.broken or "").encode()
        for chunk in self.chunks:
            yield str(chunk.after).encode()
            yield chunk.data


type Candidate = tuple[Turn, ...]
"""Responses in the order in which they were saved."""


def turn(number: int, facts: StreamFacts, chunks: Iterable[Chunk], broken: str | None = None) -> Turn:
    """A saved response, given its decoded body."""
    return Turn(number, facts, *split(chunks, facts.content_type), broken)


def events(candidate: Candidate) -> int:
    """The number of events in all responses."""
    return sum(one.events for one in candidate)


def size(candidate: Candidate) -> int:
    """The number of bytes in all bodies."""
    return sum(part.size for one in candidate for part in one.frames)


def digest(candidate: Candidate) -> str:
    """A hash of everything that a client can observe of a candidate."""
    return hashlib.sha256("".join(one.digest for one in candidate).encode()).hexdigest()


def with_turn(candidate: Candidate, at: int, new: Turn) -> Candidate:
    """`candidate` with the response at one place replaced."""
    return (*candidate[:at], new, *candidate[at + 1 :])
