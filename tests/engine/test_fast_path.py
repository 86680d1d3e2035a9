"""The fast path: skipped events of long calls and text give the same results as parsed events."""

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

FRAGMENTS = st.sampled_from(
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
BEGINNINGS = st.sampled_from(
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
"""Beginnings of arguments: plain, encoded twice, with trailing garbage, repeated, cumulative, or truncated."""
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
    """Return a server-sent event, with non-ASCII text escaped if `escaped`, and `spaces` after commas and colons."""
    separators = f",{spaces}", f":{spaces}"
    data = json.dumps(payload, separators=separators, ensure_ascii=escaped).encode("utf-8", "backslashreplace")
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n"


def chat(texts: Sequence[str], fragments: Sequence[str], oddity: str) -> Iterator[bytes]:
    """Yield text and a call of Chat Completions."""
    empty: Payload = {"id": ""}
    identities: dict[str, Payload] = {
        "empty id": empty,
        "known id": {"id": "c1"},
        "null id": {"id": None},
        "spaces": empty,
    }
    spaces = " " if oddity == "spaces" else ""
    identity = identities.get(oddity, {})

    def delta(content: Payload, finish: str | None = None, padding: str = "") -> bytes:
        choice = {"index": 0, "delta": content, "finish_reason": finish}
        head: Payload = {"id": "x", "object": "chat.completion.chunk", "choices": [choice]}
        padded = {**head, "obfuscation": padding} if finish is None and not spaces else head
        return block(padded, escaped=oddity in {"known id", "same number"}, spaces=spaces)

    for at, text in enumerate(texts):
        yield delta({"content": text}, padding="ab"[: at % 3])
    function = {"name": "f", "arguments": ""}
    yield delta({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})
    for at, fragment in enumerate(fragments):
        entry = {"index": 0, **identity, "function": {"arguments": fragment}}
        yield delta({"tool_calls": [entry]}, padding="ab"[: at % 3])
    yield delta({}, "tool_calls")
    yield b"data: [DONE]\n\n"


def responses(texts: Sequence[str], fragments: Sequence[str], oddity: str) -> Iterator[bytes]:
    """Yield a message and a call of Responses."""
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
    for at, fragment in enumerate(fragments):
        fields = {"item_id": "" if oddity == "empty id" else "i1", "output_index": 1, "delta": fragment}
        yield event("function_call_arguments.delta", **fields, obfuscation="ab"[: at % 3])
    complete = {**item, "arguments": "".join(fragments)}
    yield event("function_call_arguments.done", item_id="i1", output_index=1, arguments=complete["arguments"])
    yield event("output_item.done", output_index=1, item=complete)
    yield event("completed", response={**head, "status": "completed", "output": [message, complete]})


def anthropic(texts: Sequence[str], fragments: Sequence[str], oddity: str) -> Iterator[bytes]:
    """Yield a text block and a call of Messages, with an index offset for `no number`."""
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
    for fragment in fragments:
        yield event(
            "content_block_delta", index=offset + 1, delta={"type": "input_json_delta", "partial_json": fragment}
        )
    yield event("content_block_stop", index=offset + 1)
    yield event("message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage=usage)
    yield event("message_stop")


STREAMS: dict[str, Callable[[Sequence[str], Sequence[str], str], Iterator[bytes]]] = {
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
    "/v1/messages": anthropic,
}


class RecordingSink(Sink):
    """Keeps its notifications of every event, or only of events with calls, finish reasons and errors."""

    live = True

    def __init__(self, *, each: bool = True) -> None:
        self.each = each
        self.notifications: list[object] = []
        self.next = 0

    def quiet(self, first: int, frames: int, size: int) -> None:
        assert first >= self.next, "notified late"
        self.next = first + frames

    def resolved(self, event: Event, content: EventContent, resolved: Sequence[ResolvedFragment]) -> None:
        assert event.frame.number >= self.next - 1, "notified late"
        self.next = event.frame.number + 1
        fragments = [(one.fragment, one.call.position) for one in resolved]
        if not self.each and not (fragments or content.finishes or content.error):
            return
        self.notifications.append((event.frame.number, event.frame.raw, content.text, content.finishes, fragments))

    def found(self, finding: Finding) -> None:
        self.notifications.append(finding)

    def changed(self, changed: Change) -> None:
        sides = changed.before, changed.after, changed.replaced, changed.sent
        self.notifications.append([changed.names, changed.event, changed.kind, sides])


def run(
    path: str, chunks: Sequence[bytes], settings: Settings, *, watched: bool = False, sink: RecordingSink | None = None
) -> tuple[bytes, Record | None]:
    """Return the forwarded bytes and the record; with `watched`, notify `sink`."""
    exchange = StreamFacts(path=path, content_type="text/event-stream")
    session = Session(exchange, settings, lambda _: [sink or RecordingSink()] if watched else [])
    out = b"".join(sent for chunk in chunks if chunk for sent in session.feed(chunk))
    out += b"".join(session.end())
    assert session.error is None
    return out, session.record()


def disable_learning(patch: pytest.MonkeyPatch) -> None:
    """Disable learning in the fast path."""
    patch.setattr(FastPath, "_route_of", lambda *_: None)
    patch.setattr(FastPath, "_learn_text", lambda *_: False)


def cut(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    """Return the bytes in chunks of these sizes, and the rest in one chunk."""
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
    fragments=st.builds(
        lambda beginning, fragments: [*beginning, *fragments, '"}'], BEGINNINGS, st.lists(FRAGMENTS, max_size=24)
    ),
    oddity=ODDITIES,
    sizes=st.lists(st.integers(1, 700), max_size=12),
    repaired=st.booleans(),
    watched=st.sampled_from(["", "some", "each"]),
    fault=st.sampled_from(["", *sorted({name for injectors in INJECTORS.values() for name in injectors})]),
)
def test_the_fast_path_gives_the_results_of_parsing(
    path: str,
    texts: list[str],
    fragments: list[str],
    oddity: str,
    sizes: list[int],
    repaired: bool,
    watched: str,
    fault: str,
) -> None:
    """Forwarded bytes, record and notifications are those of a parsed stream, for all chunks and injected defects."""
    chunks = list(STREAMS[path](texts, fragments, oddity))
    faults = ((Fault(name=fault), Budget(None)),) if fault else ()
    settings = Settings(SAFE if repaired else frozenset(), faults=faults)
    parsed_sink = RecordingSink(each=watched == "each")
    with pytest.MonkeyPatch.context() as patch:
        disable_learning(patch)
        parsed_out, parsed = run(path, chunks, settings, watched=bool(watched), sink=parsed_sink)
    for received in (chunks, [b"".join(chunks)], cut(b"".join(chunks), sizes)):
        sink = RecordingSink(each=watched == "each")
        out, record = run(path, received, settings, watched=bool(watched), sink=sink)
        assert out == parsed_out
        assert sink.notifications == parsed_sink.notifications
        assert record is not None
        assert parsed is not None
        calls, expected_calls = (
            [(replace(one, events=NO_EVENTS), list(one.events)) for one in kept.calls] for kept in (record, parsed)
        )
        assert calls == expected_calls
        assert (record.events, record.bytes, record.findings, record.finish) == (
            parsed.events,
            parsed.bytes,
            parsed.findings,
            parsed.finish,
        )
        assert (record.changed, record.changes, record.faults) == (parsed.changed, parsed.changes, parsed.faults)


SYNTAXES = {defect.name: write for defect, write in MARKUP.items()}


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("defect", sorted(SYNTAXES.keys() - {"leaked-json", "leaked-code", "leaked-xml"}))
@pytest.mark.parametrize("path", sorted(STREAMS))
def test_markup_in_fragments_is_found(path: str, defect: str, size: int) -> None:
    """Leaked markup is found after skipped text, although no fragment alone looks like markup."""
    markup = SYNTAXES[defect]("get_weather", {"city": "Oslo"})
    texts = ["word "] * 20 + [markup[at : at + size] for at in range(0, len(markup), size)]
    _, record = run(path, list(STREAMS[path](texts, ['{"a":1}'], "")), Settings())
    assert record is not None
    assert [finding.name for finding in record.findings] == [defect]


@pytest.mark.parametrize("chunking", ["one by one", "at once"])
@pytest.mark.parametrize("oddity", ["", "number last"])
@pytest.mark.parametrize("path", sorted(STREAMS))
@pytest.mark.parametrize("settings", [Settings(), Settings(SAFE)])
@pytest.mark.parametrize("fragment", ["b", 'if (a[0]) { f(\\"b\\"); }\\n'])
def test_long_calls_and_texts_are_hardly_parsed(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, path: str, oddity: str, chunking: str, fragment: str
) -> None:
    """Of a thousand fragments and a thousand words, only a few are parsed."""
    read: list[int] = []
    original = FastPath.read

    def counted(self: FastPath, frame: Frame) -> EventContent:
        read.append(frame.number)
        return original(self, frame)

    monkeypatch.setattr(FastPath, "read", counted)
    chunks = list(STREAMS[path](["word "] * 1000, ['{"a":"', *[fragment] * 1000, '"}'], oddity))
    out, record = run(path, chunks if chunking == "one by one" else [b"".join(chunks)], settings)
    assert out == b"".join(chunks)
    assert record is not None
    assert record.calls[0].arguments == f'{{"a":"{fragment * 1000}"}}'
    assert record.events == len(chunks)
    assert len(read) < 40


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("settings", [Settings(), Settings(SAFE)])
@pytest.mark.parametrize("oddity", ["empty id", "spaces"])
@pytest.mark.parametrize("fragment", ["b", "f(a[0]) {"])
def test_a_long_rewritten_call_is_hardly_parsed(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, fragment: str, oddity: str, *, watched: bool
) -> None:
    """Of a long rewritten call, few fragments are parsed, and each is repaired and reported."""
    read: list[int] = []
    original = FastPath.read

    def counted(self: FastPath, frame: Frame) -> EventContent:
        read.append(frame.number)
        return original(self, frame)

    monkeypatch.setattr(FastPath, "read", counted)
    path = "/v1/chat/completions"
    sink = RecordingSink()
    stream = list(chat([], ['{"a":"', *[fragment] * 1000, '"}'], oddity))
    _, record = run(path, stream, settings, watched=watched, sink=sink)
    assert sum(isinstance(one, list) for one in sink.notifications) == (1002 if watched and settings.repairs else 0)
    assert record is not None
    assert record.calls[0].arguments == f'{{"a":"{fragment * 1000}"}}'
    assert record.changed == (1002 if settings.repairs else 0)
    assert len(read) < 12


@pytest.mark.parametrize(("oddity", "each"), [("", False), ("empty id", False), ("empty id", True)])
def test_watched_events_are_skipped_without_framing(
    monkeypatch: pytest.MonkeyPatch, oddity: str, *, each: bool
) -> None:
    """Events in chunks of their own are skipped without framing, text only if no sink needs each event."""
    cuts: list[bytes] = []
    original = SseFramer.feed

    def counted(self: SseFramer, chunk: bytes) -> list[Frame]:
        cuts.append(chunk)
        return original(self, chunk)

    monkeypatch.setattr(SseFramer, "feed", counted)
    texts = [] if each else ["word "] * 1000
    stream = list(chat(texts, ['{"a":"', *["b"] * 1000, '"}'], oddity))
    run("/v1/chat/completions", stream, Settings(SAFE), watched=True, sink=RecordingSink(each=each))
    assert len(cuts) <= 12


@pytest.mark.parametrize("oddity", ["", "empty id", "known id", "number last"])
@pytest.mark.parametrize("path", sorted(STREAMS))
def test_the_log_is_that_of_a_parsed_stream(monkeypatch: pytest.MonkeyPatch, path: str, oddity: str) -> None:
    """The log has the lines of a parsed stream, with text between the fragments of a call."""
    fragments = ['{"a":"', *["b", "c \n", "é"] * 20, '"}']
    stream = list(STREAMS[path](["word "] * 30, fragments, oddity))
    log = logged(path, stream)
    disable_learning(monkeypatch)
    assert log == logged(path, stream)
    assert len(log) > len(fragments)


def logged(path: str, chunks: Sequence[bytes]) -> list[str]:
    """Return the lines of the default log."""
    log: list[str] = []
    session = Session(
        StreamFacts(path=path, content_type="text/event-stream"),
        Settings(SAFE),
        lambda _: [Lines(log.append, Label("#1"))],
    )
    for chunk in chunks:
        session.feed(chunk)
    session.end()
    assert session.record() is not None
    return log


@pytest.mark.parametrize("path", sorted(STREAMS))
@pytest.mark.parametrize(
    ("begin", "end"), [('"{\\"a\\":\\"', '\\"}"'), ('{"a":1}<|', "|>"), ('{"a":1}and so', " on"), ("2}", "]")]
)
def test_odd_arguments_are_hardly_parsed(monkeypatch: pytest.MonkeyPatch, path: str, begin: str, end: str) -> None:
    """Of odd arguments, few fragments are parsed if there are no repairs."""
    read: list[int] = []
    original = FastPath.read

    def counted(self: FastPath, frame: Frame) -> EventContent:
        read.append(frame.number)
        return original(self, frame)

    monkeypatch.setattr(FastPath, "read", counted)
    chunks = list(STREAMS[path]([], [begin, *["b"] * 1000, end], ""))
    _, record = run(path, chunks, Settings())
    assert record is not None
    assert record.events == len(chunks)
    assert len(read) < 40


def test_a_chunk_inside_an_event_is_not_an_event() -> None:
    """A chunk that ends after a data line inside an event is not counted as an event."""
    words = [
        b'data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"%d"}}]}\n\n' % n for n in range(9)
    ]
    body = [*words[:6], b"data: [1,\n", *words[6:]]
    records = []
    for chunks in (body, [b"".join(body)]):
        session = Session(StreamFacts(path="/v1/chat/completions", content_type="text/event-stream"))
        for chunk in chunks:
            session.feed(chunk)
        session.end()
        record = session.record()
        assert record is not None
        records.append((record.events, [finding.name for finding in record.findings]))
    assert records[0] == records[1]
    assert records[0][0] == len(words)
