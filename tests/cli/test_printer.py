from __future__ import annotations

import json

import pytest

from toolstream_core.cli.inspect import JsonPrinter, TextPrinter
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.report.layout import colour

CALL = (
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f",'
    b'"arguments":"{}"}}]}}]}\n\n'
)
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'


def printed(count: int, *, chunks: bool | None = None, body: bytes = CALL + END) -> list[str]:
    """The lines of so many streams, all the same."""
    lines: list[str] = []
    printer = TextPrinter(lines.append, chunks=chunks)
    for number in range(count):
        exchange = StreamFacts(source=f"s{number}")
        record = read_body([body], exchange, sinks=printer.sinks(exchange, str, None))
        assert record is not None
        printer.add(record, str)
    printer.close()
    return lines


def test_a_single_stream_is_told_chunk_by_chunk() -> None:
    """There is room for it."""
    lines = printed(1)
    assert lines == printed(1, chunks=True)
    assert [line.split()[1] for line in lines] == ["s0", "event", "event", "event", "call", "3"]


@pytest.mark.parametrize("count", [2, 3])
def test_of_several_streams_only_the_ends_are_told(count: int) -> None:
    """Of the first one too, which waited; then how many of everything."""
    lines = printed(count)
    assert lines == printed(count, chunks=False)
    assert [line.split()[:2] for line in lines[:-1]] == [
        [f"#{number + 1}", what] for number in range(count) for what in (f"s{number}", "call", "3")
    ]
    assert lines[-1] == f"{count} streams, {count} calls, 0 errors, 0 warnings, 0 notes"


def test_whoever_asks_for_chunks_gets_them_of_each_stream() -> None:
    """As they come."""
    lines = printed(2, chunks=True)
    assert sum(" event " in line for line in lines) == 6


def test_nothing_read_is_nothing_told() -> None:
    """That there was nothing is said elsewhere."""
    assert printed(0) == []


def test_an_answer_that_is_no_stream_leaves_no_line_behind() -> None:
    """It was read with sinks, and then was none."""
    lines: list[str] = []
    printer = TextPrinter(lines.append)
    for body, source in ((b"data: {}\n\n", "no"), (CALL + END, "yes"), (b"data: {}\n\n", "no")):
        exchange = StreamFacts(source=source)
        record = read_body([body], exchange, sinks=printer.sinks(exchange, str, None))
        if record is not None:
            printer.add(record, str)
    printer.close()
    assert len(lines) == 6
    assert lines[0] == "#1 yes openai-chat"
    assert all(line.startswith("#1 ") for line in lines)


def test_findings_are_counted_by_severity() -> None:
    """A cut-off stream is an error, each time."""
    assert printed(2, body=CALL)[-1] == "2 streams, 2 calls, 2 errors, 0 warnings, 0 notes"


def test_lines_begin_with_source_and_host_on_one_line() -> None:
    """Foreign names cannot steer a terminal, nor look like two words."""
    lines: list[str] = []
    printer = TextPrinter(lines.append, chunks=True)
    exchange = StreamFacts(source="my \x1b[31mfile", host="api.example.com")
    read_body([END], exchange, sinks=printer.sinks(exchange, str, None))
    assert lines[0] == '#1 "my \\u001b[31mfile" api.example.com openai-chat'


def test_whole_lines_are_hidden_and_painted() -> None:
    """A secret in a place that no report redacts by itself."""
    lines: list[str] = []
    printer = TextPrinter(lines.append, chunks=True, paint=colour)
    exchange = StreamFacts(source="s")
    body = CALL.replace(b'"c"', b'"secret-id"')

    def hide(text: str) -> str:
        return text.replace("secret-id", "[redacted]")

    read_body([body], exchange, sinks=printer.sinks(exchange, hide, lambda: 7))
    assert '+7ms event 0    call 0  id="[redacted]"' in lines[1]
    assert "secret-id" not in "".join(lines)
    assert "\x1b[31m" in "".join(lines)


def test_the_document_has_all_streams_in_one_line() -> None:
    """Also where there are none."""
    lines: list[str] = []
    printer = JsonPrinter(lines.append)
    printer.close()
    exchange = StreamFacts(source="s")
    assert printer.sinks(exchange, str, None) == ()
    record = read_body([CALL + END], exchange)
    assert record is not None
    printer.add(record, str)
    printer.close()
    empty, full = map(json.loads, lines)
    assert empty == {"version": 2, "streams": []}
    assert [stream["source"] for stream in full["streams"]] == ["s"]
