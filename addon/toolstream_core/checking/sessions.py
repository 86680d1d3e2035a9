"""The sessions of failed cases, as the page of a check shows them: captured, and read as `toolstream view` does."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.proxy import flowfile
from toolstream_core.saved.exchange import UnreadableError
from toolstream_core.view.assemble import document_text
from toolstream_core.view.document import ViewBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from toolstream_core.testing import Setup

_MOST_CAPTURED: Final = 8 * 1024 * 1024
"""Bytes of the flow files of a run that are kept."""
_SHARED: Final = ("models", "projects", "defects")
"""Keys of documents whose values mean the same in all of them."""
_MOST: Final = 32 * 1024 * 1024
"""Characters of all documents."""


def captured_in(setup: Setup, folder: str) -> Setup:
    """The same with captures in `folder`."""
    return replace(setup, options={**setup.options, "toolstream_capture": folder})


def flow_files(folder: Path) -> tuple[bytes, ...]:
    """The flow files in a folder, the oldest first; none where they are too long."""
    paths = sorted(folder.rglob("*.flow"))
    if sum(path.stat().st_size for path in paths) > _MOST_CAPTURED:
        return ()
    return tuple(path.read_bytes() for path in paths)


class Sessions:
    """The session view's documents of a client's failed cases, up to a limit."""

    def __init__(self) -> None:
        """None yet."""
        self._cases: dict[str, dict[str, Any]] = {}
        self._shared: dict[str, dict[str, Any]] = {key: {} for key in _SHARED}
        self._left = _MOST

    @property
    def object(self) -> dict[str, Any]:
        """As the page has them: what documents share, and `cases`, the rest of each by the id of its case."""
        return {**self._shared, "cases": self._cases}

    def add(self, identity: str, captured: Iterable[bytes]) -> None:
        """Keep the document of a case, unless it has no response or is too long."""
        builder = ViewBuilder()
        try:
            responses = (one for data in captured for one in flowfile.answers(io.BytesIO(data), identity))
            for number, saved in enumerate(responses):
                builder.take(replace(saved, exchange=replace(saved.exchange, source=f"{identity}#{number}")))
        except UnreadableError:
            return
        if builder.empty:
            return
        document = builder.document([identity])
        shared = {key: document.pop(key) for key in _SHARED}
        size = len(document_text(document))
        if size <= self._left:
            self._left -= size
            self._cases[identity] = document
            for key, values in shared.items():
                self._shared[key] |= values
