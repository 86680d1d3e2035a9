"""The record as plain JSON objects: the stable form that scripts read. Shape: `docs/inspect.schema.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolstream_core.model import Call, Finding, Record

VERSION: Final = 2


def document(streams: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What `toolstream inspect --format json` prints of `record_object`s."""
    return {"version": VERSION, "streams": list(streams)}


def record_object(record: Record, hide: Callable[[str], str] = str) -> dict[str, Any]:
    """One stream. `hide` redacts whatever the wire said."""
    return {
        "source": record.source,
        "dialect": record.dialect,
        "protocol": record.dialect,
        "host": record.host,
        "model": _maybe(record.model, hide),
        "streamed": record.streamed,
        "events": record.events,
        "finish": [hide(reason) for reason in record.finish],
        "ended": record.ended,
        "broken": _maybe(record.broken, hide),
        "error": _maybe(record.error, hide),
        "calls": [call_object(call, hide) for call in record.calls],
        "findings": [finding_object(finding, hide) for finding in record.findings],
        "mended": record.changed,
        "changes": list(record.changes),
        "notes": [{"name": note.name, "message": hide(note.message)} for note in record.notes],
        "unwrapped": [{"name": note.name, "message": hide(note.message)} for note in record.unwrapped],
        "faults": [{"spec": fault.spec, "drawn": fault.drawn, "changes": fault.changes} for fault in record.faults],
    }


def call_object(call: Call, hide: Callable[[str], str]) -> dict[str, Any]:
    """One call."""
    return {
        "choice": call.choice,
        "position": call.position,
        "kind": call.kind,
        "id": hide(call.id),
        "name": hide(call.name),
        "arguments": hide(call.arguments),
        "complete": call.complete,
        "guessed": call.guessed,
        "events": list(call.events),
    }


def finding_object(finding: Finding, hide: Callable[[str], str]) -> dict[str, Any]:
    """One finding."""
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "event": finding.event,
        "call": finding.call,
        "message": hide(finding.message),
        "repair": finding.repair,
    }


def _maybe(text: str | None, hide: Callable[[str], str]) -> str | None:
    return None if text is None else hide(text)
