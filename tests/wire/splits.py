"""Ways to split bytes into chunks, and frames in a form that can be compared."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from toolstream_core.wire.frame import Framer


class FrameContent(NamedTuple):
    """A frame in a form that can be compared. The parts of an oversize frame are joined."""

    raw: bytes
    number: int
    data: bytes | None
    name: str
    oversize: bool
    trailing: bool


def read(framer: Framer, chunks: Iterable[bytes]) -> list[FrameContent]:
    """The frames of these chunks, with those at the end of the body."""
    seen: list[FrameContent] = []
    for chunk in [*(chunk for chunk in chunks if chunk), b""]:
        for frame in framer.feed(chunk):
            assert frame.raw
            content = FrameContent(
                frame.raw,
                frame.number,
                frame.data,
                frame.name,
                frame.oversize,
                frame.trailing,
            )
            if content.oversize and seen and seen[-1].oversize and seen[-1].number == content.number:
                seen[-1] = seen[-1]._replace(raw=seen[-1].raw + content.raw)
            else:
                seen.append(content)
    return seen


def bytewise(body: bytes) -> Iterator[bytes]:
    """Chunks of one byte."""
    return (body[at : at + 1] for at in range(len(body)))


def split_at(body: bytes, places: Iterable[int]) -> Iterator[bytes]:
    """Chunks with boundaries at these places."""
    bounds = [0, *sorted(places), len(body)]
    return (body[begin:end] for begin, end in pairwise(bounds))


def all_splits(body: bytes) -> Iterator[list[bytes]]:
    """The complete body, single bytes, and every split in two."""
    yield [body]
    yield list(bytewise(body))
    for at in range(1, len(body)):
        yield [body[:at], body[at:]]


def same_for_all_splits(make: Callable[[], Framer], body: bytes, places: Iterable[int] = ()) -> list[FrameContent]:
    """The frames of a body, asserted to contain all its bytes and to be the same for other chunks."""
    complete = read(make(), [body])
    assert b"".join(frame.raw for frame in complete) == body
    assert read(make(), bytewise(body)) == complete
    assert read(make(), split_at(body, places)) == complete
    return complete


def bodies(*tokens: bytes) -> st.SearchStrategy[bytes]:
    """Bodies of random tokens of the framing, and of random bytes."""
    token = st.one_of(st.sampled_from(tokens), st.sampled_from(tokens), st.binary(max_size=4))
    return st.lists(token, max_size=24).map(b"".join)


def split_places() -> st.SearchStrategy[list[int]]:
    """Chunk boundaries. Places after the end of the body have no effect."""
    return st.lists(st.integers(0, 80), max_size=12)
