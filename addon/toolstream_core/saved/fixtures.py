"""Fixtures of saved responses: which flows make a conversation, and the names and contents of their files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from mitmproxy import http

from toolstream_core.model import Json
from toolstream_core.protocols.requests.conversation import previous
from toolstream_core.saved import bare
from toolstream_core.saved.exchange import Exchange, messages_of
from toolstream_core.saved.expectation import dumps, expect_path, expectation_of
from toolstream_core.saved.files import write_atomic
from toolstream_core.saved.flow import LlmFlow, packed, read_flow
from toolstream_core.wire import json_access

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MODEL = 40
"""Characters of a model's name that are kept."""


def stem_of(dialect: str, model: str | None, started: float | None, number: int) -> str:
    """`20261122-061500-openai-chat-gpt-4.1-mini-0001`; without the time if it is unknown.

    A foreign name keeps only letters, digits, `.`, `_` and `-`.
    """
    when = [_time(started)] if started else []
    name = _UNSAFE.sub("-", model or "").strip("-._")[:_MODEL].strip("-._")
    return "-".join([*when, dialect, *([name] if name else []), f"{number:04}"])


def new_stem(first: LlmFlow, taken: set[str]) -> str:
    """A name for the fixture that begins with this response, and that is not `taken`; it is added to `taken`."""
    model, started = first.request_key.model or first.record.model, first.flow.request.timestamp_start
    stems = (stem_of(first.record.dialect, model, started, number) for number in count(1))
    stem = next(one for one in stems if one not in taken)
    taken.add(stem)
    return stem


def _time(started: float) -> str:
    try:
        return datetime.fromtimestamp(started, UTC).strftime("%Y%m%d-%H%M%S")
    except (OverflowError, OSError, ValueError):
        return "unknown-time"


# Keys that clients move from turn to turn, although the text stays the same.
_MOVING = frozenset({"cache_control", "status", "id", "index"})


def conversations(found: Iterable[LlmFlow]) -> list[list[LlmFlow]]:
    """The flows by conversation, in the order of their first flows. A retry belongs to its conversation."""
    groups: list[list[LlmFlow]] = []
    by_prefix: dict[bytes, _Group] = {}
    by_response: dict[str, _Group] = {}
    for at, one in enumerate(found):
        digests = list(_digests(one))
        group = by_response.get(previous(one.request))
        if group is None:
            # Of two runs with the same text, the current one.
            begun = (by_prefix[digest] for digest in digests if digest in by_prefix)
            group = max(begun, key=lambda one: one.touched, default=None)
        if group is None or group.begins_again(digests):
            group = _Group()
            groups.append(group.flows)
        group.flows.append(one)
        group.touched = at
        group.last = digests[-1:]
        by_prefix |= dict.fromkeys(digests[-1:], group)
        by_response |= dict.fromkeys(_response_ids(one), group)
    return groups


@dataclass
class _Group:
    """A conversation so far."""

    flows: list[LlmFlow] = field(default_factory=list)
    last: list[bytes] = field(default_factory=list)
    """The digest of its last request's messages."""
    touched: int = 0
    """The number of its last flow."""
    _seen: set[bytes] = field(default_factory=set)

    def begins_again(self, digests: list[bytes]) -> bool:
        """Whether a request is one from before the last: not a retry of it, but another run of the same."""
        self._seen.update(self.last)
        return digests[-1:] != self.last and bool(self._seen.intersection(digests[-1:]))


def _digests(saved: LlmFlow) -> Iterator[bytes]:
    """One for each beginning of the messages, the longest last; hosts and protocols do not mix."""
    digest = hashlib.sha256(f"{saved.record.host} {saved.request_key.dialect}".encode())
    for entry in _entries(saved.request):
        digest.update(json.dumps(_still(entry), sort_keys=True).encode())
        yield digest.digest()


def _entries(request: Json) -> list[Json]:
    prompt = json_access.get(request, "input")
    return messages_of(request) or ([{"role": "user", "content": prompt}] if isinstance(prompt, str) and prompt else [])


def _still(value: Json) -> Json:
    """A message without the keys that move; a single text equals a list with this text."""
    if isinstance(value, dict):
        kept = {key: _still(inner) for key, inner in value.items() if key not in _MOVING and inner is not None}
        if kept.get("type") in ("text", "input_text") and isinstance(kept.get("text"), str):
            return kept["text"]
        return kept
    if isinstance(value, list):
        inner = [_still(one) for one in value]
        return inner[0] if len(inner) == 1 else inner
    return value


def _response_ids(saved: LlmFlow) -> Iterator[str]:
    """The ids by which a later request may name this response."""
    for payload in saved.payloads:
        name = json_access.get(payload, "response", "id") or json_access.get(payload, "id")
        if isinstance(name, str) and name.startswith("resp"):
            yield name
        is_complete = json_access.get(payload, "object") == "interaction"
        name = json_access.get(payload, "id") if is_complete else json_access.get(payload, "interaction", "id")
        if name and isinstance(name, str):
            yield name


def flow_files(name: str, flows: Sequence[http.HTTPFlow]) -> dict[str, bytes]:
    """A flow file of that name, and its expectation."""
    read_back = (read_flow(flow, f"{name}#{at}") for at, flow in enumerate(flows))
    expectation = expectation_of(one for one in read_back if one is not None)
    return {name: packed(flows), expect_path(Path(name)).name: dumps(expectation).encode()}


def bare_files(stem: str, exchanges: Sequence[Exchange]) -> dict[str, bytes]:
    """A folder of the bare layout, with one for each turn if there are several."""
    several = len(exchanges) > 1
    return {
        f"{stem}/turn-{turn}/{name}" if several else f"{stem}/{name}": data
        for turn, one in enumerate(exchanges, 1)
        for name, data in bare.files_of(one).items()
    }


def write_all(folder: Path, files: Mapping[str, bytes], *, replace: bool) -> None:
    """Write files below `folder` with `write_atomic`. Raises `OSError`."""
    for name, data in files.items():
        (folder / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(folder / name, data, replace=replace)
