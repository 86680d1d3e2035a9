"""Writes the captures that a killed proxy left in snapshots, as broken flows."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, BinaryIO, cast

from mitmproxy import http
from mitmproxy.io import tnetstring

from toolstream_core.engine.session import read_body
from toolstream_core.proxy.capture.draft import KILLED, Ending, When, is_kept
from toolstream_core.proxy.capture.folder import HIDDEN, YOUNG, Folder, QuotaError, lock
from toolstream_core.proxy.capture.spool import SPOOL
from toolstream_core.saved.flow import facts_of, request_json


def recover(folder: Folder) -> Iterator[Path]:
    """Write each unlocked snapshot as a flow, once, and yield the flow's file. Locked ones are not touched."""
    for path in sorted(folder.path.glob(f"{HIDDEN}*{SPOOL}")):
        with contextlib.suppress(OSError, QuotaError), path.open("rb") as file:
            lock(file)
            status = os.fstat(file.fileno())
            if not status.st_nlink or (not status.st_size and time.time() - status.st_mtime < YOUNG):
                continue  # recovered by another start; just made
            written = _written(folder, file)
            path.unlink()
            if written is not None:
                yield written


def _written(folder: Folder, file: BinaryIO) -> Path | None:
    """The flow's file; `None` if the snapshot is incomplete, or the response is not an LLM's."""
    try:
        saved: Any = tnetstring.load(file)
        flow, name = saved["flow"], saved["name"]
        noted = flow["metadata"]["toolstream"]
        noted["chunks"] = [*_within(len(flow["response"]["content"]), noted["chunks"])]
        data = tnetstring.dumps(flow)
    except (ValueError, LookupError, TypeError):  # of another version, or damaged
        return None
    return folder.write(name, len(data), [data]) if _is_llm(flow) else None


def _within(length: int, chunks: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """The times and sizes of the chunks of the first `length` bytes."""
    for when, size in chunks:
        if length > 0:
            yield [when, min(size, length)]
        length -= size


def _is_llm(state: dict[str, Any]) -> bool:
    """Whether a capture of the flow would have been kept."""
    try:
        flow = cast("http.HTTPFlow", http.HTTPFlow.from_state(deepcopy(state)))  # it empties what it reads
        body = state["response"]["content"]
        record = read_body([body], facts_of(flow, request_json(flow.request)), broken=KILLED)
        return is_kept(Ending(state, record, KILLED, differs=False), When.ALL)
    except Exception:  # noqa: BLE001 - the proxy starts, and nothing is lost
        return True
