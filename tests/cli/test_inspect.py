"""`toolstream inspect`: printed text, JSON, exit codes and options."""

from __future__ import annotations

import json
import re
import sys
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from tests.cli.inspected import GLM, Inspect, body, run, save
from tests.conftest import FLOWS, ROOT
from tests.proxy.flows import flows_in
from toolstream_core.cli.arguments import CANNOT, NOT_OK, OK
from toolstream_core.cli.inspect import Inspection, JsonPrinter, TextPrinter
from toolstream_core.cli.main import main
from toolstream_core.defects.table import named
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.report.columns import colour
from toolstream_core.saved.exchange import Exchange, UnreadableError
from toolstream_core.saved.files import READABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolstream_core.model import Json, Record


PRINTED_CALL = (
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f",'
    b'"arguments":"{}"}}]}}]}\n\n'
)
ALL_CODES = named(["all"])
"""The codes of all findings."""
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'


def printed(count: int, *, chunks: bool | None = None, body: bytes = PRINTED_CALL + END) -> list[str]:
    """Return the printed lines of several equal streams."""
    lines: list[str] = []
    printer = TextPrinter(lines.append, chunks=chunks)
    for number in range(count):
        exchange = StreamFacts(source=f"s{number}")
        record = read_body([body], exchange, sinks=printer.sinks(exchange, str, None))
        assert record is not None
        printer.add(record, str)
    printer.close()
    return lines


def test_a_single_stream_is_printed_chunk_by_chunk() -> None:
    """Chunks are the default for one stream."""
    lines = printed(1)
    assert lines == printed(1, chunks=True)
    assert [line.split()[1] for line in lines] == ["s0", "event", "event", "event", "call", "3"]


@pytest.mark.parametrize(("count", "chunks"), [(1, None), (1, False), (3, None)])
def test_a_defect_without_a_repair_has_a_reference(count: int, chunks: bool | None) -> None:
    """The reference is printed once for all streams, and not for a defect with a repair."""
    see = "no repair of missing-name: see toolstream explain missing-name"
    nameless = PRINTED_CALL.replace(b'"name":"f",', b"") + END
    assert printed(count, chunks=chunks, body=nameless).count(see) == 1
    assert not any("no repair" in line for line in printed(count, chunks=chunks, body=END))
    assert not any(
        "no repair" in line for line in printed(count, chunks=chunks, body=PRINTED_CALL + b"data: [DONE]\n\n")
    )


@pytest.mark.parametrize("count", [2, 3])
def test_of_several_streams_only_the_ends_are_printed(count: int) -> None:
    """The totals follow the ends of all streams."""
    lines = printed(count)
    assert lines == printed(count, chunks=False)
    assert [line.split()[:2] for line in lines[:-1]] == [
        [f"#{number + 1}", word] for number in range(count) for word in (f"s{number}", "call", "3")
    ]
    assert lines[-1] == f"{count} streams, {count} calls, 0 errors, 0 warnings, 0 notes"


def test_chunks_of_several_streams_are_printed_on_request() -> None:
    """Each event has a line."""
    lines = printed(2, chunks=True)
    assert sum(" event " in line for line in lines) == 6


def test_nothing_is_printed_without_a_stream() -> None:
    """The missing response is reported elsewhere."""
    assert printed(0) == []


def test_other_responses_print_no_line() -> None:
    """A response is recognized only after its sinks are created."""
    lines: list[str] = []
    printer = TextPrinter(lines.append)
    for data, source in ((b"data: {}\n\n", "no"), (PRINTED_CALL + END, "yes"), (b"data: {}\n\n", "no")):
        exchange = StreamFacts(source=source)
        record = read_body([data], exchange, sinks=printer.sinks(exchange, str, None))
        if record is not None:
            printer.add(record, str)
    printer.close()
    assert len(lines) == 6
    assert lines[0] == "#1 yes openai-chat"
    assert all(line.startswith("#1 ") for line in lines)


