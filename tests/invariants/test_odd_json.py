"""JSON of types that nobody expects, anywhere in a stream or in its request: no exception, and no byte lost."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.invariants.healthy import Healthy, everywhere
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

HEALTHY = everywhere()
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
    """The place of every value in a JSON value, its own too."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from nodes(one, (*path, key))


def put(value: Any, path: Path, odd: Any) -> Any:
    """`value` with something else at a place."""
    if not path:
        return odd
    changed = copy.copy(value)
    changed[path[0]] = put(value[path[0]], path[1:], odd)
    return changed


def retyped(draw: st.DrawFn, value: Any) -> Any:
    """`value` with one to three places of other types."""
    for _ in range(draw(st.integers(1, 3))):
        value = put(value, draw(st.sampled_from(list(nodes(value)))), draw(st.sampled_from(ODD)))
    return value


def reframed(draw: st.DrawFn, frame: bytes) -> bytes:
    """An event with odd data; `[DONE]` as it is."""
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
def oddities(draw: st.DrawFn, healthy: Healthy) -> tuple[bytes, StreamFacts]:
    """A stream with odd events, and a request that may be odd."""
    frames = list(healthy.frames)
    for at in draw(st.sets(st.integers(0, len(frames) - 1), min_size=1, max_size=3)):
        frames[at] = reframed(draw, frames[at])
    exchange = healthy.exchange
    if draw(st.booleans()):
        exchange = replace(exchange, request=retyped(draw, exchange.request))
    if draw(st.integers(0, 4)) == 0:
        exchange = replace(exchange, path="")
    return b"".join(frames), exchange


@st.composite
def wishes(draw: st.DrawFn, dialect: str) -> Settings:
    """What is to be done to it."""
    repairs = draw(st.sampled_from([frozenset(), SAFE, EVERY_REPAIR]))
    shapes = draw(st.lists(st.sampled_from(sorted(SHAPES[dialect])), max_size=1)) if SHAPES.get(dialect) else []
    names = draw(st.lists(st.sampled_from(sorted(INJECTORS[dialect])), max_size=2)) if INJECTORS[dialect] else []
    return Settings(repairs, shapes=tuple(shapes), faults=tuple((Fault(name=name), Budget(None)) for name in names))


def passed(body: bytes, exchange: StreamFacts, wanted: Settings, size: int) -> bytes:
    """What goes on, every line of both reports told; an exception of ours fails the test."""
    told: list[str] = []
    line = Session(exchange, wanted, lambda _: [Lines(told.append, Label("#1")), JsonLines(told.append, {"flow": "x"})])
    out = [piece for at in range(0, len(body), size) for piece in line.feed(body[at : at + size])]
    out += line.end()
    line.record()
    if line.error is not None:
        raise line.error
    return b"".join(out)


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
@settings(max_examples=25)
@given(data=st.data())
def test_no_type_of_json_is_too_odd(healthy: Healthy, data: st.DataObject) -> None:
    """Read, mended, shaped or broken further."""
    body, exchange = data.draw(oddities(healthy))
    size = data.draw(st.sampled_from([1, 7, len(body)]))
    assert passed(body, exchange, NOTHING, size) == body
    passed(body, exchange, data.draw(wishes(healthy.dialect)), size)


CONTROL = [chr(number) for number in range(0x20) if chr(number) not in "\r\n"]


@pytest.mark.parametrize("control", CONTROL, ids=repr)
@pytest.mark.parametrize("wanted", [NOTHING, Settings(SAFE)], ids=["looked at", "mended"])
def test_a_raw_control_character_in_a_string(wanted: Settings, control: str) -> None:
    """It is no JSON, which is told; in the midst of a call whose fragments go by unparsed, too."""
    pieces = ['{\\"a\\":\\"', "one ", "two ", "three ", f"x{control}y", "four ", f"{control}", '\\"}']
    entries = [f'{{"index":0,"function":{{"arguments":"{piece}"}}}}' for piece in pieces]
    entries.insert(0, '{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}')
    chunks = [
        f'{{"choices":[{{"index":0,"delta":{{"tool_calls":[{entry}]}},"finish_reason":null}}]}}' for entry in entries
    ]
    body = "".join(f"data: {chunk}\n\n" for chunk in chunks).encode()
    for size in (1, 50, len(body)):
        line = Session(replace(HEALTHY[0].exchange, request=None), wanted)
        for at in range(0, len(body), size):
            line.feed(body[at : at + size])
        line.end()
        assert line.error is None
        record = line.record()
        assert record is not None
        assert [(one.name, one.event) for one in record.findings][:1] == [("unparsable-data", 5)]


def test_a_name_that_has_no_utf8() -> None:
    """Half a surrogate pair as an event's type does not keep it from being written anew."""
    healthy = next(one for one in HEALTHY if one.dialect == "openai-responses")
    body = healthy.body.replace(b'"type": "response.in_progress"', b'"type": "response.in_\\ud800"')
    wanted = Settings(faults=((Fault(name="sequence-numbers"), Budget(None)),))
    assert passed(body, healthy.exchange, wanted, len(body))
