"""The record as plain JSON objects: the stable form that scripts read. Shape: `docs/inspect.schema.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolstream_core.model import Call, Finding
    from toolstream_core.record import Record

VERSION: Final = 1


def document(records: Iterable[Record], hide: Callable[[str], str] = str) -> dict[str, Any]:
    """What `toolstream inspect --format json` prints."""
    return {"version": VERSION, "streams": [record_object(record, hide) for record in records]}


def record_object(record: Record, hide: Callable[[str], str] = str) -> dict[str, Any]:
    """One stream."""
    return {
        "source": record.source,
        "dialect": record.dialect,
        "host": record.host,
        "model": record.model,
        "streamed": record.streamed,
        "events": record.events,
        "finish": record.finish,
        "ended": record.ended,
        "broken": record.broken,
        "error": None if record.error is None else hide(record.error),
        "calls": [_call(call, hide) for call in record.calls],
        "findings": [_finding(finding) for finding in record.findings],
    }


def _call(call: Call, hide: Callable[[str], str]) -> dict[str, Any]:
    return {
        "choice": call.choice,
        "position": call.position,
        "kind": call.kind,
        "id": call.id,
        "name": call.name,
        "arguments": hide(call.arguments),
        "complete": call.complete,
        "guessed": call.guessed,
        "events": list(call.events),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "event": finding.event,
        "call": finding.call,
        "message": finding.message,
        "repair": finding.repair,
    }