def test_findings_are_counted_by_severity() -> None:
    """A truncated stream is an error."""
    assert printed(2, body=PRINTED_CALL)[-1] == "2 streams, 2 calls, 2 errors, 0 warnings, 0 notes"


def test_the_first_line_has_source_and_host() -> None:
    """Control characters and spaces in names are escaped and quoted."""
    lines: list[str] = []
    printer = TextPrinter(lines.append, chunks=True)
    exchange = StreamFacts(source="my \x1b[31mfile", host="api.example.com")
    read_body([END], exchange, sinks=printer.sinks(exchange, str, None))
    assert lines[0] == '#1 "my \\u001b[31mfile" api.example.com openai-chat'


def test_lines_are_redacted_and_coloured() -> None:
    """A secret of the request is redacted in any field."""
    lines: list[str] = []
    printer = TextPrinter(lines.append, chunks=True, paint=colour)
    exchange = StreamFacts(source="s")
    body = PRINTED_CALL.replace(b'"c"', b'"secret-id"')

    def hide(text: str) -> str:
        return text.replace("secret-id", "[redacted]")

    read_body([body], exchange, sinks=printer.sinks(exchange, hide, lambda: 7))
    assert '+7ms event 0    call 0  id="[redacted]"' in lines[1]
    assert "secret-id" not in "".join(lines)
    assert "\x1b[31m" in "".join(lines)


def test_the_json_document_is_one_line() -> None:
    """It has all streams and may be empty."""
    lines: list[str] = []
    printer = JsonPrinter(lines.append)
    printer.close()
    exchange = StreamFacts(source="s")
    assert printer.sinks(exchange, str, None) == ()
    record = read_body([PRINTED_CALL + END], exchange)
    assert record is not None
    printer.add(record, str)
    printer.close()
    empty, full = map(json.loads, lines)
    assert empty == {"version": 2, "streams": []}
    assert [stream["source"] for stream in full["streams"]] == ["s"]


GOOD = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
CALL = (
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":'
    b'{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
)
TRUNCATED_BODY = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'


def file_with(*responses: Exchange | Exception) -> Callable[[str], Iterator[Exchange]]:
    """Return a reader of a file with these responses."""

    def saved(file: str) -> Iterator[Exchange]:
        for response in responses:
            if isinstance(response, Exception):
                raise response
            yield response

    return saved


def _ignore(line: str) -> None:
    del line


def inspected(
    *responses: Exchange | Exception, codes: frozenset[str] = ALL_CODES, path: str = "x"
) -> tuple[Inspection, list[str]]:
    """Inspect a file with these responses; return the inspection and the printed lines."""
    lines: list[str] = []
    inspection = Inspection(TextPrinter(lines.append, chunks=True), file_with(*responses), codes, PROTOCOLS)
    inspection.read(path)
    return inspection, lines


def response(*chunks: bytes, source: str = "x#0", **more: object) -> Exchange:
    """Return a saved response."""
    return Exchange(facts=StreamFacts(source=source), chunks=chunks, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("responses", "code"),
    [
        ((response(GOOD),), OK),
        ((response(b"nothing"),), CANNOT),
        ((), CANNOT),
        ((response(TRUNCATED_BODY),), NOT_OK),
        ((response(TRUNCATED_BODY), response(GOOD)), NOT_OK),
        ((response(GOOD), UnreadableError("is corrupt")), CANNOT),
        ((response(TRUNCATED_BODY), response(missing="its body is away")), CANNOT),
    ],
)
def test_the_worst_result_decides_the_exit_code(responses: tuple[Exchange | Exception, ...], code: int) -> None:
    """An unreadable file is worse than a finding, as it may hide findings."""
    inspection, _ = inspected(*responses)
    assert inspection.close("warning") == code


