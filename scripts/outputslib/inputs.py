"""The streams whose outputs are kept: saved flows, samples and recorded streams. Knows where each of them lies."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.calls.patterns import Pattern

HOST = "https://api.example.com"
BODIES = frozenset({".sse", ".ndjson", ".json", ".jsonarray", ".jsonl", ".eventstream"})
"""Suffixes of recorded streams."""
BESIDE = ".chunklens.json"
"""Of files that only say how a recorded stream was cut."""
OF_RECORDED = 4
"""Recorded streams are many and long: each meets one fault of so many."""


class Input(NamedTuple):
    """A saved stream under the name that the commands get; the name shows in their outputs."""

    name: str
    content: bytes
    faults: int = 1
    """One of so many faults is caused in it alone: there are enough streams for each fault to meet many."""


def project(root: Path, shared: Path | None) -> Iterator[Input]:
    """All streams of the project, and, where they are at hand, the recorded ones."""
    yield from flows(root / "flows", root)
    yield from samples()
    if shared is not None:
        yield from recorded(shared / "streams")


def flows(folder: Path, root: Path) -> Iterator[Input]:
    """The flow files in a folder, each under its path below `root`."""
    for path in sorted(folder.glob("*.flow")):
        yield Input(path.relative_to(root).as_posix(), path.read_bytes())


def samples() -> Iterator[Input]:
    """Each sample of tests/streams as a HAR file, which also says what was asked."""
    from tests.calls.patterns import patterns

    for number, pattern in enumerate(patterns()):
        yield Input(f"tests/streams/{pattern.protocol}-{number:03}.har", har(pattern))


def har(pattern: Pattern) -> bytes:
    """A sample and its request as a HAR file."""
    known = pattern.exchange
    request = {"method": "POST", "url": HOST + known.path, "postData": {"text": json.dumps(known.request)}}
    content = {"mimeType": known.content_type}
    try:
        content["text"] = pattern.body.decode()
    except UnicodeDecodeError:
        content |= {"text": base64.b64encode(pattern.body).decode(), "encoding": "base64"}
    entry = {"request": request, "response": {"status": 200, "content": content}}
    return json.dumps({"log": {"entries": [{"comment": pattern.name, **entry}]}}, indent=1).encode()


def recorded(folder: Path) -> Iterator[Input]:
    """Recorded streams, as bare bodies."""
    for path in sorted(folder.glob("*/*")):
        if path.suffix in BODIES and not path.name.endswith(BESIDE):
            yield Input(path.relative_to(folder).as_posix(), path.read_bytes(), faults=OF_RECORDED)
