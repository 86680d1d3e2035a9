"""What a saved answer becomes on its way: chunks with their times, and how it broke. Knows mitmproxy's flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.fixtures import Chunk, table_of
from toolstream_core.fixtures.chunks import LINE_ENDS, line_ends_of
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mitmproxy import http

    from toolstream_core.sockets.lines import LineEnds

_KEY = "toolstream"


class Provided(NamedTuple):
    """An answer that was saved."""

    chunks: Sequence[Chunk]
    broken: str | None
    """How its connection broke behind the last chunk, where it did."""
    messages: Mapping[bytes, bytes] = {}
    """Those of a WebSocket that have line ends, by their lines, which the chunks are."""


def note(flow: http.HTTPFlow, chunks: Sequence[Chunk], broken: str | None, line_ends: LineEnds | None = None) -> None:
    """Note in a flow how its answer is to come, as in a flow that was captured."""
    ends = {LINE_ENDS: line_ends.places} if line_ends else {}
    flow.metadata[_KEY] = {**table_of(chunks), **ends, **({} if broken is None else {"broken": broken})}


def provided(flow: http.HTTPFlow) -> Provided | None:
    """How the answer that a provider of ours has set is to come; `None` of any other."""
    noted = flow.metadata.get(_KEY)
    if flow.response is None or flow.response.raw_content is None or noted is None:
        return None
    chunks: list[Chunk] = []
    at = 0
    for after, size in json_access.items(json_access.get(noted, "chunks")):
        chunks.append(Chunk(after, flow.response.raw_content[at : at + size]))
        at += size
    broken = json_access.text(json_access.get(noted, "broken"))
    messages = line_ends_of(flow).messages(chunk.data for chunk in chunks)
    return Provided(chunks, broken if isinstance(broken, str) else None, messages)


def breaks(flow: http.HTTPFlow) -> bool:
    """Whether an answer is a saved one that breaks off."""
    saved = provided(flow)
    return saved is not None and saved.broken is not None
