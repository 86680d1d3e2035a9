"""Healthy streams with long events: chunk boundaries change no byte, no record and no log line."""

from __future__ import annotations

import itertools
import json
import operator
import random
from inspect import signature
from itertools import accumulate, pairwise, product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.protocols.writing import HealthyCall, HealthyResponse
from toolstream_core.report.columns import Label
from toolstream_core.report.jsonform import JsonLines, record_object
from toolstream_core.report.lines import EndLines, Lines
from toolstream_core.settings import NOTHING, SAFE, Settings
from toolstream_core.wire.aws_event_stream import chunk, fresh
from toolstream_core.wire.body import BodyFraming
from toolstream_core.wire.frame import CONTENT_TYPES, Form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from toolstream_core.engine.sink import Sink
    from toolstream_core.model import Json
    from toolstream_core.protocols.protocol import WireProtocol

SIZES: Final = (1_000, 5_000, 20_000, 100_000, 1_000_000)
"""The approximate number of characters of a long event."""
CUTS: Final = ("700", "1500", "3000", "4095", "4096", "4097", "16384", "random", "borders", "events", "1")
"""The chunk size in bytes, or the name of another way to choose chunk boundaries."""
BYTEWISE: Final = 16 * 1024
"""Maximum size of a body that is fed byte by byte."""
PLACES: Final = ("arguments", "text", "field before", "field after")
"""The part of an event that is long."""
LOGS: Final = ("off", "calls", "chunks", "jsonl")
FORMS: Final = {
    "gemini": (Form.EVENTS, Form.ARRAY),
    "ollama": (Form.LINES,),
    "bedrock": (Form.MESSAGES,),
    "anthropic": (Form.EVENTS, Form.MESSAGES),
    "openai-responses": (Form.EVENTS, Form.LINES),
    "openai-realtime": (Form.LINES,),
    "gemini-live": (Form.LINES,),
}
"""The framings of a protocol; the others use only server-sent events."""
_TEXTS: Final = {
    "words": "the quick brown fox jumps over it, and then some more; ",
    "code": 'if (a[0] == "x\\y") {\n\treturn {b: `c`};\n}\n',
    "wide": "naïve 😀 日本語 – ",
}
_JSON_STYLES: Final[dict[str, dict[str, Any]]] = {
    "compact": {"separators": (",", ":"), "ensure_ascii": False},
    "spaced": {"separators": (", ", ": "), "ensure_ascii": True},
}
_LEAD: Final = "Let me look."
_ENDS: Final = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}


class Stream(NamedTuple):
    """The properties of a healthy stream."""

    protocol: WireProtocol
    form: Form
    place: str
    size: int
    text: str
    json_style: str
    end: str

    def __str__(self) -> str:
        """Return a name."""
        return " ".join([self.protocol.name, self.form.name.lower(), *map(str, self[2:])])

    @property
    def exchange(self) -> StreamFacts:
        """The path and content type."""
        path = self.protocol.api.public_url("m", streamed=True, array=False).removeprefix(self.protocol.api.server)
        return StreamFacts(path=path, content_type=CONTENT_TYPES[self.form])

    @property
    def response(self) -> HealthyResponse:
        """Two calls, and a text if the text is long."""
        long = repeated(_TEXTS[self.text], 3 * self.size if self.place in {"arguments", "text"} else 60)
        city = long if self.place == "arguments" else "Oslo"
        arguments = json.dumps({"city": city, "days": [1, {"a": None}]}, ensure_ascii=False)
        calls = (HealthyCall("get_weather", arguments), HealthyCall("get_time", '{"zone":"UTC"}'))
        return HealthyResponse(model="m", request={}, calls=calls, text=long if self.place == "text" else "")

    def events(self) -> list[bytes]:
        """Return the framed events."""
        events = [
            (
                name,
                payload
                if isinstance(payload, str)
                else json.dumps(self._padded(payload, at), **_JSON_STYLES[self.json_style]),
            )
            for at, (name, payload) in enumerate(_frames(self.protocol, self.response, self.size))
        ]
        return list(_FRAMED[self.form](events, _ENDS[self.end]))

    def _padded(self, payload: dict[str, Json], number: int) -> dict[str, Json]:
        """Add an unknown long field to every third payload, if fields are long."""
        padding = {"x_padding": repeated(_TEXTS[self.text], self.size)}
        if not self.place.startswith("field") or number % 3 != 1:
            return payload
        return padding | payload if self.place == "field before" else payload | padding


