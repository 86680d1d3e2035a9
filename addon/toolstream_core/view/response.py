"""One response of the session view: its events, calls and findings. Shape: `docs/view.schema.json`.

Verdict and readings are added elsewhere. Secrets are overwritten as in captures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, override

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.clients.model import ResolvedEvent
from toolstream_core.clients.stepping import reported_places
from toolstream_core.defects.table import DEFECTS
from toolstream_core.engine.session import Session
from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT, BAD_STATUS, Call, Event, EventContent, Finding, Json, Phase, Record
from toolstream_core.printable import first_difference
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.requests import match_key
from toolstream_core.redact import redacted
from toolstream_core.redaction import Redaction, redacted_body, redacted_path
from toolstream_core.report.jsonform import call_object, message_object
from toolstream_core.saved.exchange import Cut, Exchange, messages_of
from toolstream_core.wire.frame import Frame, parse
from toolstream_core.wire.write import encoded

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
        """Move each reported call to the lane of its position; others get lanes after the last one.

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
        shown: dict[str, Any] = {}
        if frame.number != len(self.objects):
            shown["number"] = frame.number
        now = self._elapsed()
        if now is not None and now != self._at:
            shown["ms"] = self._at = now
        text = self._hide(_text(frame))
        shown["raw"] = difference(self.texts[-1] if self.texts else "", text)
        self.texts.append(text)
        self.objects.append(shown)
        self.bytes += len(frame.raw)
        self.frames.append(TimedEvent(frame.number, now, resolved))
        return shown

    def _texts(self, content: EventContent) -> Iterator[dict[str, Any]]:
        for lane, text in zip(TEXTS, (content.thought, content.text), strict=True):
            if text:
                self._texts_used.add(lane)
                yield {"lane": lane, "text": self._hide(text)}

    def _fragment(self, resolved: ResolvedFragment) -> dict[str, Any]:
        fragment, call = resolved
        shown: dict[str, Any] = {"lane": self.lane_of(call)}
        if fragment.phase is not Phase.MORE:
            shown["phase"] = str(fragment.phase)
        for key in _FIELDS:
            if (value := getattr(fragment, key)) is not ABSENT:
                shown[key] = self._hide(value) if isinstance(value, str) else value
        if (arguments := fragment.arguments) is not ABSENT:
            shown["arguments"] = self._hide(arguments) if isinstance(arguments, str) else arguments
        return shown

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
    """The length of a text in UTF-16 units, as in JavaScript."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def without_secrets(saved: Exchange) -> Exchange:
    """As `Exchange.decoded`, with secrets overwritten in the request, in both bodies and in reports on the response."""
    plain, hide = saved.decoded(), partial(redacted, secrets=saved.secrets)
    body = redacted_body(b"".join(plain.chunks), known=saved.secrets)
    exchange = replace(
        plain.facts,
        path=redacted_path(plain.facts.path, Redaction(), saved.secrets),
        request=_without(plain.facts.request, saved.secrets),
    )
    sent = None if saved.sent is None else redacted_body(saved.sent, known=saved.secrets)
    return replace(
        plain,
        facts=exchange,
        chunks=[*Cut(body, [*map(len, plain.chunks)])],
        sent=sent,
        broken=None if saved.broken is None else hide(saved.broken),
        findings=[one._replace(message=hide(one.message)) for one in saved.findings],
    )


def _without(request: Json, secrets: tuple[str, ...]) -> Json:
    if request is ABSENT:
        return request
    return parse(redacted_body(encoded(request), known=secrets))


NONE: Final = "none"
"""The verdict on a response without calls."""
UNKNOWN: Final = "unknown"
"""The verdict on a response after which no request was recorded."""
_PROMPT: Final = 200
"""Characters of a prompt that are shown."""


class ReadResponse:
    """A response as the provider sent it, read chunk by chunk."""

    def __init__(self, saved: Exchange, hide: Callable[[str], str] = str) -> None:
        """Nothing is read yet. `hide` redacts text that is shown before the response is complete."""
        self.saved = saved
        self.protocol: WireProtocol | None = None
        """`None` until it is recognised."""
        self.record: Record | None = None
        """Known at the end, if it is an LLM's response."""
        self._now: int | None = None
        self.places: dict[int, int | None] = {}
        """By the identity of an open call, its place among the calls of the record."""
        self.events = Events(hide, lambda: self._now)
        self._session = Session(saved.facts, sinks=self._sinks, fast=False)

    def feed(self, chunk: bytes, ms: int | None) -> None:
        """Read a chunk that arrived at `ms` milliseconds."""
        self._now = ms
        if chunk:
            self._session.feed(chunk)

    def end(self) -> None:
        self._session.end(broken=self.saved.broken)
        self.record = self._session.record(broken=self.saved.broken)
        if self.record is not None:
            self.saved.complete(self.record)
            self.places = reported_places(self.record.calls, self.events.resolved_events)
            self.events.move(self.places, len(self.record.calls))

    def object(self, received: Mapping[int, dict[str, Any]] = MappingProxyType({})) -> dict[str, Any]:
        """The object of the complete response; `received`: the frames that the client got, if other ones."""
        saved, record = self.saved, self.record
        assert record is not None
        return {
            **self._head(),
            "model": record.model or "",
            "protocol": record.protocol,
            "streamed": record.streamed,
            "choices": self._choices(),
            "state": self._state(record),
            "broken": record.broken,
            "error": record.error,
            "finish": [*record.finish],
            "bytes": record.bytes,
            "lanes": self.events.lanes(len(record.calls)),
            "calls": [_call(one) for one in record.calls],
            "findings": [self._finding(one) for one in record.findings],
            "faults": [{"spec": one.spec, "changes": one.changes} for one in saved.faults],
            "events": [*shortened(self.events.objects, received)],
            "changed": len(received),
        }

    def live_object(self) -> dict[str, Any]:
        """The document's object during the response, once its protocol is known."""
        exchange, protocol, reader = self.saved.facts, self.protocol, self._session.reader
        assert protocol is not None
        assert reader is not None
        return {
            **self._head(),
            "model": protocol.api.model(exchange.path, exchange.request) or "",
            "protocol": protocol.name,
            "streamed": True,
            "choices": 1,
            "state": "live",
            "broken": None,
            "error": None,
            "finish": [],
            "bytes": self.events.bytes,
            "lanes": self.events.lanes(),
            "calls": [_call(one) for one in reader.calls()],
            "findings": [],
            "faults": [],
            "changed": 0,
            "verdict": {"verdict": UNKNOWN, "understood": None, "headline": "The response is not complete yet"},
        }

    def _head(self) -> dict[str, Any]:
        """The parts that do not change while it arrives, and the events, which grow."""
        saved, exchange = self.saved, self.saved.facts
        return {
            "source": exchange.source,
            "host": exchange.host,
            "path": exchange.path,
            "status": exchange.status,
            "transport": "websocket" if saved.socket is not None else "http",
            "timed": bool(saved.times),
            "request": _request(exchange.path, exchange.request),
            "pointers": [] if self.protocol is None else [*self.protocol.pointers],
            "events": self.events.objects,
            **({"started": saved.began} if saved.began else {}),
        }

    def _choices(self) -> int:
        contents = [one.content for one in self.events.resolved_events]
        named = {one.choice for content in contents for one in content.fragments}
        named |= {one.choice for content in contents for one in content.finishes}
        return max(1, len(named))

    def _finding(self, finding: Finding) -> dict[str, Any]:
        keys = next((defect.keys for defect in DEFECTS if defect.code == finding.code), ())
        return {**message_object(finding, str), "call": self._call_of(finding), "keys": [*keys]}

    def _call_of(self, finding: Finding) -> int | None:
        """The place of the call that a finding is about. Several choices count their calls separately."""
        events = self.events.resolved_events
        calls = {
            id(one.call): one.call for event in events for one in event.resolved if one.call.position == finding.call
        }
        there = [key for key, call in calls.items() if finding.event in call.runs]
        return next((self.places[key] for key in [*there, *calls]), None)

    def _sinks(self, protocol: WireProtocol) -> Sequence[Sink]:
        self.protocol = protocol
        return [self.events]

    def _state(self, record: Record) -> str:
        if record.broken:
            return "truncated"
        return "error" if record.error or self.saved.facts.status >= BAD_STATUS else "complete"


def read(saved: Exchange) -> ReadResponse:
    """A complete response, with its chunks in memory."""
    response = ReadResponse(saved)
    times = saved.times
    for number, chunk in enumerate(saved.chunks):
        response.feed(chunk, times[number] if number < len(times) else None)
    response.end()
    return response


def _call(call: Call) -> dict[str, Any]:
    return {key: value for key, value in call_object(call, str).items() if key != "events"}


def _request(path: str, request: Json) -> dict[str, Any]:
    wanted = match_key.read(path, request)
    messages = messages_of(request)
    words = "" if wanted is None else wanted.words
    return {
        "tools": [] if wanted is None else sorted(wanted.tools),
        "messages": len(messages),
        "prompt": words[:_PROMPT],
    }


def as_received(response: ReadResponse) -> ReadResponse | None:
    """The response as the client got it, if that was recorded and differs."""
    saved = response.saved
    return None if saved.sent in {None, saved.body} else read(saved.as_client_got())
