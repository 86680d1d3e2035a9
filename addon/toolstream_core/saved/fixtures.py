"""Fixtures of saved responses: which flows make a conversation, and the names and contents of their files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from mitmproxy import http

from toolstream_core.delivery.sent_bytes import response_id
from toolstream_core.saved import bare
from toolstream_core.saved.exchange import Exchange
from toolstream_core.saved.expectation import dumps, expect_path, expectation_of
from toolstream_core.saved.files import write_atomic
from toolstream_core.saved.flow import LlmFlow, facts_of, packed, read_flow
from toolstream_core.verdict.conversations import Conversations, SentResponse

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MODEL = 40
"""Characters of a model's name that are kept."""


def stem_of(protocol: str, model: str | None, started: float | None, number: int) -> str:
    """`20261122-061500-openai-chat-gpt-4.1-mini-0001`; without the time if it is unknown.

    A foreign name keeps only letters, digits, `.`, `_` and `-`.
    """
    when = [_time(started)] if started else []
    name = _UNSAFE.sub("-", model or "").strip("-._")[:_MODEL].strip("-._")
    return "-".join([*when, protocol, *([name] if name else []), f"{number:04}"])


def new_stem(first: LlmFlow, used: set[str]) -> str:
    """A name for the fixture that begins with this response, and that is not `used`; it is added to `used`."""
    model, started = first.request_key.model or first.record.model, first.flow.request.timestamp_start
    stems = (stem_of(first.record.protocol, model, started, number) for number in count(1))
    stem = next(one for one in stems if one not in used)
    used.add(stem)
    return stem


def _time(started: float) -> str:
    try:
        return datetime.fromtimestamp(started, UTC).strftime("%Y%m%d-%H%M%S")
    except (OverflowError, OSError, ValueError):
        return "unknown-time"


def conversations(found: Iterable[LlmFlow]) -> list[list[LlmFlow]]:
    """The flows by conversation, in the order of their first flows. A retry belongs to its conversation."""
    requests = Conversations[SentResponse](lambda _: None)
    groups: list[list[LlmFlow]] = []
    group_of: dict[str | None, list[LlmFlow]] = {}
    for number, one in enumerate(found):
        token, facts = str(number), facts_of(one.flow, one.request, one.source)
        requests.llm_request(token, facts)
        group = group_of.get(requests.followed(token))
        if group is None:
            group = []
            groups.append(group)
        group.append(one)
        group_of[token] = group
        name = response_id([chunk.data for chunk in one.chunks], replace(facts, content_encoding=""))
        requests.response(token, SentResponse(calls=tuple(one.record.calls), response_id=name))
    return groups


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
