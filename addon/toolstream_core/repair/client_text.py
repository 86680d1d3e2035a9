"""The arguments of one call as the client has them, and which fragments a stage need not see. Knows no protocol."""

from __future__ import annotations

from toolstream_core.calls.arguments import HIGH, ArgumentText
from toolstream_core.defects.arguments import DOUBLE_ENCODED_ARGUMENTS
from toolstream_core.defects.defect import Defect
from toolstream_core.model import SkippedRun
from toolstream_core.repair.meaning import Meaning


class ClientText:
    """The arguments that a client has: only a length while they are the beginning of the intended text, else a copy."""

    def __init__(self, source: ArgumentText) -> None:
        """Nothing was sent; `source` is the intended text so far."""
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
        """The client was sent the next `more` characters of the source."""
        self.size += more

    def add(self, more: str, source: ArgumentText, *, as_received: bool | None = None) -> None:
        """The client was sent `more`; `as_received`: whether it is the next part of `source`, if the caller knows."""
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


def is_in_step(meaning: Meaning, text: ClientText, fragment: str = "") -> bool:
    """Whether an object is open, the client has all of it before `fragment`, and needs that unchanged.

    `fragment`: the last fragment; without it, the next plain fragment.
    """
    if text.diverged or not meaning.is_inside:
        return False
    if fragment and not (meaning.is_unchanged and fragment[0] < HIGH and fragment[-1] < HIGH):
        return False
    source = meaning.source
    return text.is_in_step(source, source.size - len(fragment))


def is_withheld(meaning: Meaning, text: ClientText) -> bool:
    """Whether a JSON string is open that may hold the arguments: its plain fragments are withheld."""
    source = meaning.source
    if text.size or text.diverged or meaning.suspect is not None or not source.quoted or source.in_escape:
        return False
    return meaning.read(over=False).defect is DOUBLE_ENCODED_ARGUMENTS


def skip(meaning: Meaning, text: ClientText, passed: SkippedRun) -> list[tuple[int, Defect]]:
    """Fragments were forwarded unseen: the defects of those that are not what the client needs, with event numbers."""
    judged = [_judge(meaning, text, fragment) for fragment in passed.fragments]
    found = [(number, defect) for number, defect in enumerate(judged, passed.first) if defect is not None]
    if passed.text:  # plain fragments, which the received text has already
        source = meaning.source
        in_step = text.is_in_step(source, source.size - (len(passed.text) if source is meaning.received else 0))
        meaning.skip(passed.text, passed.last)
        if in_step:
            text.grow(len(passed.text))
    return found


def _judge(meaning: Meaning, text: ClientText, fragment: str) -> Defect | None:
    """A fragment was forwarded unseen, after the meaning was decided: why it is not what the client needs."""
    meaning.add(fragment, meaning.received)
    if text.diverged:
        return None
    reading, has = meaning.read(over=False), text.text
    if reading.text.startswith(has):
        text.add(reading.text[len(has) :], meaning.source)
    return reading.defect
