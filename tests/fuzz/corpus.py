"""The streams to mutate: saved flows, samples, healthy streams and, if available, recorded streams."""

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
MAX_BYTES = 8000
"""Maximum bytes of a stream; longer streams are shortened."""
KEPT_MESSAGES = 40
"""Binary messages that are always kept."""
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
    """A stream to mutate, with its facts."""

    name: str
    protocol: str
    body: bytes
    content_type: str
    path: str = ""
    request: Any = ABSENT


@cache
def seeds(shared: Path | None = None) -> tuple[Seed, ...]:
    """Return all seeds; `shared` is the folder of recorded streams."""
    found = [*_healthy(), *_samples(), *_flows()]
    if shared is not None:
        found += [*_recorded(shared / "streams"), *_repro(shared / "repro")]
    return tuple(seed for seed in found if seed.body and seed.protocol in {*READERS, ""})


def _healthy() -> list[Seed]:
    return [
        Seed(str(one), one.protocol, one.body, one.exchange.content_type, one.exchange.path, one.exchange.request)
        for one in streams()
    ]


def _samples() -> list[Seed]:
    found: list[Seed] = []
    for one in patterns():
        facts = one.exchange
        protocol = PROTOCOLS.get(one.protocol, "openai-chat")
        found.append(Seed(one.name, protocol, one.body, facts.content_type, facts.path, facts.request))
    return found


def _flows() -> list[Seed]:
    found: list[Seed] = []
    for path in sorted(FLOWS.glob("*.flow")):
        for fixture in load(path):
            kind = dict(fixture.headers).get(b"content-type", b"").decode().partition(";")[0]
            found.append(Seed(path.stem, fixture.record.protocol, fixture.body, kind, fixture.path, fixture.request))
    return found


def _recorded(folder: Path) -> list[Seed]:
    found: list[Seed] = []
    for line in (folder / "INDEX.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        path = folder / str(row["file"])
        if path.suffix == ".eventstream":
            protocol = "anthropic" if "anthropic" in path.name else "bedrock"
            found.append(Seed(path.name, protocol, _shortened_messages(path.read_bytes()), MESSAGES))
        elif row["dialect"] in READERS and path.suffix in TYPES:
            found.append(Seed(path.name, row["dialect"], shortened(path.read_bytes()), TYPES[path.suffix]))
    return found


def _shortened_messages(body: bytes) -> bytes:
    """Remove messages from the middle of a long stream."""
    raw = [one.raw for one in messages(body)[0]]
    while sum(map(len, raw)) > MAX_BYTES and len(raw) > KEPT_MESSAGES:
        del raw[len(raw) // 2]
    return b"".join(raw)


def _repro(folder: Path) -> list[Seed]:
    """Return streams on which a repair once did harm."""
    found: list[Seed] = []
    for path in sorted(folder.glob("*.sse")):
        request = path.with_suffix(".request.json")
        parsed_request = json.loads(request.read_text(encoding="utf-8")) if request.exists() else ABSENT
        found.append(Seed(path.name, "", path.read_bytes(), TYPES[".sse"], request=parsed_request))
    return found


def shortened(body: bytes) -> bytes:
    """Return the beginning and end of a long stream, and events with calls between them."""
    end = b"\r\n\r\n" if b"\r\n\r\n" in body else b"\n\n" if b"\n\n" in body else b"\n"
    blocks = [block + end for block in body.split(end) if block]
    short = [block for block in blocks if len(block) < MAX_BYTES // 2]
    if len(body) <= MAX_BYTES or len(blocks) < 10:
        return body if len(body) <= 3 * MAX_BYTES else b""
    head, tail = short[:3], short[-4:]
    with_calls = [block for block in short[3:-4] if b"call" in block or b"tool" in block or b"json" in block]
    budget = MAX_BYTES - sum(map(len, head + tail))
    middle: list[bytes] = []
    for block in with_calls or short[3:-4]:
        if (budget := budget - len(block)) < 0:
            break
        middle.append(block)
    return b"".join(head + middle + tail)
