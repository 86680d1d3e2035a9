"""JSON values of unexpected types in a stream or request raise nothing and lose no byte."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.invariants.healthy import Healthy, over_all_transports
from tests.tables import INJECTORS, SHAPES
from toolstream_core.defects.table import DEFECTS
from toolstream_core.engine.session import Session
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.report.columns import Label
from toolstream_core.report.jsonform import JsonLines
from toolstream_core.report.lines import Lines
from toolstream_core.settings import NOTHING, SAFE, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import StreamFacts

HEALTHY = over_all_transports()
ODD: list[Any] = [
    *(None, True, False, 0, -1, 7, 1.5, 1.0, float("inf"), float("nan"), 10**30),
    *("", "x", "\ud800", "null", "{", "\x00\x1b", "event", "error"),
    *([], [1], ["x"], [None], [{}], [[]]),
    *(
        {},
        {"0": 0},
        {"a": {"b": [1]}},
        {"1": 2, "0": 3},
        {"": 1},
        {"type": []},
        {"index": {}},
        {"text": 5},
        {"message": {}},
    ),
]
EVERY_REPAIR = frozenset(row.code for row in DEFECTS if row.repair)
type Path = tuple[str | int, ...]


def nodes(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of a JSON value and of every value inside it."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from nodes(one, (*path, key))


def put(value: Any, path: Path, odd: Any) -> Any:
    """Return a copy of `value` with `odd` at `path`."""
    if not path:
        return odd
    changed = copy.copy(value)
    changed[path[0]] = put(value[path[0]], path[1:], odd)
    return changed


def retyped(draw: st.DrawFn, value: Any) -> Any:
    """Replace one to three values inside `value` by values of other types."""
    for _ in range(draw(st.integers(1, 3))):
        value = put(value, draw(st.sampled_from(list(nodes(value)))), draw(st.sampled_from(ODD)))
    return value


def with_odd_data(draw: st.DrawFn, frame: bytes) -> bytes:
    """Return the event with odd data, or `[DONE]` unchanged."""
    head, mark, data = frame.rpartition(b"data: ")
    try:
        payload = json.loads(data)
    except ValueError:
        return frame
    end = b"\n\n" if mark else b"\n"
    odd = json.dumps(retyped(draw, payload), ensure_ascii=draw(st.booleans()))
    kept = head if draw(st.booleans()) else b""
    return kept + mark + odd.encode("utf-8", "surrogatepass") + end


@st.composite
def odd_streams(draw: st.DrawFn, healthy: Healthy) -> tuple[bytes, StreamFacts]:
    """Draw a stream with odd events, and facts whose request may be odd."""
    frames = list(healthy.frames)
    for at in draw(st.sets(st.integers(0, len(frames) - 1), min_size=1, max_size=3)):
        frames[at] = with_odd_data(draw, frames[at])
    exchange = healthy.exchange
    if draw(st.booleans()):
        exchange = replace(exchange, request=retyped(draw, exchange.request))
    if draw(st.integers(0, 4)) == 0:
        exchange = replace(exchange, path="")
    return b"".join(frames), exchange


@st.composite
def drawn_settings(draw: st.DrawFn, protocol: str) -> Settings:
    """Draw repairs, shapes and faults."""
    repairs = draw(st.sampled_from([frozenset(), SAFE, EVERY_REPAIR]))
    shapes = draw(st.lists(st.sampled_from(sorted(SHAPES[protocol])), max_size=1)) if SHAPES.get(protocol) else []
    names = draw(st.lists(st.sampled_from(sorted(INJECTORS[protocol])), max_size=2)) if INJECTORS[protocol] else []
    return Settings(repairs, shapes=tuple(shapes), faults=tuple((Fault(name=name), Budget(None)) for name in names))


def forwarded(body: bytes, exchange: StreamFacts, options: Settings, size: int) -> bytes:
    """Return the forwarded bytes and build every log line; an internal error fails the test."""
    logged: list[str] = []
    session = Session(
        exchange, options, lambda _: [Lines(logged.append, Label("#1")), JsonLines(logged.append, {"flow": "x"})]
    )
    out = [chunk for at in range(0, len(body), size) for chunk in session.feed(body[at : at + size])]
    out += session.end()
    session.record()
    if session.error is not None:
        raise session.error
    return b"".join(out)


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
@settings(max_examples=25)
@given(data=st.data())
def test_odd_json_raises_nothing(healthy: Healthy, data: st.DataObject) -> None:
    """Odd JSON is forwarded unchanged without options, and raises nothing with repairs, shapes and faults."""
    body, exchange = data.draw(odd_streams(healthy))
    size = data.draw(st.sampled_from([1, 7, len(body)]))
    assert forwarded(body, exchange, NOTHING, size) == body
    forwarded(body, exchange, data.draw(drawn_settings(healthy.protocol)), size)


CONTROL = [chr(number) for number in range(0x20) if chr(number) not in "\r\n"]


@pytest.mark.parametrize("control", CONTROL, ids=repr)
@pytest.mark.parametrize("options", [NOTHING, Settings(SAFE)], ids=["off", "repairs"])
def test_a_raw_control_character_in_a_string_is_reported(options: Settings, control: str) -> None:
    """A raw control character is not valid JSON and is reported, even if the fast path skips the call's fragments."""
    fragments = ['{\\"a\\":\\"', "one ", "two ", "three ", f"x{control}y", "four ", f"{control}", '\\"}']
    entries = [f'{{"index":0,"function":{{"arguments":"{fragment}"}}}}' for fragment in fragments]
    entries.insert(0, '{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}')
    chunks = [
        f'{{"choices":[{{"index":0,"delta":{{"tool_calls":[{entry}]}},"finish_reason":null}}]}}' for entry in entries
    ]
    body = "".join(f"data: {chunk}\n\n" for chunk in chunks).encode()
    for size in (1, 50, len(body)):
        session = Session(replace(HEALTHY[0].exchange, request=None), options)
        for at in range(0, len(body), size):
            session.feed(body[at : at + size])
        session.end()
        assert session.error is None
        record = session.record()
        assert record is not None
        assert [(one.name, one.event) for one in record.findings][:1] == [("unparsable-data", 5)]


def test_an_event_with_a_lone_surrogate_in_its_type_can_be_rewritten() -> None:
    """An event whose type contains a lone surrogate can be rewritten."""
    healthy = next(one for one in HEALTHY if one.protocol == "openai-responses")
    body = healthy.body.replace(b'"type": "response.in_progress"', b'"type": "response.in_\\ud800"')
    options = Settings(faults=((Fault(name="sequence-numbers"), Budget(None)),))
    assert forwarded(body, healthy.exchange, options, len(body))
