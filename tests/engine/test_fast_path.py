"""The middle of long calls, and text: what goes by unparsed is read, judged and mended as what is parsed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.tables import INJECTORS
from toolstream_core.engine.fast_path import FastPath
from toolstream_core.engine.session import Session
from toolstream_core.engine.sink import Sink
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.model import Change, Runs, StreamFacts
from toolstream_core.report.columns import Label
from toolstream_core.report.lines import Lines
from toolstream_core.settings import SAFE, Settings
from toolstream_core.stages.inject.markup import MARKUP
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, EventContent, Finding, Record
    from toolstream_core.wire.frame import Frame

type Payload = dict[str, object]

PIECES = st.sampled_from(
    [
        "a",
        "",
        " ",
        '\\"',
        '\\\\\\"',
        "\\\\",
        "\\n",
        "é",
        "😀",
        "\ud83d",
        "\ude00",
        "{",
        "}",
        "x{y}",
        "f(a[0])",
        " {z",
        "}]",
        "\\u00e9[",
        '\\"}',
        '"',
        '"}',
        "[",
        ':{"a":',
        "null",
        "{}",
        '{"a":1}',
        '{"a":"bcd',
        '{"a":"bcd"}',
    ]
)
BEGINS = st.sampled_from(
    [
        ['{"', "a", '":"'],
        ['"', '{\\"', "a", '\\":\\"'],
        ['"{\\"a\\":\\"', "b", "c"],
        ['{"a":1}', "<|x"],
        ['{"a":1}', "get_", "weather"],
        ['{"a":1}'] * 4,
        ['{"a":1}', '{"a"', ":1}", '{"a"', ":1}"],
        ['{"a":"', '{"a":"b', '{"a":"bc', '{"a":"bcd', '{"a":"bcd'],
        ["2}", "a"],
    ]
)
"""Arguments, also ones that are encoded twice, have garbage behind them, come again or all each time, or lost their
head."""
TEXTS = st.sampled_from(
    [
        "word ",
        "",
        "é",
        "😀",
        "\\",
        '"',
        "\n",
        "{",
        "[x]",
        "tool_calls",
        "response.",
        "error",
        "`",
        "```",
        "\ud83d",
        "<tool",
        "_call>",
        '<tool_call>{"name":"f","arguments":{}}</tool_call>',
        "[TOOL",
        "_CALLS]",
    ]
)
NO_EVENTS = Runs()
ODDITIES = st.sampled_from(["", "empty id", "known id", "null id", "no number", "same number", "number last", "spaces"])


def block(payload: Payload, name: str = "", *, escaped: bool = False, spaces: str = "") -> bytes:
    """An SSE event; `escaped`: with all but ASCII in escapes; `spaces`: what stands behind commas and colons."""
    separators = f",{spaces}", f":{spaces}"
    data = json.dumps(payload, separators=separators, ensure_ascii=escaped).encode("utf-8", "backslashreplace")
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n"


def chat(texts: Sequence[str], pieces: Sequence[str], oddity: str) -> Iterator[bytes]:
    """Text, and one call."""
    empty: Payload = {"id": ""}
    identities: dict[str, Payload] = {
        "empty id": empty,
        "known id": {"id": "c1"},
        "null id": {"id": None},
        "spaces": empty,
    }
    spaces = " " if oddity == "spaces" else ""
    identity = identities.get(oddity, {})

    def delta(said: Payload, finish: str | None = None, padding: str = "") -> bytes:
        choice = {"index": 0, "delta": said, "finish_reason": finish}
        head: Payload = {"id": "x", "object": "chat.completion.chunk", "choices": [choice]}
        padded = {**head, "obfuscation": padding} if finish is None and not spaces else head
        return block(padded, escaped=oddity in {"known id", "same number"}, spaces=spaces)

    for at, text in enumerate(texts):
        yield delta({"content": text}, padding="ab"[: at % 3])
    function = {"name": "f", "arguments": ""}
    yield delta({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})
    for at, piece in enumerate(pieces):
        entry = {"index": 0, **identity, "function": {"arguments": piece}}
        yield delta({"tool_calls": [entry]}, padding="ab"[: at % 3])
    yield delta({}, "tool_calls")
    yield b"data: [DONE]\n\n"


def responses(texts: Sequence[str], pieces: Sequence[str], oddity: str) -> Iterator[bytes]:
    """A message, and one call."""
    number = 0

    def event(kind: str, **fields: object) -> bytes:
        nonlocal number
        number += oddity != "same number"
        numbered = {} if oddity == "no number" else {"sequence_number": number}
        first, last = ({}, numbered) if oddity == "number last" else (numbered, {})
        return block({"type": f"response.{kind}", **first, **fields, **last}, f"response.{kind}")

    head = {"id": "r", "object": "response", "model": "m", "output": []}
    yield event("created", response={**head, "status": "in_progress"})
    message = {"type": "message", "id": "m1", "role": "assistant", "content": []}
    yield event("output_item.added", output_index=0, item=message)
    for at, text in enumerate(texts):
        yield event("output_text.delta", item_id="m1", output_index=0, delta=text, obfuscation="ab"[: at % 3])
    yield event("output_item.done", output_index=0, item=message)
    item = {"type": "function_call", "id": "i1", "call_id": "c1", "name": "f", "arguments": ""}
    yield event("output_item.added", output_index=1, item=item)
    for at, piece in enumerate(pieces):
        fields = {"item_id": "" if oddity == "empty id" else "i1", "output_index": 1, "delta": piece}
        yield event("function_call_arguments.delta", **fields, obfuscation="ab"[: at % 3])
    whole = {**item, "arguments": "".join(pieces)}
    yield event("function_call_arguments.done", item_id="i1", output_index=1, arguments=whole["arguments"])
    yield event("output_item.done", output_index=1, item=whole)
    yield event("completed", response={**head, "status": "completed", "output": [message, whole]})


def anthropic(texts: Sequence[str], pieces: Sequence[str], oddity: str) -> Iterator[bytes]:
    """Text, and one call, in blocks; their indexes may have an offset."""
    offset = 3 if oddity == "no number" else 0

    def event(kind: str, **fields: object) -> bytes:
        spaces = b"}" + b" " * (len(texts) % 3) + b"}"
        name = "" if oddity == "empty id" else kind
        return block({"type": kind, **fields}, name).replace(b"}}\n\n", spaces + b"\n\n")

    usage = {"input_tokens": 1, "output_tokens": 1}
    yield event("message_start", message={"id": "m", "type": "message", "role": "assistant", "usage": usage})
    yield event("content_block_start", index=offset, content_block={"type": "text", "text": ""})
    for text in texts:
        yield event("content_block_delta", index=offset, delta={"type": "text_delta", "text": text})
    yield event("content_block_stop", index=offset)
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    yield event("content_block_start", index=offset + 1, content_block=call)
    for piece in pieces:
        yield event("content_block_delta", index=offset + 1, delta={"type": "input_json_delta", "partial_json": piece})
    yield event("content_block_stop", index=offset + 1)
    yield event("message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage=usage)
    yield event("message_stop")


STREAMS: dict[str, Callable[[Sequence[str], Sequence[str], str], Iterator[bytes]]] = {
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
    "/v1/messages": anthropic,
}


class Ear(Sink):
    """Wants to be told of every event, or of those that say something, and keeps what it is told of these."""

    live = True

    def __init__(self, *, each: bool = True) -> None:
        self.each = each
        self.told: list[object] = []
        self.next = 0

    def quiet(self, first: int, frames: int, size: int) -> None:
        assert first >= self.next, "told late"
        self.next = first + frames

    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        assert event.frame.number >= self.next - 1, "told late"
        self.next = event.frame.number + 1
        fragments = [(one.fragment, one.call.position) for one in told]
        if not self.each and not (fragments or said.finishes or said.error):
            return
        self.told.append((event.frame.number, event.frame.raw, said.text, said.finishes, fragments))

    def found(self, finding: Finding) -> None:
        self.told.append(finding)

    def changed(self, changed: Change) -> None:
        sides = changed.before, changed.after, changed.replaced, changed.sent
        self.told.append([changed.names, changed.event, changed.kind, sides])


def run(
    path: str, chunks: Sequence[bytes], settings: Settings, *, watched: bool = False, ear: Ear | None = None
) -> tuple[bytes, Record | None]:
    """What leaves, and the record; `ear` is told of each event."""
    exchange = StreamFacts(path=path, content_type="text/event-stream")
    body = Session(exchange, settings, lambda _: [ear or Ear()] if watched else [])
    out = b"".join(piece for chunk in chunks if chunk for piece in body.feed(chunk))
    out += b"".join(body.end())
    assert body.error is None
    return out, body.record()


def nothing_learned(patch: pytest.MonkeyPatch) -> None:
    """Let the fast path pass no event like an earlier one."""
    patch.setattr(FastPath, "_way_of", lambda *_: None)
    patch.setattr(FastPath, "_learn_text", lambda *_: False)


def cut(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    """The bytes in chunks of these sizes, the rest in one."""
    chunks = []
    for size in sizes:
        chunks.append(data[:size])
        data = data[size:]
    return [*chunks, data]


@example("/v1/responses", [], ['{"a":1}'] * 4 + ['"}'], "", [], False, "", "prefilled-arguments")
@example("/v1/chat/completions", [], ['"', '{\\"', "a", '\\":\\"', "", "", "a", '"}'], "", [], True, "", "")
@given(
    path=st.sampled_from(sorted(STREAMS)),
    texts=st.lists(TEXTS, max_size=16),
    pieces=st.builds(lambda begin, pieces: [*begin, *pieces, '"}'], BEGINS, st.lists(PIECES, max_size=24)),
    oddity=ODDITIES,
    sizes=st.lists(st.integers(1, 700), max_size=12),
    repaired=st.booleans(),
    watched=st.sampled_from(["", "some", "each"]),
    injector=st.sampled_from(["", *sorted({name for injectors in INJECTORS.values() for name in injectors})]),
)
def test_nothing_differs_from_what_is_parsed(
    path: str,
    texts: list[str],
    pieces: list[str],
    oddity: str,
    sizes: list[int],
    repaired: bool,
    watched: str,
    injector: str,
) -> None:
    """The bytes that leave and the record, however the network cut the stream, and whatever breaks it."""
    chunks = list(STREAMS[path](texts, pieces, oddity))
    faults = ((Fault(name=injector), Budget(None)),) if injector else ()
    settings = Settings(SAFE if repaired else frozenset(), faults=faults)
    plain_ear = Ear(each=watched == "each")
    with pytest.MonkeyPatch.context() as patch:
        nothing_learned(patch)
        plain_out, plain = run(path, chunks, settings, watched=bool(watched), ear=plain_ear)
    for arrival in (chunks, [b"".join(chunks)], cut(b"".join(chunks), sizes)):
        ear = Ear(each=watched == "each")
        out, record = run(path, arrival, settings, watched=bool(watched), ear=ear)
        assert out == plain_out
        assert ear.told == plain_ear.told
        assert record is not None
        assert plain is not None
        told, wanted = (
            [(replace(one, events=NO_EVENTS), list(one.events)) for one in kept.calls] for kept in (record, plain)
        )
        assert told == wanted
        assert (record.events, record.bytes, record.findings, record.finish) == (
            plain.events,
            plain.bytes,
            plain.findings,
            plain.finish,
        )
        assert (record.changed, record.changes, record.faults) == (plain.changed, plain.changes, plain.faults)


SYNTAXES = {defect.name: write for defect, write in MARKUP.items()}


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("row", sorted(SYNTAXES.keys() - {"leaked-json", "leaked-code", "leaked-xml"}))
@pytest.mark.parametrize("path", sorted(STREAMS))
def test_a_markup_is_found_however_it_is_cut(path: str, row: str, size: int) -> None:
    """The text before it went by, and none of its pieces alone looks like one."""
    markup = SYNTAXES[row]("get_weather", {"city": "Oslo"})
    texts = ["word "] * 20 + [markup[at : at + size] for at in range(0, len(markup), size)]
    _, record = run(path, list(STREAMS[path](texts, ['{"a":1}'], "")), Settings())
    assert record is not None
    assert [finding.name for finding in record.findings] == [row]


@pytest.mark.parametrize("arrival", ["one by one", "at once"])
@pytest.mark.parametrize("oddity", ["", "number last"])
@pytest.mark.parametrize("path", sorted(STREAMS))
@pytest.mark.parametrize("settings", [Settings(), Settings(SAFE)])
@pytest.mark.parametrize("piece", ["b", 'if (a[0]) { f(\\"b\\"); }\\n'])
def test_long_calls_and_texts_are_hardly_parsed(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, path: str, oddity: str, arrival: str, piece: str
) -> None:
    """Of a thousand fragments, of code too, and a thousand words a few are looked at one by one."""
    read: list[int] = []
    ordinary = FastPath.read

    def counted(self: FastPath, frame: Frame) -> EventContent:
        read.append(frame.number)
        return ordinary(self, frame)

    monkeypatch.setattr(FastPath, "read", counted)
    chunks = list(STREAMS[path](["word "] * 1000, ['{"a":"', *[piece] * 1000, '"}'], oddity))
    out, record = run(path, chunks if arrival == "one by one" else [b"".join(chunks)], settings)
    assert out == b"".join(chunks)
    assert record is not None
    assert record.calls[0].arguments == f'{{"a":"{piece * 1000}"}}'
    assert record.events == len(chunks)
    assert len(read) < 40


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("settings", [Settings(), Settings(SAFE)])
@pytest.mark.parametrize("oddity", ["empty id", "spaces"])
@pytest.mark.parametrize("piece", ["b", "f(a[0]) {"])
def test_a_long_call_that_is_rewritten_is_hardly_parsed(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, piece: str, oddity: str, *, watched: bool
) -> None:
    """Each fragment is told and mended all the same."""
    read: list[int] = []
    ordinary = FastPath.read

    def counted(self: FastPath, frame: Frame) -> EventContent:
        read.append(frame.number)
        return ordinary(self, frame)

    monkeypatch.setattr(FastPath, "read", counted)
    path = "/v1/chat/completions"
    ear = Ear()
    stream = list(chat([], ['{"a":"', *[piece] * 1000, '"}'], oddity))
    _, record = run(path, stream, settings, watched=watched, ear=ear)
    assert sum(isinstance(one, list) for one in ear.told) == (1002 if watched and settings.repairs else 0)
    assert record is not None
    assert record.calls[0].arguments == f'{{"a":"{piece * 1000}"}}'
    assert record.changed == (1002 if settings.repairs else 0)
    assert len(read) < 12


@pytest.mark.parametrize(("oddity", "each"), [("", False), ("empty id", False), ("empty id", True)])
def test_what_is_watched_goes_by_without_being_cut_into_frames(
    monkeypatch: pytest.MonkeyPatch, oddity: str, *, each: bool
) -> None:
    """Where each event comes by itself; text only where nobody wants to be told of it one by one."""
    cuts: list[bytes] = []
    ordinary = SseFramer.feed

    def counted(self: SseFramer, chunk: bytes) -> list[Frame]:
        cuts.append(chunk)
        return ordinary(self, chunk)

    monkeypatch.setattr(SseFramer, "feed", counted)
    texts = [] if each else ["word "] * 1000
    stream = list(chat(texts, ['{"a":"', *["b"] * 1000, '"}'], oddity))
    run("/v1/chat/completions", stream, Settings(SAFE), watched=True, ear=Ear(each=each))
    assert len(cuts) <= 12


@pytest.mark.parametrize("oddity", ["", "empty id", "known id", "number last"])
@pytest.mark.parametrize("path", sorted(STREAMS))
def test_the_log_is_that_of_what_is_parsed(monkeypatch: pytest.MonkeyPatch, path: str, oddity: str) -> None:
    """Line by line, text between the pieces of a call included."""
    pieces = ['{"a":"', *["b", "c \n", "é"] * 20, '"}']
    stream = list(STREAMS[path](["word "] * 30, pieces, oddity))
    log = logged(path, stream)
    nothing_learned(monkeypatch)
    assert log == logged(path, stream)
    assert len(log) > len(pieces)


def logged(path: str, chunks: Sequence[bytes]) -> list[str]:
    """The lines of the default log."""
    log: list[str] = []
    body = Session(
        StreamFacts(path=path, content_type="text/event-stream"),
        Settings(SAFE),
        lambda _: [Lines(log.append, Label("#1"))],
    )
    for chunk in chunks:
        body.feed(chunk)
    body.end()
    assert body.record() is not None
    return log


@pytest.mark.parametrize("path", sorted(STREAMS))
@pytest.mark.parametrize(
    ("begin", "end"), [('"{\\"a\\":\\"', '\\"}"'), ('{"a":1}<|', "|>"), ('{"a":1}and so', " on"), ("2}", "]")]
)
def test_odd_arguments_are_hardly_parsed(monkeypatch: pytest.MonkeyPatch, path: str, begin: str, end: str) -> None:
    """They cost as little as plain ones where nothing is mended."""
    read: list[int] = []
    ordinary = FastPath.read

    def counted(self: FastPath, frame: Frame) -> EventContent:
        read.append(frame.number)
        return ordinary(self, frame)

    monkeypatch.setattr(FastPath, "read", counted)
    chunks = list(STREAMS[path]([], [begin, *["b"] * 1000, end], ""))
    _, record = run(path, chunks, Settings())
    assert record is not None
    assert record.events == len(chunks)
    assert len(read) < 40


def test_a_chunk_inside_an_event_is_no_event_of_its_own() -> None:
    """It may look like one: an event of several data lines can be cut behind any of them."""
    words = [
        b'data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"%d"}}]}\n\n' % n for n in range(9)
    ]
    body = [*words[:6], b"data: [1,\n", *words[6:]]
    records = []
    for chunks in (body, [b"".join(body)]):
        line = Session(StreamFacts(path="/v1/chat/completions", content_type="text/event-stream"))
        for chunk in chunks:
            line.feed(chunk)
        line.end()
        record = line.record()
        assert record is not None
        records.append((record.events, [finding.name for finding in record.findings]))
    assert records[0] == records[1]
    assert records[0][0] == len(words)
