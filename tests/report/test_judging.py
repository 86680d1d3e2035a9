"""Verdicts on saved responses, by the next requests in the same file or in another one."""

from __future__ import annotations

import json
from typing import Any

from toolstream_core.cli.inspect import JsonPrinter, TextPrinter
from toolstream_core.engine.session import read_body
from toolstream_core.model import Record, StreamFacts
from toolstream_core.report.judging import Judging
from toolstream_core.saved.exchange import Exchange

ARGUMENTS = '{"path":"/tmp"}'


def body(id_: str = "c1") -> bytes:
    """A response with a call."""
    function = {"name": "ls", "arguments": ARGUMENTS}
    delta = {"tool_calls": [{"index": 0, "id": id_, "type": "function", "function": function}]}
    chunk = {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()


def returned(id_: str = "c1", arguments: str = ARGUMENTS) -> list[dict[str, Any]]:
    """The returned call and its result."""
    call = {"id": id_, "type": "function", "function": {"name": "ls", "arguments": arguments}}
    return [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": id_, "content": "r"}]


def saved(source: str, *messages: Any, user: str = "go", **more: Any) -> Exchange:
    """An exchange of a file."""
    request = {"model": "m", "messages": [{"role": "user", "content": user}, *messages]}
    exchange = StreamFacts(source=source, host="h", path="/v1/chat/completions", request=request)
    return Exchange(facts=exchange, chunks=[body()], **more)


def judged(*exchanges: Exchange) -> list[tuple[str, str, str | None]]:
    """The verdicts on these exchanges, in order."""
    judging = Judging()
    verdicts = [verdict for one in exchanges for verdict in judging.take(one, record(one))]
    return [(one.source, one.verdict.outcome.value, one.request) for one in verdicts]


def record(one: Exchange) -> Record:
    """The record of a response."""
    read = read_body(one.chunks, one.facts, broken=one.broken)
    assert read is not None
    return read


def test_the_next_request_of_a_file() -> None:
    """It shows how the client interpreted the previous response."""
    verdicts = judged(saved("a.flow#0"), saved("a.flow#1", *returned(arguments="{}")), saved("a.flow#2", user="other"))
    assert verdicts == [("a.flow#0", "returned-without-arguments", "a.flow#1")]


def test_two_files() -> None:
    """A request in another file needs the id of the call, since many recordings begin with the same prompt."""
    assert judged(saved("a.flow#0"), saved("b.flow#0")) == []
    assert judged(saved("a.flow#0"), saved("b.flow#0", *returned("other"))) == []
    assert judged(saved("a.flow#0"), saved("b.flow#0", *returned())) == [("a.flow#0", "ok", "b.flow#0")]


def without_ids(source: str, *arguments: str, user: str = "go", **more: Any) -> Exchange:
    """An exchange of Gemini, whose calls have no ids, after turns with these arguments."""
    contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": user}]}]
    for one in arguments:
        contents.append({"role": "model", "parts": [{"functionCall": {"name": "ls", "args": json.loads(one)}}]})
        result = {"functionResponse": {"name": "ls", "response": {"r": 1}}}
        contents.append({"role": "user", "parts": [result]})
    part = {"functionCall": {"name": "ls", "args": json.loads(ARGUMENTS)}}
    chunk = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
    path = "/v1beta/models/m:streamGenerateContent"
    exchange = StreamFacts(source=source, host="h", path=path, request={"contents": contents})
    return Exchange(facts=exchange, chunks=[f"data: {json.dumps(chunk)}\n\n".encode()], **more)


def test_calls_without_ids_in_a_file_for_each_response() -> None:
    """The later request has the complete conversation, and came soon after the response, as in captures."""
    first = without_ids("1.flow#0", began=10.0, ended=20.0)
    verdict = ("1.flow#0", "returned-without-arguments", "2.flow#0")
    assert judged(first, without_ids("2.flow#0", "{}", began=25.0, ended=26.0)) == [verdict]
    assert judged(first, without_ids("2.flow#0", ARGUMENTS, began=25.0))[0][1:] == ("ok", "2.flow#0")


def test_unrelated_files_whose_calls_have_no_ids() -> None:
    """Another prompt, no call, another day, a time before the end of the response, or no times."""
    first = without_ids("1.flow#0", began=10.0, ended=20.0)
    assert judged(first, without_ids("2.flow#0", ARGUMENTS, user="other", began=25.0)) == []
    assert judged(first, without_ids("2.flow#0", began=25.0)) == []
    assert judged(first, without_ids("2.flow#0", ARGUMENTS, began=90_000.0)) == []
    assert judged(first, without_ids("2.flow#0", ARGUMENTS, began=15.0)) == []
    assert judged(without_ids("1.flow#0"), without_ids("2.flow#0", ARGUMENTS)) == []


def test_a_request_before_the_end_of_the_response_is_no_retry() -> None:
    """The client sent two equal requests at once."""
    first = saved("a.flow#0", began=10.0, ended=20.0)
    assert judged(first, saved("a.flow#1", began=15.0, ended=21.0)) == []
    assert judged(first, saved("a.flow#1", began=25.0, ended=26.0)) == [("a.flow#0", "retried", "a.flow#1")]


def test_a_rewritten_response_is_judged_as_it_was_sent() -> None:
    """The sent body counts."""
    verdicts = judged(saved("a.flow#0", sent=body("made")), saved("a.flow#1", user="summary"))
    assert verdicts == []
    verdicts = judged(saved("a.flow#0", sent=body("made")), saved("a.flow#1", *returned("made"), user="summary"))
    assert verdicts == [("a.flow#0", "ok", "a.flow#1")]


def test_a_client_that_left() -> None:
    """The verdict needs no next request."""
    cut = b"".join(body().partition(b"data: [DONE]")[:1]).replace(b'"tool_calls"}', b"null}")
    exchange = saved("a.flow#0").facts
    disconnected = Exchange(facts=exchange, chunks=[cut], broken="Client disconnected.")
    assert judged(disconnected) == [("a.flow#0", "aborted", None)]


def test_other_requests_are_skipped() -> None:
    """They are not the next request of a conversation."""
    other = Exchange(facts=StreamFacts(source="a.flow#1", path="/health"), chunks=[])
    judging = Judging()
    one = saved("a.flow#0")
    assert not judging.take(one, record(one))
    assert not judging.take(other, None)
    verdicts = judging.take(saved("a.flow#2", *returned()), None)
    assert [verdict.text.text for verdict in verdicts] == ["verdict ok (request a.flow#2)"]


def test_printed() -> None:
    """JSON has the verdict in the stream's object, and text has it on lines after the streams."""
    judging = Judging()
    lines: list[str] = []
    documents: list[str] = []
    printers = TextPrinter(lines.append, chunks=False), JsonPrinter(documents.append)
    for one in (saved("a.flow#0"), saved("a.flow#1", *returned(arguments="{}"))):
        read = record(one)
        verdicts = judging.take(one, read)
        for printer in printers:
            printer.sinks(one.facts, str, None)
            printer.add(read, str)
            for verdict in verdicts:
                printer.judged(verdict)
    for printer in printers:
        printer.close()
    assert lines[0].startswith(
        "#1         verdict returned-without-arguments: call 0 ls: returned without its arguments (request a.flow#1), "
    )
    assert lines[1].startswith("#1           client probably drops ")
    assert lines[2].endswith("client: keep the arguments of the fragment that opens the call")
    assert lines[3].endswith("→ toolstream run --shape split-header -- CMD")
    first, second = json.loads(documents[0])["streams"]
    assert (first["verdict"]["request"], second["verdict"]) == ("a.flow#1", None)


def test_the_verdict_on_a_single_stream_is_after_its_lines() -> None:
    """Lines that still wait are printed first."""
    one = Exchange(facts=saved("s").facts, chunks=[body()[:-20]], broken="Client disconnected.")
    lines: list[str] = []
    printer = TextPrinter(lines.append)
    read = read_body(one.chunks, one.facts, broken=one.broken, sinks=printer.sinks(one.facts, str, None))
    assert read is not None
    read.ended = False
    verdicts = Judging().take(one, read)
    printer.add(read, str)
    printer.judged(verdicts[0])
    assert lines == []
    printer.close()
    assert lines[-1] == "#1         verdict aborted"
