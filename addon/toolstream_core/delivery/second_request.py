"""The second request for calls that did not arrive, and their insertion into the stream. Knows no connection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from toolstream_core.calls import nonblank
from toolstream_core.defects.finish import MISSING_CALLS
from toolstream_core.engine.session import read_body
from toolstream_core.model import ABSENT, Call, Json, Record, Runs, StreamFacts
from toolstream_core.stages.context import Promotion
from toolstream_core.stages.leaks.scanner import Leaked
from toolstream_core.stages.response_ids import ResponseIds
from toolstream_core.transit.actions import Ask
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame, parse


class Recovered(NamedTuple):
    """The content of the second response."""

    frames: list[Frame]
    """The calls as events, and the event with the finish reason."""
    calls: list[Call]
    usage: Json


class NothingRecoveredError(ValueError):
    """The second response has no calls, or failed; the message has the reason."""


def recovered(ask: Ask, exchange: StreamFacts, response: bytes, ids: ResponseIds) -> Recovered:
    """The calls of a non-streaming response, then the stream's finish. Raises `NothingRecoveredError`."""
    if not 200 <= exchange.status < 300:  # noqa: PLR2004 - HTTP's range for what succeeded
        raise NothingRecoveredError(f"the response has status {exchange.status}")
    if parse(response) is ABSENT:
        raise NothingRecoveredError("the response is not JSON")
    record = read_body([response], exchange)
    calls = [] if record is None else [call for call in record.calls if call.complete and call.name]
    if not calls:
        raise NothingRecoveredError(_lack(record))
    for call, own in zip(calls, list(_distinct(calls, ask.protocol.id_prefix, ids)), strict=True):
        call.id, call.events = own, Runs()
        call.events.add(ask.event.frame.number)
    made = [(call.id, Leaked(MISSING_CALLS, call.name, call.arguments)) for call in calls]
    frames = ask.protocol.promoted(Promotion(ask.event, made, ask.index, 0, ask.writer))
    return Recovered(frames, calls, json_access.get(parse(response), "usage"))


def _distinct(calls: Iterable[Call], prefix: str, ids: ResponseIds) -> Iterator[str]:
    """The calls' own ids. A missing id, or that of an earlier call, is generated."""
    given: set[str] = set()
    for call in calls:
        own = nonblank(call.id)
        yield own if own and own not in given else ids.make(prefix)
        given.add(own)


def _lack(record: Record | None) -> str:
    if record is None:
        return "the response is not from an LLM"
    return f"the response is an error: {record.error}" if record.error else "the response has no calls"
