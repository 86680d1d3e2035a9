"""Text as lines, from bytes of any size, without a second copy; also the definition of a layer around a stream.

Pasted text is unwrapped layer by layer, because one form contains another.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from toolstream_core.saved.unwrap.events import Scanner

HEAD: Final = 64 * 1024
"""Characters by which a form is recognised."""
_MAX_HEAD_LINES: Final = 4096


class Lines:
    """Lines without their ends; the first ones can be examined in advance."""

    def __init__(self, lines: Iterable[str], enough: Callable[[Sequence[str]], bool] | None = None) -> None:
        """`lines` are taken once; `enough` ends the search early."""
        self._enough = enough
        self._rest = iter(lines)
        self._head: list[str] | None = None
        self.is_complete = False
        """Whether the head is the complete text."""

    @property
    def head(self) -> list[str]:
        """The first lines, up to 64 KB; the last of them may be longer."""
        if self._head is None:
            self._head, size = [], 0
            self.is_complete = True
            for line in self._rest:
                self._head.append(line)
                size += len(line) + 1
                if size >= HEAD or len(self._head) >= _MAX_HEAD_LINES or (self._enough and self._enough(self._head)):
                    self.is_complete = False
                    break
        return self._head

    def __iter__(self) -> Iterator[str]:
        return chain(self._head or [], self._rest)


def decoded(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines of UTF-8 text; invalid bytes become surrogates."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    return split(decoder.decode(chunk) for chunk in chunks)


def encoded(text: str) -> bytes:
    """The reverse of `decoded`; a surrogate that represents no byte becomes a question mark."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def split(texts: Iterable[str]) -> Iterator[str]:
    """The lines of a text given in parts; each character is read once. LF, CRLF and CR end a line."""
    begun: list[str] = []
    cr = False
    for text in texts:
        if cr and text.startswith("\n"):
            text = text[1:]  # noqa: PLW2901
        cr = text.endswith("\r")
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")  # noqa: PLW2901
        first, *others = text.split("\n")
        begun.append(first)
        if others:
            yield "".join(begun)
            yield from others[:-1]
            begun = [others[-1]]
    if rest := "".join(begun):
        yield rest


class Layer(NamedTuple):
    """One layer to remove."""

    name: str
    message: str
    """The removed layer, for notes."""
    apply: Callable[[Iterable[str]], Iterator[str]]


type FindLayer = Callable[[Sequence[str]], Layer | None]
"""Gets the first 64 KB of a text as lines, and returns the recognised layer."""

MOST: Final = 0.6
"""The share of the lines that has to have a form."""
FEW: Final = 3
"""The minimum number of lines that show a form."""


def gains(lines: Sequence[str], texts: Iterable[str]) -> bool:
    """Whether the joined texts have more events than the single lines."""
    return _events(split(texts)) > _events(lines)


def _events(lines: Iterable[str]) -> tuple[int, int]:
    """The number of events, and of parts of events, in lines."""
    found = [event.is_part for event in Scanner(parts=True).scan(lines) if event.protocol is not None]
    return found.count(False), len(found)
