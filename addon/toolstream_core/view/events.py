"""The events of one response for the session view. Shape: `docs/view.schema.json`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, override

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.clients.stepping import ResolvedEvent
from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT, Event, EventContent, Phase
from toolstream_core.printable import first_difference
from toolstream_core.wire.frame import Frame

TEXTS: Final = ("reasoning", "text")
"""The lanes of text."""
STREAM: Final = "stream"
"""The lane of finish reasons, errors and the end."""
SHORT: Final = 40
"""Maximum characters of a text that is always written completely."""
_SAVES: Final = 16
"""Characters that a difference to the text before must save."""
_FIELDS: Final = ("index", "id", "item_id", "name", "type")


class TimedEvent(NamedTuple):
    """An event of a response, and its time."""

    number: int
    ms: int | None
    """Milliseconds since the first chunk or the request; `None` if that is not known."""
    resolved: ResolvedEvent | None
    """`None` for a comment or a blank frame."""


class Events(Sink):
    """Collects one object for each frame, in order: comments and blank frames too."""

    live = True
    each = True

    def __init__(self, hide: Callable[[str], str], elapsed: Callable[[], int | None]) -> None:
        """`hide` redacts what was received; `elapsed` gives the time of the current event in milliseconds."""
        self._hide = hide
        self._elapsed = elapsed
        self.objects: list[dict[str, Any]] = []
        self.texts: list[str] = []
        """The text of each frame."""
        self.frames: list[TimedEvent] = []
        """Each frame as an event with its time."""
        self._places: dict[int, int] = {}
        """By the identity of an open call, the place of its lane."""
        self.bytes = 0
        """The number of bytes of all frames."""
        self._texts_used: set[str] = set()
        self._at: int | None = None

    @property
    def resolved_events(self) -> list[ResolvedEvent]:
        """The events with data."""
        return [one.resolved for one in self.frames if one.resolved is not None]

    @override
    def without_data(self, frame: Frame) -> None:
        self._add(frame, None)["quiet"] = "comment" if frame.raw.lstrip().startswith(b":") else "blank"

    @override
    def resolved(self, event: Event, content: EventContent, resolved: Sequence[ResolvedFragment]) -> None:
        fragments = [*self._texts(content), *(self._fragment(one) for one in resolved), *self._ends(content)]
        added = self._add(event.frame, ResolvedEvent(event.frame.number, content, tuple(resolved)))
        if fragments:
            added["fragments"] = fragments

    def move(self, places: Mapping[int, int | None], calls: int) -> None:
        """Give each call that is reported the lane of its place; those that are not get lanes after the last one.

        `places` has the place of each open call, by its identity; `calls` is the number of calls.
        """
        moved: dict[str, str] = {}
        for key, before in self._places.items():
            place = places.get(key)
            if place is None:
                place, calls = calls, calls + 1
            self._places[key] = place
            moved[call_lane(before)] = call_lane(place)
        if all(before == after for before, after in moved.items()):
            return
        for event in self.objects:
            for one in event.get("fragments", ()):
                one["lane"] = moved.get(one["lane"], one["lane"])

    def lane_of(self, call: OpenCall) -> str:
        """The lane of a call. A new one gets the next lane."""
        return call_lane(self._places.setdefault(id(call), len(self._places)))

    def lanes(self, calls: int = 0) -> list[str]:
        """The lanes so far: reasoning, text, then the calls; those of the first `calls` also without a fragment."""
        places = sorted({*range(calls), *self._places.values()})
        return [*(lane for lane in TEXTS if lane in self._texts_used), *map(call_lane, places)]

    def _add(self, frame: Frame, resolved: ResolvedEvent | None) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if frame.number != len(self.objects):
            made["number"] = frame.number
        now = self._elapsed()
        if now is not None and now != self._at:
            made["ms"] = self._at = now
        text = self._hide(_text(frame))
        made["raw"] = difference(self.texts[-1] if self.texts else "", text)
        self.texts.append(text)
        self.objects.append(made)
        self.bytes += len(frame.raw)
        self.frames.append(TimedEvent(frame.number, now, resolved))
        return made

    def _texts(self, content: EventContent) -> Iterator[dict[str, Any]]:
        for lane, text in zip(TEXTS, (content.thought, content.text), strict=True):
            if text:
                self._texts_used.add(lane)
                yield {"lane": lane, "text": self._hide(text)}

    def _fragment(self, resolved: ResolvedFragment) -> dict[str, Any]:
        fragment, call = resolved
        made: dict[str, Any] = {"lane": self.lane_of(call)}
        if fragment.phase is not Phase.MORE:
            made["phase"] = str(fragment.phase)
        for key in _FIELDS:
            if (value := getattr(fragment, key)) is not ABSENT:
                made[key] = self._hide(value) if isinstance(value, str) else value
        if (arguments := fragment.arguments) is not ABSENT:
            made["arguments"] = self._hide(arguments) if isinstance(arguments, str) else arguments
        return made

    def _ends(self, content: EventContent) -> Iterator[dict[str, Any]]:
        for finish in content.finishes:
            yield {"lane": STREAM, "finish": finish.reason}
        if content.error:
            yield {"lane": STREAM, "error": self._hide(content.error)}
        if content.end:
            yield {"lane": STREAM, "end": True}


def _text(frame: Frame) -> str:
    """The bytes of a frame as text. A binary message, which begins with its length, has its type and its payload."""
    if frame.raw.startswith(b"\0") and frame.data is not None:
        return f"{frame.name}\n{frame.data.decode('utf-8', 'replace')}"
    return frame.raw.decode("utf-8", "replace")


def call_lane(place: int) -> str:
    """The lane of the call with this place."""
    return f"call-{place}"


def shortened(events: Iterable[dict[str, Any]], received: Mapping[int, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The events with the frames that the client got.

    If an event's only fragment differs from that of the event before only in its text, `fragments` is that text.
    """
    before: dict[str, Any] = {}
    for place, event in enumerate(events):
        fragments = event.get("fragments", ())
        only = fragments[0] if len(fragments) == 1 else {}
        key = "text" if "text" in only else "arguments"
        text = only.get(key)
        like = isinstance(text, str) and isinstance(before.get(key), str) and repr({**before, key: text}) == repr(only)
        before = only
        yield event | ({"fragments": text} if like else {}) | received.get(place, {})


def difference(before: str, text: str) -> Any:
    """`text`, or `[head, middle, tail]`: a number of UTF-16 units of `before`, a text, a number of units of its end."""
    if len(text) < SHORT or not before:
        return text
    head = first_difference(before, text)
    tail = first_difference(before[head:][::-1], text[head:][::-1])
    middle = text[head : len(text) - tail]
    if len(middle) + _SAVES >= len(text):
        return text
    return [_units(text[:head]), middle, _units(text[len(text) - tail :])]


def _units(text: str) -> int:
    """Its length as JavaScript counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
