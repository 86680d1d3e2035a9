"""Ways to cut bytes, and what frames look like when only their content counts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from toolstream_core.wire.frame import Framer


class Seen(NamedTuple):
    """A frame, comparable. The pieces of an oversize frame are one."""

    raw: bytes
    number: int
    data: bytes | None
    name: str
    last_id: str
    oversize: bool
    trailing: bool


def read(framer: Framer, chunks: Iterable[bytes]) -> list[Seen]:
    """The frames of `chunks`, which `framer` is fed one by one, and of the end."""
    seen: list[Seen] = []
    for chunk in [*(chunk for chunk in chunks if chunk), b""]:
        for frame in framer.feed(chunk):
            assert frame.raw
            now = Seen(
                frame.raw,
                frame.number,
                frame.data,
                frame.name,
                frame.last_id,
                frame.oversize,
                frame.trailing,
            )
            if now.oversize and seen and seen[-1].oversize and seen[-1].number == now.number:
                seen[-1] = seen[-1]._replace(raw=seen[-1].raw + now.raw)
            else:
                seen.append(now)
    return seen


def bytewise(body: bytes) -> Iterator[bytes]:
    """One byte at a time."""
    return (body[at : at + 1] for at in range(len(body)))


def cut_at(body: bytes, places: Iterable[int]) -> Iterator[bytes]:
    """`body` cut at `places`."""
    bounds = [0, *sorted(places), len(body)]
    return (body[begin:end] for begin, end in pairwise(bounds))


def every_cut(body: bytes) -> Iterator[list[bytes]]:
    """Whole, byte by byte, and in two at every place."""
    yield [body]
    yield list(bytewise(body))
    for at in range(1, len(body)):
        yield [body[:at], body[at:]]


def same_however_cut(make: Callable[[], Framer], body: bytes, places: Iterable[int] = ()) -> list[Seen]:
    """The frames of `body`, asserted to be all its bytes and the same for other cuts."""
    whole = read(make(), [body])
    assert b"".join(frame.raw for frame in whole) == body
    assert read(make(), bytewise(body)) == whole
    assert read(make(), cut_at(body, places)) == whole
    return whole


def bodies(*tokens: bytes) -> st.SearchStrategy[bytes]:
    """Bytes that a framing trips over: its own tokens in any order, and anything else."""
    pieces = st.one_of(st.sampled_from(tokens), st.sampled_from(tokens), st.binary(max_size=4))
    return st.lists(pieces, max_size=24).map(b"".join)


def places() -> st.SearchStrategy[list[int]]:
    """Where to cut a body of a length not known yet: places beyond its end cut nothing."""
    return st.lists(st.integers(0, 80), max_size=12)
