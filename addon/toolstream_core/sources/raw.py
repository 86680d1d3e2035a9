"""A bare body: what `curl --no-buffer` prints. Knows file names, and leaves the content to the pipeline."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from toolstream_core.model import ABSENT, Exchange
from toolstream_core.sources.saved import Saved
from toolstream_core.wire.event_stream import MESSAGES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.model import Json

# Only what the name says for sure: a `.txt` may be anything, and the first bytes tell.
_TYPES = {
    ".sse": "text/event-stream",
    ".ndjson": "application/x-ndjson",
    ".jsonl": "application/x-ndjson",
    ".eventstream": MESSAGES,
    ".json": "application/json",
}


def answer(chunks: Iterable[bytes], source: str, *, coding: str = "", request: Json = ABSENT) -> Saved:
    """The one answer that a bare body is."""
    return Saved(
        exchange=Exchange(
            source=source,
            content_type=_TYPES.get(suffix(source), ""),
            content_encoding=coding,
            request=request,
        ),
        chunks=chunks,
    )


def suffix(path: str) -> str:
    """The ending of a file's name that tells what is in it, that of `.gz` aside."""
    name = PurePath(path)
    return (name.with_suffix("") if name.suffix.lower() == ".gz" else name).suffix.lower()