def repeated(text: str, size: int) -> str:
    """Return `size` characters: the numbered repetitions of a text."""
    count = size // len(text) + 1
    return "".join(f"{number} {text}" for number in range(count))[:size]


def _fragmenter(size: int) -> Callable[[str], list[str]]:
    """Return a function that splits texts into short fragments and then long fragments."""
    return lambda text: [text[at:to] for at, to in pairwise([*range(0, 28, 7), *range(28, len(text), size), len(text)])]


def _frames(protocol: WireProtocol, response: HealthyResponse, size: int) -> Iterator[tuple[str, Json]]:
    """Yield name and payload of each event. A few events of text precede calls that are sent complete."""
    streamed = protocol._responses("streamed")
    unstreamed = protocol.healthy_unstreamed(response)
    if "cut" in signature(streamed).parameters:
        yield from _read(protocol, streamed(unstreamed, {}, _fragmenter(size)))
    else:
        yield from _read(protocol, protocol.healthy_stream(HealthyResponse(model="m", request={}, text=_LEAD))[:-1])
        yield from _read(protocol, streamed(unstreamed, {}))


def _read(protocol: WireProtocol, events: Iterable[bytes]) -> Iterator[tuple[str, Json]]:
    framing = BodyFraming(CONTENT_TYPES[protocol.api.stream_form])
    opened = framing.open(b"".join(events), ended=True)
    assert framing.framer is not None
    for frame in framing.framer.feed(opened):
        if frame.data is not None:
            yield frame.name, frame.json if frame.data.startswith(b"{") else frame.data.decode()


def _as_events(events: Sequence[tuple[str, str]], end: str) -> Iterator[bytes]:
    for name, data in events:
        yield (f"event: {name}{end}" * bool(name) + f"data: {data}{end}{end}").encode()


def _as_lines(events: Sequence[tuple[str, str]], end: str) -> Iterator[bytes]:
    for _, data in events:
        yield f"{data}{end}".encode()


def _as_array(events: Sequence[tuple[str, str]], end: str) -> Iterator[bytes]:
    for number, (_, data) in enumerate(events):
        yield ((f",{end}" if number else "[") + data).encode()
    yield f"{end}]".encode()


def _as_messages(events: Sequence[tuple[str, str]], end: str) -> Iterator[bytes]:
    for name, data in events:
        inner = data.encode()
        yield (chunk(inner) if '"type"' in data[:40] or name in data else fresh(inner, name)).encode()


_FRAMED: Final[dict[Form, Callable[[Sequence[tuple[str, str]], str], Iterator[bytes]]]] = {
    Form.EVENTS: _as_events,
    Form.LINES: _as_lines,
    Form.ARRAY: _as_array,
    Form.MESSAGES: _as_messages,
}


def streams(sizes: Sequence[int] = SIZES) -> Iterator[Stream]:
    """Yield every valid combination."""
    for protocol in PROTOCOLS:
        for form in FORMS.get(protocol.name, (Form.EVENTS,)):
            ends = {Form.MESSAGES: ["lf"], Form.LINES: ["lf", "crlf"], Form.ARRAY: ["lf", "crlf"]}.get(form, [*_ENDS])
            for made in product(PLACES, sizes, _TEXTS, _JSON_STYLES, ends):
                yield Stream(protocol, form, *made)


