"""Writes the captures that a killed proxy left in spools, as broken flows."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, BinaryIO, cast

from mitmproxy import http
from mitmproxy.io import tnetstring

from toolstream_core.engine.session import read_body
from toolstream_core.proxy.capture.draft import KILLED, Ending, When, is_kept
from toolstream_core.proxy.capture.folder import HIDDEN, YOUNG, Folder, QuotaError, lock
from toolstream_core.proxy.capture.packing import BYTES, Streamed, pack
from toolstream_core.proxy.capture.spool import READ_SIZE, SPOOL
from toolstream_core.saved.flow import facts_of, request_json


def recover(folder: Folder) -> Iterator[Path]:
    """Write each unlocked spool as a flow, once, and yield the flow's file. Locked ones are not touched."""
    for path in sorted(folder.path.glob(f"{HIDDEN}*{SPOOL}")):
        with contextlib.suppress(OSError, QuotaError), path.open("rb") as file:
            lock(file)
            status = os.fstat(file.fileno())
            if not status.st_nlink or (not status.st_size and time.time() - status.st_mtime < YOUNG):
                continue  # recovered by another start; just made
            written = _written(folder, file, status.st_size)
            path.unlink()
            if written is not None:
                yield written


def _written(folder: Folder, file: BinaryIO, size: int) -> Path | None:
    """The flow's file; `None` if the head of the spool is incomplete, or the response is not an LLM's."""
    try:
        head: Any = tnetstring.load(file)
        flow, name = head["flow"], head["name"]
        noted = flow["metadata"]["toolstream"]
        if "chunks" not in noted:  # no snapshot: the body follows
            body = Streamed(BYTES, size - file.tell(), lambda: iter(lambda: file.read(READ_SIZE), b""))
            flow["response"]["content"] = body
            noted["chunks"] = [[0, body.size]] if body.size else []
        packed = pack(flow)
    except (ValueError, KeyError, TypeError):
        return None
    if isinstance(flow["response"]["content"], bytes) and not _is_llm(flow):
        return None
    return folder.write(name, packed.size, packed.chunks())


def _is_llm(state: dict[str, Any]) -> bool:
    """Whether a capture of the flow would have been kept."""
    try:
        flow = cast("http.HTTPFlow", http.HTTPFlow.from_state(deepcopy(state)))  # it empties what it reads
        body = state["response"]["content"]
        record = read_body([body], facts_of(flow, request_json(flow.request)), broken=KILLED)
        return is_kept(Ending(state, record, KILLED, differs=False), When.ALL)
    except Exception:  # noqa: BLE001 - the proxy starts, and nothing is lost
        return True