def test_exit_zero_ignores_findings_only() -> None:
    """Unreadable input is an error with any option."""
    assert inspected(response(TRUNCATED_BODY))[0].close("never") == OK
    assert inspected(UnreadableError("is corrupt"))[0].close("never") == CANNOT


def test_ignored_findings_are_neither_printed_nor_counted() -> None:
    """The rest of the stream is printed."""
    inspection, lines = inspected(response(TRUNCATED_BODY), codes=frozenset())
    assert inspection.close("warning") == OK
    assert not any("TS" in line for line in lines)
    assert any("1 event" in line for line in lines)


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        ((), f"x contains no LLM response. Expected {READABLE}"),
        ((response(b"data: {}\n\n"),), f"x contains no LLM response. Expected {READABLE}"),
        ((UnreadableError("is corrupt"),), "x is corrupt"),
        ((response(missing="its body is away"),), "x#0 cannot be read: its body is away"),
        ((response(GOOD),), None),
    ],
)
def test_missing_responses_are_errors(
    responses: tuple[Exchange | Exception, ...], message: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error has the name that the user gave."""
    inspected(*responses)
    assert capsys.readouterr().err.splitlines() == ([f"toolstream: {message}"] if message else [])


def test_standard_input_has_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Errors name standard input instead of `-`."""
    inspected(path="-")
    assert capsys.readouterr().err == f"toolstream: standard input contains no LLM response. Expected {READABLE}\n"


def test_files_of_a_folder_without_a_response_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are listed in one line and ignored; a folder without any response is an error."""
    for number in range(12):
        (tmp_path / f"{number:02}").touch()
    inspection, _ = inspected(response(b"nothing"), path=str(tmp_path))
    assert inspection.close("warning") == CANNOT
    names = ", ".join(f"{number:02}" for number in range(10))
    listed, error = capsys.readouterr().err.splitlines()
    assert listed == f"toolstream: {tmp_path}: skipped 12 files without an LLM response: {names} and 2 more"
    assert error == f"toolstream: {tmp_path} contains no file with an LLM response. Expected {READABLE}"
    (tmp_path / "good.sse").write_bytes(GOOD)
    assert main(["inspect", "--no-chunks", str(tmp_path)]) == OK


def test_an_internal_error_does_not_stop_the_next_response(capsys: pytest.CaptureFixture[str]) -> None:
    """It is reported without a traceback, and the exit code is never 0."""

    class Failing(TextPrinter):
        def add(self, record: Record, hide: object) -> None:
            raise KeyError(f"{record.source} planted-words")

    lines: list[str] = []
    responses = file_with(response(GOOD), response(GOOD, source="x#1"))
    inspection = Inspection(Failing(lines.append), responses, ALL_CODES, PROTOCOLS)
    inspection.read("x")
    errors = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in errors] == ["x#0", "x#1"]
    assert all("a bug in toolstream: KeyError at test_inspect.py:" in line for line in errors)
    assert not any("planted" in line for line in errors)
    assert inspection.close("never") == CANNOT


def test_a_closed_output_ends_the_inspection() -> None:
    """A broken pipe is no internal error."""

    def closed(line: str) -> None:
        raise BrokenPipeError

    inspection = Inspection(TextPrinter(closed, chunks=False), file_with(response(GOOD)), ALL_CODES, PROTOCOLS)
    with pytest.raises(BrokenPipeError):
        inspection.read("x")


def test_chunks_have_their_recorded_times() -> None:
    """Times are printed only if they were recorded."""
    chunks = (TRUNCATED_BODY, GOOD)
    _, timed = inspected(response(*chunks, times=(3, 250)))
    _, untimed = inspected(response(*chunks))
    assert timed[2] == "#1  +250ms event 1    finish stop"
    assert untimed[2] == "#1         event 1    finish stop"


def test_secrets_of_the_request_are_hidden() -> None:
    """A secret is redacted when the response repeats it."""
    body = GOOD.replace(b'"stop"', b'"the-key-of-the-request"')
    _, lines = inspected(response(body, secrets=("the-key-of-the-request",)))
    assert any("[redacted]" in line for line in lines)
    assert not any("the-key" in line for line in lines)


def test_other_files_are_not_read_to_their_end() -> None:
    """A folder may contain large files without a response."""

    def endless() -> Iterator[bytes]:
        yield b"\x7fELF"
        raise AssertionError

    inspection, _ = inspected(Exchange(facts=StreamFacts(source="x"), chunks=endless()))
    assert inspection.close("warning") == CANNOT


def test_expectations_named_one_by_one_are_no_error(tmp_path: Path) -> None:
    """With `captures/*`, the shell names the files that belong to a flow or a bare response, too."""
    (tmp_path / "a.flow").touch()
    (tmp_path / "a.expect.json").touch()
    inspection, _ = inspected(response(GOOD), path=str(tmp_path / "a.flow"))
    for name in ("a.expect.json", "b.expect.json"):
        other = Inspection(TextPrinter(_ignore), file_with(), ALL_CODES, PROTOCOLS)
        other.read(str(tmp_path / name))
        assert other.close("warning") == (OK if name.startswith("a") else CANNOT)
    assert inspection.close("warning") == OK


def test_bodies_of_earlier_responses_are_limited() -> None:
    """The memory does not grow with the number of responses."""

    def request(number: int) -> Json:
        return {"model": "m", "stream": True, "messages": [{"role": "user", "content": f"{number}"}]}

    size = 8 << 20

    def responses() -> Iterator[Exchange]:
        for number in range(24):
            exchange = StreamFacts(source=f"x#{number}", path="/v1/chat/completions", request=request(number))
            yield Exchange(facts=exchange, chunks=(CALL, *[b":" + b" " * 65_533 + b"\n\n"] * (size >> 16)))

    tracemalloc.start()
    try:
        inspection = Inspection(TextPrinter(_ignore), lambda _: responses(), ALL_CODES, PROTOCOLS)
        inspection.read("x")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < peak < 12 * size
    assert inspection.close("never") == OK


def test_chunks_of_a_flow_are_printed_with_their_times() -> None:
    """The lines are those of the live log."""
    result = run("flows/glm-5.flow", "--chunks")
    lines = result.stdout.decode().splitlines()
    assert (result.returncode, result.stderr) == (0, b"")
    assert lines[0] == ("#1 flows/glm-5.flow#0 openrouter.ai/api/v1/chat/completions z-ai/glm-5 openai-chat")
    assert lines[1] == (
        '#1    +0ms event 0    call 0  id="call_95df1cc8…4b959bbbc431"  name="web_search"  index=0  args=""'
    )
    assert re.fullmatch(r"#1 +\+\d+ms event 1    call 0  id=absent +name=absent +index=0  args=.*", lines[2])
    assert any(line.startswith("#1         call 0 web_search ") for line in lines)
    assert "#1         7 events, 1 call, finish tool_calls, model z-ai/glm-5-20260211" in lines
    assert all(len(line) <= 120 for line in lines)


def test_no_chunks_prints_the_ends_only(inspect: Inspect) -> None:
    """The output is that of several streams."""
    lines = inspect(GLM)
    assert not any(" event " in line for line in lines)
    assert lines[-1] == "2 streams, 1 call, 0 errors, 0 warnings, 0 notes"
    assert inspect("--no-chunks", GLM) == lines


def test_the_tools_of_the_request_are_evidence(inspect: Inspect, tmp_path: Path) -> None:
    """Empty arguments mean `{}` for a tool without required parameters, and are truncated for others."""
    data = body()
    without_arguments = re.sub(rb'"arguments": ?"(?:[^"\\]|\\.)*"', b'"arguments":""', data)
    assert without_arguments != data
    (tmp_path / "a.sse").write_bytes(without_arguments)
    for required, code in (([], 0), (["query"], 1)):
        tool = {"name": "web_search", "parameters": {"type": "object", "required": required}}
        request = {"model": "asked", "tools": [{"type": "function", "function": tool}]}
        (tmp_path / "request.json").write_text(json.dumps(request))
        [stream] = inspect.streams("--request", tmp_path / "request.json", tmp_path / "a.sse", code=code)
        assert [call["complete"] for call in stream["calls"]] == [not required]


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_an_invalid_request_file_is_an_error(inspect: Inspect, tmp_path: Path, text: str) -> None:
    """The error names the expected form, and nothing is read."""
    (tmp_path / "request.json").write_text(text)
    assert inspect("--request", tmp_path / "request.json", GLM, code=2) == []
    assert "JSON object" in inspect.err
    assert inspect("--request", tmp_path / "missing", GLM, code=2) == []
    assert "No such file" in inspect.err


def test_a_protocol_can_be_forced(inspect: Inspect, tmp_path: Path) -> None:
    """`--protocol` is used for an unrecognized stream, too."""
    (tmp_path / "a.sse").write_bytes(b'data: {"foo": 1}\n\n')
    assert inspect(tmp_path / "a.sse", code=2) == []
    [stream] = inspect.streams("--protocol", "gemini", tmp_path / "a.sse", code=1)
    assert (stream["dialect"], stream["events"], stream["ended"]) == ("gemini", 1, False)
    protocols = {stream["dialect"] for stream in inspect.streams("--protocol", "anthropic", GLM, code=1)}
    assert protocols == {"anthropic"}


FRAMED, TRUNCATED, CUT_OFF = "unterminated-event", "truncated-stream", "cut-off-call"


@pytest.mark.parametrize(
    ("words", "names", "code"),
    [
        ((), [FRAMED, TRUNCATED, CUT_OFF], 1),
        (("--select", "TS301"), [TRUNCATED], 1),
        (("--select", "cut-off-call, TS301"), [TRUNCATED, CUT_OFF], 1),
        (("--select", "TS301", "--select", "TS302"), [TRUNCATED, CUT_OFF], 1),
        (("--select", "framing"), [FRAMED], 0),
        (("--ignore", "ending"), [FRAMED], 0),
        (("--ignore", "TS301,cut-off-call"), [FRAMED], 0),
        (("--select", "ending", "--ignore", "TS302"), [TRUNCATED], 1),
        (("--ignore", "all"), [], 0),
        (("--select", "all", "--exit-zero"), [FRAMED, TRUNCATED, CUT_OFF], 0),
        (("--fail-on", "never"), [FRAMED, TRUNCATED, CUT_OFF], 0),
        (("--fail-on", "error"), [FRAMED, TRUNCATED, CUT_OFF], 1),
        (("--select", "framing", "--fail-on", "note"), [FRAMED], 1),
        (("--ignore", "all", "--fail-on", "note"), [], 0),
    ],
)
def test_selected_findings(
    inspect: Inspect, tmp_path: Path, words: tuple[str, ...], names: list[str], code: int
) -> None:
    """Only selected findings count for the exit code, and notes only with `--fail-on note`."""
    (tmp_path / "a.sse").write_bytes(body()[:480].rstrip())
    [stream] = inspect.streams(*words, tmp_path / "a.sse", code=code)
    assert [finding["name"] for finding in stream["findings"]] == names
    text = inspect(*words, tmp_path / "a.sse", code=code)
    assert [name for line in text for name in names if f" {name} at event" in line] == names


def test_no_secret_is_printed(inspect: Inspect, tmp_path: Path) -> None:
    """Secrets of the request and texts that look like secrets are redacted everywhere."""
    key, shaped = "own-key-of-the-request", "sk-abcdefghijklmnopqrstuvwxyz"
    flow = flows_in(GLM)[0]
    assert flow.response is not None
    flow.request.headers["authorization"] = f"Bearer {key}"
    flow.response.raw_content = re.sub(rb"web_search|ESP32|tool_calls(?=\")", f"{key} {shaped}".encode(), body())
    flow.response.raw_content = flow.response.raw_content.replace(b"call_95df", f"{key}{shaped}".encode())
    path = save(tmp_path / "a.flow", flow)
    for words in (("--chunks",), ("--no-chunks",), ("--format", "json")):
        printed = "".join(inspect(*words, path))
        assert "[redacted]" in printed
        assert key not in printed
        assert shaped not in printed


@pytest.mark.parametrize(
    ("env", "terminal", "coloured"),
    [({}, True, True), ({"NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, True, False), ({}, False, False)],
)
def test_colours_are_printed_on_terminals_only(
    inspect: Inspect, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], terminal: bool, coloured: bool
) -> None:
    """`NO_COLOR` and dumb terminals are respected (https://no-color.org)."""
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert any("\x1b[" in line for line in inspect(GLM)) == coloured


PAGE = (ROOT / "docs" / "cli.md").read_text()
EXAMPLES = re.findall(r"^```console\n\$ (toolstream inspect .*?|head .*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("command", "printed"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_examples_of_the_page_are_exact(command: str, printed: str) -> None:
    """The commands `head` and `jq` of an example are imitated."""
    head = re.match(r"head -c (\d+) glm-5.sse \| ", command)
    words = command[head.end() if head else 0 :].partition(" | ")[0].split()
    result = run(*words[2:], stdin=body()[: int(head[1])] if head else b"")
    output = result.stdout.decode()
    if "jq '.streams[0]'" in command:
        output = json.dumps(json.loads(output)["streams"][0], indent=2, ensure_ascii=False) + "\n"
    assert words[:2] == ["toolstream", "inspect"]
    assert output == printed


def test_the_page_has_every_option(inspect: Inspect) -> None:
    """The table has the options of `--help`."""
    options = set(re.findall(r"--[a-z-]+", "".join(inspect("--help")))) - {"--help"}
    section = PAGE.partition("## `toolstream repair`")[0]
    assert options == set(re.findall(r"--[a-z-]+", "".join(re.findall(r"^\| (`-.*?) \|", section, re.MULTILINE))))


def test_the_page_names_every_protocol() -> None:
    """The row of `--protocol` lists all protocols."""
    section = PAGE.partition("## `toolstream repair`")[0]
    [row] = re.findall(r"^\| `--protocol NAME` .*$", section, re.MULTILINE)
    assert [protocol.name for protocol in PROTOCOLS if f"`{protocol.name}`" not in row] == []


def test_ignored_findings_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither their events nor the end of the stream list them."""
    flow = str(FLOWS / "openclaw-empty-ids.flow")
    assert main(["inspect", "--chunks", "--ignore", "empty-id", flow]) == 0
    printed = capsys.readouterr().out
    assert "TS102" not in printed
    assert "TS112" in printed


def test_objects_in_a_file_have_no_missing_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed objects never have an end."""
    chunk = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    path = tmp_path / "log.txt"
    path.write_text("".join(f"chunk {json.dumps(payload)}\n" for payload in (chunk, last)))
    assert main(["inspect", "--chunks", str(path)]) == 0
    assert "missing-done" not in capsys.readouterr().out


@pytest.mark.parametrize(("least", "code"), [("error", 0), ("warning", 1), ("note", 1)])
def test_fail_on_sets_the_lowest_severity(inspect: Inspect, tmp_path: Path, least: str, code: int) -> None:
    """A call without an id is a warning."""
    (tmp_path / "a.sse").write_bytes(re.sub(rb'"id":"call_\w+",', b"", body()))
    [stream] = inspect.streams("--fail-on", least, tmp_path / "a.sse", code=code)
    assert {finding["severity"] for finding in stream["findings"]} == {"warning"}
