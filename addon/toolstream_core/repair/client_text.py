"""The arguments of one call as the client has them. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolstream_core.calls.arguments import ArgumentText


class ClientText:
    """The arguments that a client has: only a length while they are the beginning of the intended text, else a copy."""

    __slots__ = ("_copy", "_source", "diverged", "size")

    def __init__(self, source: ArgumentText) -> None:
        """Nothing was sent; `source` is what the arguments mean so far."""
        self._source = source
        self._copy: str | None = None
        """The client's own text, where it differs from the source."""
        self.size = 0
        """Characters that the client has."""
        self.diverged = False
        """Whether the client has other than the intended text: the rest is forwarded unchanged."""

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
        """The client was sent the next characters of the source, of which these are so many."""
        self.size += more

    def add(self, more: str, source: ArgumentText, *, as_came: bool | None = None) -> None:
        """The client was sent `more`; `as_came`: whether that is the next part of `source`, where the caller knows."""
        if not more:
            return
        if self._copy is None and source is not self._source and not self.size:
            self._source = source
        if as_came is None:
            as_came = source.text().startswith(more, self.size)
        if as_came and self._copy is None and source is self._source:
            self.size += len(more)
            return
        text = self.text + more
        self._copy, self.size = text, len(text)
        if source is not self._source and source.size >= self.size and source.text().startswith(text):
            self._source, self._copy = source, None

    def begin_anew(self, source: ArgumentText) -> None:
        """The client forgets what it has."""
        self._source, self._copy, self.size = source, None, 0
