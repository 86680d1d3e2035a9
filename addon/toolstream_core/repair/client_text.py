"""The arguments of one call that the client has, and whether a stage may skip fragments. Knows no protocol."""

from __future__ import annotations

from toolstream_core.calls.arguments import HIGH, ArgumentText
from toolstream_core.defects.arguments import DOUBLE_ENCODED_ARGUMENTS
from toolstream_core.defects.defect import Defect
from toolstream_core.model import SkippedRun
from toolstream_core.repair.arguments_reader import ArgumentsReader


class ClientText:
    """The arguments that a client has: only a length while they are the beginning of the intended text, else a copy."""

    def __init__(self, source: ArgumentText) -> None:
        """`source`: the intended text, of which nothing was sent yet."""
        self._source = source
        self._copy: str | None = None
        """The client's own text, if it differs from the source."""
        self.size = 0
        """Characters that the client has."""
        self.diverged = False
        """Whether the client has another text than the intended one: the rest is forwarded unchanged."""

    @property
    def text(self) -> str:
        """The text that the client has."""
        return self._source.text()[: self.size] if self._copy is None else self._copy

    def is_in_step(self, source: ArgumentText, size: int) -> bool:
        """Whether the client has the first `size` characters of `source`, and nothing else."""
        if source is not self._source and not self.size and self._copy is None:
            self._source = source
        return self._copy is None and source is self._source and self.size == size

    def grow(self, more: int) -> None:
        """Record that the next `more` characters of the source were sent."""
        self.size += more

    def add(self, more: str, source: ArgumentText, *, as_received: bool | None = None) -> None:
        """Record that `more` was sent; `as_received`: whether it is the next part of `source`, if the caller knows."""
        if not more or self.diverged:
            return
        if self._copy is None and source is not self._source and not self.size:
            self._source = source
        if as_received is None:
            as_received = source.text().startswith(more, self.size)
        if as_received and self._copy is None and source is self._source:
            self.size += len(more)
            return
        text = self.text + more
        self._copy, self.size = text, len(text)
        if source is not self._source and source.size >= self.size and source.text().startswith(text):
            self._source, self._copy = source, None


def is_in_step(reader: ArgumentsReader, text: ClientText, fragment: str = "") -> bool:
    """Whether the client has all of an open object before `fragment`, and needs `fragment` unchanged.

    `fragment`: the last fragment; without it, the next plain fragment.
    """
    if text.diverged or not reader.is_inside:
        return False
    if fragment and not (reader.is_unchanged and fragment[0] < HIGH and fragment[-1] < HIGH):
        return False
    source = reader.source
    return text.is_in_step(source, source.size - len(fragment))


def is_withheld(reader: ArgumentsReader, text: ClientText) -> bool:
    """Whether the fragments of a JSON string that may contain the arguments are withheld."""
    source = reader.source
    if text.size or text.diverged or reader.suspect is not None or not source.quoted or source.in_escape:
        return False
    return reader.read(final=False).defect is DOUBLE_ENCODED_ARGUMENTS


def add_skipped(reader: ArgumentsReader, text: ClientText, passed: SkippedRun) -> list[tuple[int, Defect]]:
    """Add the fragments of skipped events. Returns the defects of those that deviate, with event numbers."""
    judged = [_add_skipped_fragment(reader, text, fragment) for fragment in passed.fragments]
    found = [(number, defect) for number, defect in enumerate(judged, passed.first) if defect is not None]
    if passed.text:  # plain fragments, which the received text has already
        source = reader.source
        in_step = text.is_in_step(source, source.size - (len(passed.text) if source is reader.received else 0))
        reader.add_plain(passed.text, passed.last)
        if in_step:
            text.grow(len(passed.text))
    return found


def _add_skipped_fragment(reader: ArgumentsReader, text: ClientText, fragment: str) -> Defect | None:
    """Add a skipped fragment. Returns the defect for which the client needs another text, if any."""
    reader.add(fragment, reader.received)
    if text.diverged:
        return None
    reading, has = reader.read(final=False), text.text
    if reading.text.startswith(has):
        text.add(reading.text[len(has) :], reader.source)
    return reading.defect
