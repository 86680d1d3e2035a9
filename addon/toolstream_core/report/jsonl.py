"""A stream as JSON lines, one object an event. Shape: `docs/jsonl.schema.json`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT
from toolstream_core.report.jsonform import finding_object, record_object
from toolstream_core.wire.json_strings import encode_basestring_ascii

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Change, Event, EventContent, Finding, Json, Record

_encode = json.JSONEncoder(separators=(",", ":")).encode
_UNWANTED = ',"as_wanted":false'
_LINE = re.compile(rb'\{"type": ?"[a-z]+", ?"flow":')
_SEEN = ("index", "id", "item_id", "name", "type", "arguments")


class JsonLines(Sink):
    """Writes one object for each event of one stream, and one for its end.

    Absent stays absent: a key that the wire did not have is not in the object, `null` and `""` are as sent.
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
        """`head` stands in every object (`flow`, `stream`, `host`); `elapsed` gives ms since the request."""
        self._write = write
        self._head = _encode(head)[1:-1]
        self._elapsed = elapsed
        self._hide = hide

    def quiet(self, first: int, frames: int, size: int) -> None:
        """An event without anything that concerns tool calls: only its number and size."""
        del frames
        self._write(f'{{"type":"event",{self._head},"event":{first}{self._time()},"bytes":{size}}}')

    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        """An event that says something."""
        more: list[str] = []
        if told:
            more.append(f',"fragments":[{",".join(map(self._fragment, told))}]')
        if said.finishes:
            finishes = [{"choice": finish.choice, "reason": finish.reason} for finish in said.finishes]
            more.append(f',"finish":{_encode(finishes)}')
        if said.text:
            more.append(f',"text":{len(said.text)}')
        if said.model:
            more.append(f',"model":{_value(said.model)}')
        if said.error:
            more.append(f',"error":{_value(self._hide(said.error))}')
        if said.end:
            more.append(',"end":true')
        number, size = event.frame.number, len(event.frame.raw)
        self._write(f'{{"type":"event",{self._head},"event":{number}{self._time()},"bytes":{size}{"".join(more)}}}')

    def found(self, finding: Finding) -> None:
        """What is wrong, where it shows."""
        text = _encode({"finding": finding_object(finding, self._hide)})[1:-1]
        self._write(f'{{"type":"finding",{self._head}{self._time()},{text}}}')

    def changed(self, changed: Change) -> None:
        """What an event was, and what the client gets for it."""
        audit = {
            "event": changed.event,
            "kind": changed.kind,
            "rules": list(changed.rows),
            "before": self._hide(changed.before.decode("utf-8", "replace")),
            "after": self._hide(changed.after.decode("utf-8", "replace")),
        }
        self._write(f'{{"type":"repair",{self._head}{self._time()},{_encode(audit)[1:-1]}}}')

    def ended(self, record: Record) -> None:
        """The record, as `inspect` prints it."""
        text = _encode({"record": record_object(record, self._hide)})[1:-1]
        self._write(f'{{"type":"end",{self._head}{self._time()},{text}}}')

    def _time(self) -> str:
        return f',"ms":{self._elapsed()}' if self._elapsed is not None else ""

    def _fragment(self, one: ResolvedFragment) -> str:
        fragment, call = one
        choice, index, id_, item, name, arguments, type_, phase, _, well_formed, _ = fragment
        shown = self._hide(arguments) if isinstance(arguments, str) else arguments
        said = "".join(
            [
                f',"{key}":{_value(value)}'
                for key, value in zip(_SEEN, (index, id_, item, name, type_, shown), strict=True)
                if value is not ABSENT
            ]
        )
        return f'{{"choice":{choice},"call":{call.position},"phase":"{phase}"{said}{"" if well_formed else _UNWANTED}}}'


def may_append(path: Path) -> bool:
    """Whether a file is empty or begins as JSON lines of toolstream do, so that more of them may follow."""
    with path.open("rb") as file:
        line = file.readline(64)
    return not line or _LINE.match(line) is not None


def _value(value: Json) -> str:
    """JSON text; most values are strings and numbers."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    return str(value) if type(value) is int else _encode(value)
