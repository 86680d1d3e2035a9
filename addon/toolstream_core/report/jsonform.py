"""The JSON forms of a response. Their shape: `docs/jsonl.schema.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from toolstream_core.calls import ResolvedFragment
from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT, Call, Change, Event, EventContent, Finding, Json, Note, Record
from toolstream_core.wire.json_value import encode_basestring_ascii

VERSION: Final = 2


def document(streams: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The output of `toolstream inspect --format json` for `record_object`s."""
    return {"version": VERSION, "streams": list(streams)}


def record_object(record: Record, hide: Callable[[str], str] = str) -> dict[str, Any]:
    """One stream. `hide` redacts texts of the stream."""
    return {
        "source": record.source,
        "dialect": record.protocol,
        "protocol": record.protocol,
        "host": record.host,
        "model": _maybe(record.model, hide),
        "streamed": record.streamed,
        "events": record.events,
        "finish": [hide(reason) for reason in record.finish],
        "ended": record.ended,
        "broken": _maybe(record.broken, hide),
        "error": _maybe(record.error, hide),
        "calls": [call_object(call, hide) for call in record.calls],
        "findings": [message_object(finding, hide) for finding in record.findings],
        "mended": record.changed,
        "changes": list(record.changes),
        "notes": [message_object(note, hide) for note in record.notes],
        "unwrapped": [message_object(note, hide) for note in record.unwrapped],
        "faults": [fault._asdict() for fault in record.faults],
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


def message_object(one: Finding | Note, hide: Callable[[str], str]) -> dict[str, Any]:
    """A finding or a note: its fields."""
    return {**one._asdict(), "message": hide(one.message)}


def _maybe(text: str | None, hide: Callable[[str], str]) -> str | None:
    return None if text is None else hide(text)


_encode = json.JSONEncoder(separators=(",", ":")).encode
_UNWANTED = ',"as_wanted":false'
_LINE = re.compile(rb'\{"type": ?"[a-z]+", ?"flow":')
_SEEN = ("index", "id", "item_id", "name", "type", "arguments")


class JsonLines(Sink):
    """Writes one object for each event of one stream, and one for its end.

    Absent stays absent: a key that was not sent is not in the object, `null` and `""` are as sent.
    """

    live = True
    each = True

    def __init__(
        self,
        write: Callable[[str], None],
        head: dict[str, Any],
        *,
        elapsed: Callable[[], int] | None = None,
        hide: Callable[[str], str] = str,
    ) -> None:
        """`head` is in every object (`flow`, `stream`, `host`); `elapsed` returns ms since the request."""
        self._write = write
        self._head = _encode(head)[1:-1]
        self._elapsed = elapsed
        self._hide = hide

    def quiet(self, first: int, frames: int, size: int) -> None:
        """An event without tool calls: only its number and size."""
        del frames
        self._write(f'{{"type":"event",{self._head},"event":{first}{self._time()},"bytes":{size}}}')

    def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
        """An event with content."""
        more: list[str] = []
        if fragments:
            more.append(f',"fragments":[{",".join(map(self._fragment, fragments))}]')
        if content.finishes:
            finishes = [{"choice": finish.choice, "reason": finish.reason} for finish in content.finishes]
            more.append(f',"finish":{_encode(finishes)}')
        if content.text:
            more.append(f',"text":{len(content.text)}')
        if content.model:
            more.append(f',"model":{_value(content.model)}')
        if content.error:
            more.append(f',"error":{_value(self._hide(content.error))}')
        if content.end:
            more.append(',"end":true')
        number, size = event.frame.number, len(event.frame.raw)
        self._write(f'{{"type":"event",{self._head},"event":{number}{self._time()},"bytes":{size}{"".join(more)}}}')

    def found(self, finding: Finding) -> None:
        text = _encode({"finding": message_object(finding, self._hide)})[1:-1]
        self._write(f'{{"type":"finding",{self._head}{self._time()},{text}}}')

    def changed(self, changed: Change) -> None:
        audit = {
            "event": changed.event,
            "kind": changed.kind,
            "rules": list(changed.names),
            "replaced": changed.replaced,
            "sent": changed.sent,
            "before": self._hide(changed.before.decode("utf-8", "replace")),
            "after": self._hide(changed.after.decode("utf-8", "replace")),
        }
        self._write(f'{{"type":"repair",{self._head}{self._time()},{_encode(audit)[1:-1]}}}')

    def ended(self, record: Record) -> None:
        text = _encode({"record": record_object(record, self._hide)})[1:-1]
        self._write(f'{{"type":"end",{self._head}{self._time()},{text}}}')

    def _time(self) -> str:
        return f',"ms":{self._elapsed()}' if self._elapsed is not None else ""

    def _fragment(self, resolved: ResolvedFragment) -> str:
        fragment, call = resolved
        choice, index, id_, item, name, arguments, type_, phase, _, well_formed, *_ = fragment
        values = zip(_SEEN, (index, id_, item, name, type_, arguments), strict=True)
        parts = "".join(
            [
                f',"{key}":{_value(self._hide(value) if isinstance(value, str) else value)}'
                for key, value in values
                if value is not ABSENT
            ]
        )
        return (
            f'{{"choice":{choice},"call":{call.position},"phase":"{phase}"{parts}{"" if well_formed else _UNWANTED}}}'
        )


def may_append(path: Path) -> bool:
    """Whether a file is empty or has JSON Lines of toolstream: more of them may be appended."""
    with path.open("rb") as file:
        line = file.readline(64)
    return not line or _LINE.match(line) is not None


def _value(value: Json) -> str:
    """JSON text; most values are strings and numbers."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    return str(value) if type(value) is int else _encode(value)