def cut(events: Sequence[bytes], method: str, seed: str) -> list[bytes]:
    """Return the events in chunks."""
    if method == "events":
        return list(events)
    body = b"".join(events)
    dice = random.Random(f"{method} {seed}")
    if method == "borders":
        places = [end + dice.randint(-3, 3) for end in accumulate(map(len, events)) for _ in range(2)]
    elif method == "random":
        most = dice.choice([50, 500, 5_000, 50_000])
        places = list(accumulate(dice.randint(1, most) for _ in range(2 * len(body) // most + 1)))
    else:
        places = list(range(0, len(body), int(method)))
    bounds = [0, *sorted({place for place in places if 0 < place < len(body)}), len(body)]
    return [body[begin:end] for begin, end in pairwise(bounds)]


class RunOptions(NamedTuple):
    """The options of a run of a session."""

    cut: str
    log: str = "off"
    repair: str = ""
    fast: bool = True

    def __str__(self) -> str:
        """Return a description."""
        repair, fast = self.repair or "nothing", "on" if self.fast else "off"
        return f"chunks {self.cut}, log {self.log}, repair {repair}, fast path {fast}"


class Outcome(NamedTuple):
    """The results of a run."""

    sent: list[bytes]
    record: dict[str, Any] | None
    lines: list[str]
    error: Exception | None


def run(exchange: StreamFacts, chunks: Sequence[bytes], options: RunOptions) -> Outcome:
    """Feed the chunks to a session."""
    lines: list[str] = []
    make = _SINKS.get(options.log)
    sinks = [make(lines.append)] if make is not None else []
    session = Session(exchange, _SETTINGS[options.repair], lambda _: sinks, fast=options.fast)
    sent = [sent_chunk for chunk in chunks for sent_chunk in session.feed(chunk)] + session.end()
    record = session.record()
    return Outcome(sent, None if record is None else record_object(record), lines, session.error)


_SINKS: Final[dict[str, Callable[[Callable[[str], None]], Sink]]] = {
    "calls": lambda write: EndLines(write, Label("#1")),
    "chunks": lambda write: Lines(write, Label("#1")),
    "jsonl": lambda write: JsonLines(write, {"flow": "f"}),
}
_SETTINGS: Final = {"": NOTHING, "safe": Settings(SAFE)}


def differences(stream: Stream, cuts: Sequence[str] = CUTS) -> Iterator[str]:
    """Yield each run that does not forward and report the stream like a run with one chunk, and the differences."""
    events = stream.events()
    body = b"".join(events)
    unsplit = {one: run(stream.exchange, [body], one) for one in _run_options("none")}
    record = unsplit[RunOptions("none")].record
    if record is None or record["findings"] or _calls(record) != _intended(stream):
        yield f"{stream}: wrong record:  {record and (record['findings'], _calls(record))}"
        return
    for name in cuts:
        if name == "1" and len(body) > BYTEWISE:
            continue
        chunks = cut(events, name, str(stream))
        for options in _run_options(name):
            outcome = run(stream.exchange, chunks, options)
            same = options.repair or all(map(operator.is_, outcome.sent, chunks))
            differs = {
                "bytes": b"".join(outcome.sent) != body,
                "chunk objects": not same or not all(outcome.sent),
                "record": outcome.record != record,
                "log": outcome.lines != unsplit[options._replace(cut="none")].lines,
                f"{outcome.error!r}": outcome.error is not None,
            }
            if any(differs.values()):
                yield f"{stream}: {options}: {', '.join(what for what, one in differs.items() if one)}"


def failures(stream: Stream) -> list[str]:
    """Return `differences` as a list, for another process."""
    return list(differences(stream))


def _run_options(cut: str) -> Iterator[RunOptions]:
    return itertools.starmap(RunOptions, product([cut], LOGS, _SETTINGS, [True, False]))


def _calls(record: dict[str, Any]) -> list[tuple[str, Json]]:
    return [(call["name"], json.loads(call["arguments"])) for call in record["calls"]]


def _intended(stream: Stream) -> list[tuple[str, Json]]:
    return [(call.name, json.loads(call.arguments)) for call in stream.response.calls]
