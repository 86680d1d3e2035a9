"""The middle of long calls: what goes by unparsed is read, judged and mended as what is parsed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.body import Body
from toolstream_core.course import Courses, Way, way_of
from toolstream_core.dialects import DIALECTS
from toolstream_core.likeness import Likeness
from toolstream_core.model import Exchange
from toolstream_core.record import Sink
from toolstream_core.settings import SAFE, Settings
from toolstream_core.wire.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.model import Said
    from toolstream_core.record import Record

EXCHANGE = Exchange(path="/v1/chat/completions", content_type="text/event-stream")
PIECES = st.sampled_from(
    [
        "a",
        "",
        " ",
        '\\"',
        "\\\\",
        "\\n",
        "é",
        "😀",
        "\ud83d",
        "\ude00",
        "{",
        "}",
        '"',
        '"}',
        "[",
        ':{"a":',
        "null",
        "{}",
    ]
)
IDENTITIES = st.sampled_from([{}, {"id": ""}, {"id": "c1"}, {"type": "function"}, {"id": None}])


def event(entry: dict[str, object], obfuscation: str = "") -> bytes:
    """One event with one entry."""
    choice = {"index": 0, "delta": {"tool_calls": [entry]}, "finish_reason": None}
    payload = {"id": "x", "object": "chat.completion.chunk", "choices": [choice], "obfuscation": obfuscation}
    return b"data: " + json.dumps(payload, separators=(",", ":")).encode() + b"\n\n"


def stream(pieces: Sequence[str], identity: dict[str, object]) -> list[bytes]:
    """One call whose arguments come in `pieces`, each continuation with that identity."""
    header = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}
    finish = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    last = {"id": "x", "object": "chat.completion.chunk", "choices": [finish]}
    return [
        event(header),
        *(
            event({"index": 0, **identity, "function": {"arguments": piece}}, "ab"[: at % 3])
            for at, piece in enumerate(pieces)
        ),
        b"data: " + json.dumps(last).encode() + b"\n\n",
        b"data: [DONE]\n\n",
    ]


class Ear(Sink):
    """Wants to be told of every event."""

    live = each = True


def run(chunks: Sequence[bytes], settings: Settings, *, watched: bool = False) -> tuple[bytes, Record | None]:
    """What leaves, and the record."""
    body = Body(EXCHANGE, settings, lambda _: [Ear()] if watched else [])
    out = b"".join(piece for chunk in chunks if chunk for piece in body.feed(chunk))
    out += b"".join(body.end())
    assert body.pipeline.error is None
    return out, body.record()


def cut(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    """The bytes in chunks of these sizes, the rest in one."""
    chunks = []
    for size in sizes:
        chunks.append(data[:size])
        data = data[size:]
    return [*chunks, data]


@given(
    pieces=st.lists(PIECES, max_size=24),
    identity=IDENTITIES,
    sizes=st.lists(st.integers(1, 700), max_size=12),
    repaired=st.booleans(),
    watched=st.booleans(),
)
def test_nothing_differs_from_what_is_parsed(
    pieces: list[str], identity: dict[str, object], sizes: list[int], repaired: bool, watched: bool
) -> None:
    """The bytes that leave and the record, however the network cut the stream."""
    chunks = stream(['{"', "a", '":"', *pieces, '"}'], identity)
    settings = Settings(SAFE) if repaired else Settings()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Courses, "learn", lambda *_: None)
        plain_out, plain = run(chunks, settings, watched=watched)
    for arrival in (chunks, [b"".join(chunks)], cut(b"".join(chunks), sizes)):
        out, record = run(arrival, settings, watched=watched)
        assert out == plain_out
        assert record is not None
        assert plain is not None
        told, wanted = ([(one, list(one.events)) for one in kept.calls] for kept in (record, plain))
        assert [(replace(call, events=wanted[0][0].events), events) for call, events in told] == wanted
        assert (record.events, record.bytes, record.findings, record.finish) == (
            plain.events,
            plain.bytes,
            plain.findings,
            plain.finish,
        )
        assert record.mended == plain.mended


@pytest.mark.parametrize("settings", [Settings(), Settings(SAFE)])
def test_a_long_call_is_hardly_parsed(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Of a thousand fragments a few are looked at one by one, whether they pass or are rewritten."""
    read: list[int] = []
    ordinary = Likeness.read

    def counted(self: Likeness, frame: Frame) -> Said:
        read.append(frame.number)
        return ordinary(self, frame)

    monkeypatch.setattr(Likeness, "read", counted)
    _, record = run(stream(['{"a":"', *["b"] * 1000, '"}'], {"id": ""}), settings)
    assert record is not None
    assert record.calls[0].arguments == f'{{"a":"{"b" * 1000}"}}'
    assert record.mended == (1002 if settings.repairs else 0)
    assert len(read) < 12


HEAD = b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"arguments":'
RAW = HEAD + b'"a"}}]}}]}\n\n'


@pytest.mark.parametrize(
    ("out", "way"),
    [
        (RAW, Way()),
        (RAW.replace(b'"id":"",', b""), Way(before=HEAD.replace(b'"id":"",', b""))),
        (RAW.replace(b"}}]}}]}", b"},1]}"), Way(behind=b"},1]}\n\n")),
        (RAW.replace(b'"a"', b'"b"'), None),
        (RAW.replace(b'"id":"",', b"").replace(b"}}]}}]}", b"},1]}"), None),
    ],
)
def test_ways(out: bytes, way: Way | None) -> None:
    """A frame passes, or changes before its arguments, or behind them; else nothing is learned."""
    likeness = Likeness(next(dialect.read for dialect in DIALECTS if dialect.name == "openai-chat"))
    for _ in range(2):
        likeness.read(Frame(RAW, 0, RAW[6:-2]))
    assert likeness.met is not None
    assert way_of(likeness.met, RAW, out) == way
