"""The streams that are mutated: saved flows, samples, healthy streams and, where they are at hand, recorded ones."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.calls.patterns import patterns
from tests.fuzz.messages import MESSAGES, messages
from tests.fuzz.readers import READERS
from tests.invariants.healthy import streams
from toolstream_core.model import ABSENT
from toolstream_core.saved.read import load

FLOWS = Path(__file__).resolve().parents[2] / "flows"
MOST = 8000
"""Bytes of a stream; of longer ones some events are taken out."""
MOST_MESSAGES = 40
"""Binary messages that stay in any case."""
PROTOCOLS = {
    "realtime": "openai-realtime",
    "gemini-live": "gemini-live",
    "gemini-interactions": "gemini-interactions",
    "responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama",
    "bedrock": "bedrock",
    "cohere": "cohere-v2",
}
TYPES = {
    ".eventstream": MESSAGES,
    ".sse": "text/event-stream",
    ".ndjson": "application/x-ndjson",
    ".jsonarray": "application/json",
}


class Seed(NamedTuple):
    """A stream to be mutated, and what is known beside it."""

    name: str
    dialect: str
    body: bytes
    content_type: str
    path: str = ""
    request: Any = ABSENT


@cache
def seeds(shared: Path | None = None) -> tuple[Seed, ...]:
    """All of them; `shared` is the folder of recorded streams."""
    found = [*_healthy(), *_samples(), *_flows()]
    if shared is not None:
        found += [*_recorded(shared / "streams"), *_repro(shared / "repro")]
    return tuple(seed for seed in found if seed.body and seed.dialect in {*READERS, ""})


def _healthy() -> list[Seed]:
    return [
        Seed(str(one), one.dialect, one.body, one.exchange.content_type, one.exchange.path, one.exchange.request)
        for one in streams()
    ]


def _samples() -> list[Seed]:
    found: list[Seed] = []
    for one in patterns():
        known = one.exchange
        dialect = PROTOCOLS.get(one.protocol, "openai-chat")
        found.append(Seed(one.name, dialect, one.body, known.content_type, known.path, known.request))
    return found


def _flows() -> list[Seed]:
    found: list[Seed] = []
    for path in sorted(FLOWS.glob("*.flow")):
        for fixture in load(path):
            kind = dict(fixture.headers).get(b"content-type", b"").decode().partition(";")[0]
            found.append(Seed(path.stem, fixture.record.dialect, fixture.body, kind, fixture.path, fixture.request))
    return found


def _recorded(folder: Path) -> list[Seed]:
    found: list[Seed] = []
    for line in (folder / "INDEX.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        path = folder / str(row["file"])
        if path.suffix == ".eventstream":
            dialect = "anthropic" if "anthropic" in path.name else "bedrock"
            found.append(Seed(path.name, dialect, _few(path.read_bytes()), MESSAGES))
        elif row["dialect"] in READERS and path.suffix in TYPES:
            found.append(Seed(path.name, row["dialect"], shortened(path.read_bytes()), TYPES[path.suffix]))
    return found


def _few(body: bytes) -> bytes:
    """A long stream of messages without those in the middle."""
    raw = [one.raw for one in messages(body)[0]]
    while sum(map(len, raw)) > MOST and len(raw) > MOST_MESSAGES:
        del raw[len(raw) // 2]
    return b"".join(raw)


def _repro(folder: Path) -> list[Seed]:
    """Streams that once came out worse than they went in."""
    found: list[Seed] = []
    for path in sorted(folder.glob("*.sse")):
        request = path.with_suffix(".request.json")
        asked = json.loads(request.read_text(encoding="utf-8")) if request.exists() else ABSENT
        found.append(Seed(path.name, "", path.read_bytes(), TYPES[".sse"], request=asked))
    return found


def shortened(body: bytes) -> bytes:
    """A long stream's begin and end, and of what lies between the events that say something of calls."""
    end = b"\r\n\r\n" if b"\r\n\r\n" in body else b"\n\n" if b"\n\n" in body else b"\n"
    blocks = [block + end for block in body.split(end) if block]
    short = [block for block in blocks if len(block) < MOST // 2]
    if len(body) <= MOST or len(blocks) < 10:
        return body if len(body) <= 3 * MOST else b""
    head, tail = short[:3], short[-4:]
    said = [block for block in short[3:-4] if b"call" in block or b"tool" in block or b"json" in block]
    room = MOST - sum(map(len, head + tail))
    middle: list[bytes] = []
    for block in said or short[3:-4]:
        if (room := room - len(block)) < 0:
            break
        middle.append(block)
    return b"".join(head + middle + tail)
