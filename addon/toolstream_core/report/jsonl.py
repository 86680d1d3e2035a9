"""A stream as JSON lines, one object an event. Shape: `docs/jsonl.schema.json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolstream_core.model import ABSENT
from toolstream_core.record import Sink
from toolstream_core.report.jsonform import finding_object, record_object

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.calls import Heard
    from toolstream_core.defects.stage import Mended
    from toolstream_core.model import Event, Finding, Said
    from toolstream_core.record import Record

_encode = json.JSONEncoder(separators=(",", ":")).encode
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

    def heard(self, event: Event, said: Said, told: Sequence[Heard]) -> None:
        """An event that says something."""
        more: dict[str, Any] = {}
        if told:
            more["fragments"] = [self._fragment(one) for one in told]
        if said.finishes:
            more["finish"] = [{"choice": finish.choice, "reason": finish.reason} for finish in said.finishes]
        if said.text:
            more["text"] = len(said.text)
        if said.model:
            more["model"] = said.model
        if said.error:
            more["error"] = self._hide(said.error)
        if said.end:
            more["end"] = True
        frame = event.frame
        tail = f",{_encode(more)[1:-1]}" if more else ""
        self._write(
            f'{{"type":"event",{self._head},"event":{frame.number}{self._time()},"bytes":{len(frame.raw)}{tail}}}'
        )

    def found(self, finding: Finding) -> None:
        """What is wrong, where it shows."""
        text = _encode({"finding": finding_object(finding, self._hide)})[1:-1]
        self._write(f'{{"type":"finding",{self._head}{self._time()},{text}}}')

    def mended(self, mended: Mended) -> None:
        """What an event was, and what the client gets for it."""
        audit = {
            "event": mended.event,
            "kind": mended.kind,
            "rules": list(mended.rows),
            "before": self._hide(mended.before.decode("utf-8", "replace")),
            "after": self._hide(mended.after.decode("utf-8", "replace")),
        }
        self._write(f'{{"type":"repair",{self._head}{self._time()},{_encode(audit)[1:-1]}}}')

    def ended(self, record: Record) -> None:
        """The record, as `inspect` prints it."""
        text = _encode({"record": record_object(record, self._hide)})[1:-1]
        self._write(f'{{"type":"end",{self._head}{self._time()},{text}}}')

    def _time(self) -> str:
        return f',"ms":{self._elapsed()}' if self._elapsed is not None else ""

    def _fragment(self, one: Heard) -> dict[str, Any]:
        fragment, call = one
        said: dict[str, Any] = {"choice": fragment.choice, "call": call.position, "phase": fragment.phase}
        for key in _SEEN:
            value = getattr(fragment, key)
            if value is not ABSENT:
                said[key] = value
        if said.get("arguments"):
            said["arguments"] = self._hide(said["arguments"])
        if not fragment.as_wanted:
            said["as_wanted"] = False
        return said
