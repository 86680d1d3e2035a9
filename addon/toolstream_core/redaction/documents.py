"""Which strings of a JSON text belong together: pieces of one text over events, lines of one array."""

from __future__ import annotations

import enum
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.channel import Channel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.redaction.leaves import Leaf


class Framing(enum.Enum):
    """How a body holds JSON."""

    LINES = enum.auto()
    """Each line may be a document: an event."""
    ARRAY = enum.auto()
    """Each item may be one."""
    DOCUMENT = enum.auto()
    """The body is one: no text in it goes on in another."""


_BEGIN: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*+([\[{])([^\n]*+)")
_FLAG: Final = re.compile(rb"--?[A-Za-z][\w-]*+(?:=.*)?+", re.DOTALL)
_NEXT: Final = re.compile(rb'"\s*+,\s*+')
# A client of Gemini says each chunk of an answer again as an entry of its own.
_MODEL_FIRST: Final = re.compile(rb'"role"\s*:\s*"model"\s*,\s*"parts"\s*:\s*\[\s*\{\s*\Z')
_MODEL_LAST: Final = re.compile(rb'"\s*\}\s*\]\s*,\s*"role"\s*:\s*"model"')
_MODEL: Final = re.compile(rb'"role"\s*:\s*"model"')
_BEFORE: Final = 128


def framing(text: bytes) -> Framing:
    """Of a body that begins so."""
    begin = _BEGIN.match(text)
    if begin is None:
        return Framing.LINES
    if begin[1] == b"[":
        return Framing.ARRAY
    if not begin[2].rstrip().endswith(b"}"):
        return Framing.DOCUMENT
    return Framing.LINES if text[begin.end() :].strip() else Framing.DOCUMENT


def lines(text: bytes, found: Sequence[Leaf]) -> list[int]:
    """The number of each leaf's line; that of the line in which the text begins is 0."""
    numbers: list[int] = []
    begins_before = found and b"\n" not in text[: found[0].start]
    number, end = -1 if begins_before else 0, -1
    for leaf in found:
        if leaf.start > end:
            end = text.find(b"\n", leaf.start)
            if end < 0:
                end = len(text)
            number += 1
        numbers.append(number)
    return numbers


def arrays(text: bytes, found: Sequence[Leaf]) -> Iterator[Channel]:
    """Arrays of strings that are one text: the words of a command, lines."""
    strings = [leaf for leaf in found if not leaf.key]
    for array in _runs(strings, lambda leaf, after: _NEXT.fullmatch(text, leaf.end, after.outset) is not None):
        said = [text[leaf.start : leaf.end] for leaf in array]
        if any(map(_FLAG.fullmatch, said)):
            yield _channel(text, array, b" ")
        elif any(b" " in line or b"\\" in line or b"<" in line for line in said):
            yield _channel(text, array, b"\n")


def chunks(text: bytes, found: Sequence[Leaf]) -> Iterator[Channel]:
    """What a model said chunk by chunk, where a request says it again."""
    if _MODEL.search(text):
        models = {leaf for leaf in found if _is_models(text, leaf)}
        for run in _runs(found, lambda leaf, after: leaf in models and after in models and leaf.key == after.key):
            yield _channel(text, run, b"")


def _runs(found: Sequence[Leaf], goes_on: Callable[[Leaf, Leaf], bool]) -> Iterator[list[Leaf]]:
    """Two leaves or more of which each goes on in the next."""
    run: list[Leaf] = []
    for leaf, after in pairwise(found):
        if goes_on(leaf, after):
            run += [after] if run else [leaf, after]
        elif run:
            yield run
            run = []
    if run:
        yield run


def _is_models(text: bytes, leaf: Leaf) -> bool:
    if _MODEL_LAST.match(text, leaf.end):
        return True
    return _MODEL_FIRST.search(text, max(0, leaf.outset - _BEFORE), leaf.outset) is not None


def _channel(text: bytes, run: Sequence[Leaf], between: bytes) -> Channel:
    channel = Channel(b"")
    for leaf in run:
        channel.part(between)
        channel.append(text[leaf.start : leaf.end], leaf.start)
    return channel
