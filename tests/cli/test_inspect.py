"""`toolstream inspect`."""

from __future__ import annotations

import json
import re
import sys
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from tests.cli.inspected import GLM, ROOT, Inspect, body, flows, run, save
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
ALL = named(["all"])
"""The codes of all findings."""
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'


def printed(count: int, *, chunks: bool | None = None, body: bytes = PRINTED_CALL + END) -> list[str]:
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


@pytest.mark.parametrize(("count", "chunks"), [(1, None), (1, False), (3, None)])
def test_a_defect_without_repair_is_named_with_what_explains_it(count: int, chunks: bool | None) -> None:
    """Once, however many streams have it; a defect with a repair is not."""
    see = "no repair of missing-name: see toolstream explain missing-name"
    nameless = PRINTED_CALL.replace(b'"name":"f",', b"") + END
    assert printed(count, chunks=chunks, body=nameless).count(see) == 1
    assert not any("no repair" in line for line in printed(count, chunks=chunks, body=END))
    assert not any(
        "no repair" in line for line in printed(count, chunks=chunks, body=PRINTED_CALL + b"data: [DONE]\n\n")
    )


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
    """A cut-off stream is an error, each time."""
    assert printed(2, body=PRINTED_CALL)[-1] == "2 streams, 2 calls, 2 errors, 0 warnings, 0 notes"


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
    body = PRINTED_CALL.replace(b'"c"', b'"secret-id"')

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
CUT = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'


def holding(*responses: Exchange | Exception) -> Callable[[str], Iterator[Exchange]]:
    """Reads a file that holds these answers."""

    def saved(file: str) -> Iterator[Exchange]:
        for response in responses:
            if isinstance(response, Exception):
                raise response
            yield response

    return saved


def _ignore(line: str) -> None:
    del line


def inspected(
    *responses: Exchange | Exception, codes: frozenset[str] = ALL, path: str = "x"
) -> tuple[Inspection, list[str]]:
    """An inspection of one file that holds these answers, and the lines it printed."""
    lines: list[str] = []
    inspection = Inspection(TextPrinter(lines.append, chunks=True), holding(*responses), codes, PROTOCOLS)
    inspection.read(path)
    return inspection, lines


def response(*chunks: bytes, source: str = "x#0", **more: object) -> Exchange:
    """A saved answer."""
    return Exchange(facts=StreamFacts(source=source), chunks=chunks, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("responses", "code"),
    [
        ((response(GOOD),), OK),
        ((response(b"nothing"),), CANNOT),
        ((), CANNOT),
        ((response(CUT),), NOT_OK),
        ((response(CUT), response(GOOD)), NOT_OK),
        ((response(GOOD), UnreadableError("is corrupt")), CANNOT),
        ((response(CUT), response(missing="its body is away")), CANNOT),
    ],
)
def test_the_worst_decides_the_exit_code(responses: tuple[Exchange | Exception, ...], code: int) -> None:
    """What could not be read may hide anything, so it is worse than a finding."""
    inspection, _ = inspected(*responses)
    assert inspection.close("warning") == code


def test_exit_zero_forgives_findings_only() -> None:
    """Input that cannot be read stays an error."""
    assert inspected(response(CUT))[0].close("never") == OK
    assert inspected(UnreadableError("is corrupt"))[0].close("never") == CANNOT


def test_findings_that_nobody_wants_are_neither_told_nor_counted() -> None:
    """The rest of the stream is told as ever."""
    inspection, lines = inspected(response(CUT), codes=frozenset())
    assert inspection.close("warning") == OK
    assert not any("TS" in line for line in lines)
    assert any("1 event" in line for line in lines)


@pytest.mark.parametrize(
    ("responses", "told"),
    [
        ((), f"x contains no LLM response. Expected {READABLE}"),
        ((response(b"data: {}\n\n"),), f"x contains no LLM response. Expected {READABLE}"),
        ((UnreadableError("is corrupt"),), "x is corrupt"),
        ((response(missing="its body is away"),), "x#0 cannot be read: its body is away"),
        ((response(GOOD),), None),
    ],
)
def test_standard_error_tells_what_is_not_there(
    responses: tuple[Exchange | Exception, ...], told: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, by the name that the user gave."""
    inspected(*responses)
    assert capsys.readouterr().err.splitlines() == ([f"toolstream: {told}"] if told else [])


def test_standard_input_has_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    """A hyphen alone would tell nobody."""
    inspected(path="-")
    assert capsys.readouterr().err == f"toolstream: standard input contains no LLM response. Expected {READABLE}\n"


def test_files_of_a_folder_without_a_response_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, and they are no error; but a folder without any response is one: its name may be wrong."""
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


def test_a_bug_of_ours_is_told_and_the_next_answer_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a traceback, and never with exit code 0."""

    class Failing(TextPrinter):
        def add(self, record: Record, hide: object) -> None:
            raise KeyError(f"{record.source} planted-words")

    lines: list[str] = []
    responses = holding(response(GOOD), response(GOOD, source="x#1"))
    inspection = Inspection(Failing(lines.append), responses, ALL, PROTOCOLS)
    inspection.read("x")
    told = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in told] == ["x#0", "x#1"]
    assert all("a bug in toolstream: KeyError at test_inspect.py:" in line for line in told)
    assert not any("planted" in line for line in told)
    assert inspection.close("never") == CANNOT


def test_output_that_nobody_reads_ends_it() -> None:
    """It is no bug of ours."""

    def closed(line: str) -> None:
        raise BrokenPipeError

    inspection = Inspection(TextPrinter(closed, chunks=False), holding(response(GOOD)), ALL, PROTOCOLS)
    with pytest.raises(BrokenPipeError):
        inspection.read("x")


def test_chunks_have_the_times_at_which_they_came() -> None:
    """Where somebody noted them."""
    halves = (CUT, GOOD)
    _, timed = inspected(response(*halves, times=(3, 250)))
    _, untimed = inspected(response(*halves))
    assert timed[2] == "#1  +250ms event 1    finish stop"
    assert untimed[2] == "#1         event 1    finish stop"


def test_what_the_request_carried_is_hidden() -> None:
    """Wherever the answer repeats it."""
    body = GOOD.replace(b'"stop"', b'"the-key-of-the-request"')
    _, lines = inspected(response(body, secrets=("the-key-of-the-request",)))
    assert any("[redacted]" in line for line in lines)
    assert not any("the-key" in line for line in lines)


def test_no_more_is_taken_of_a_file_than_it_takes_to_know_that_it_is_none() -> None:
    """A folder may hold large files of other people's."""

    def endless() -> Iterator[bytes]:
        yield b"\x7fELF"
        raise AssertionError

    inspection, _ = inspected(Exchange(facts=StreamFacts(source="x"), chunks=endless()))
    assert inspection.close("warning") == CANNOT


def test_a_folder_of_our_own_files_named_one_by_one_is_no_error(tmp_path: Path) -> None:
    """As a shell does with `captures/*`: expectations and the files beside a bare response belong to these."""
    (tmp_path / "a.flow").touch()
    (tmp_path / "a.expect.json").touch()
    inspection, _ = inspected(response(GOOD), path=str(tmp_path / "a.flow"))
    for name in ("a.expect.json", "b.expect.json"):
        other = Inspection(TextPrinter(_ignore), holding(), ALL, PROTOCOLS)
        other.read(str(tmp_path / name))
        assert other.close("warning") == (OK if name.startswith("a") else CANNOT)
    assert inspection.close("warning") == OK


def test_bodies_of_earlier_responses_are_not_kept_beyond_a_bound() -> None:
    """However many responses a file holds, and whether or not a request follows them."""

    def request(number: int) -> Json:
        return {"model": "m", "stream": True, "messages": [{"role": "user", "content": f"{number}"}]}

    size = 8 << 20

    def many() -> Iterator[Exchange]:
        for number in range(24):
            exchange = StreamFacts(source=f"x#{number}", path="/v1/chat/completions", request=request(number))
            yield Exchange(facts=exchange, chunks=(CALL, *[b":" + b" " * 65_533 + b"\n\n"] * (size >> 16)))

    tracemalloc.start()
    try:
        inspection = Inspection(TextPrinter(_ignore), lambda _: many(), ALL, PROTOCOLS)
        inspection.read("x")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < peak < 12 * size
    assert inspection.close("never") == OK


def test_one_stream_is_told_chunk_by_chunk() -> None:
    """As the live log tells it, with the times that the flow has."""
    done = run("flows/glm-5.flow", "--chunks")
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    assert lines[0] == ("#1 flows/glm-5.flow#0 openrouter.ai/api/v1/chat/completions z-ai/glm-5 openai-chat")
    assert lines[1] == (
        '#1    +0ms event 0    call 0  id="call_95df1cc8…4b959bbbc431"  name="web_search"  index=0  args=""'
    )
    assert re.fullmatch(r"#1 +\+\d+ms event 1    call 0  id=absent +name=absent +index=0  args=.*", lines[2])
    assert any(line.startswith("#1         call 0 web_search ") for line in lines)
    assert "#1         7 events, 1 call, finish tool_calls, model z-ai/glm-5-20260211" in lines
    assert all(len(line) <= 120 for line in lines)


def test_several_streams_are_told_by_their_ends(inspect: Inspect) -> None:
    """And `--no-chunks` does the same to one."""
    lines = inspect(GLM)
    assert not any(" event " in line for line in lines)
    assert lines[-1] == "2 streams, 1 call, 0 errors, 0 warnings, 0 notes"
    assert inspect("--no-chunks", GLM) == lines


def test_the_request_is_evidence(inspect: Inspect, tmp_path: Path) -> None:
    """Nothing as arguments is `{}` from a tool that requires nothing, and is cut off from one that does."""
    data = body()
    nothing = re.sub(rb'"arguments": ?"(?:[^"\\]|\\.)*"', b'"arguments":""', data)
    assert nothing != data
    (tmp_path / "a.sse").write_bytes(nothing)
    for required, code in (([], 0), (["query"], 1)):
        tool = {"name": "web_search", "parameters": {"type": "object", "required": required}}
        request = {"model": "asked", "tools": [{"type": "function", "function": tool}]}
        (tmp_path / "request.json").write_text(json.dumps(request))
        [stream] = inspect.streams("--request", tmp_path / "request.json", tmp_path / "a.sse", code=code)
        assert [call["complete"] for call in stream["calls"]] == [not required]


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_request_that_is_none_is_told_before_anything_is_read(inspect: Inspect, tmp_path: Path, text: str) -> None:
    """With what would be right."""
    (tmp_path / "request.json").write_text(text)
    assert inspect("--request", tmp_path / "request.json", GLM, code=2) == []
    assert "JSON object" in inspect.err
    assert inspect("--request", tmp_path / "missing", GLM, code=2) == []
    assert "No such file" in inspect.err


def test_a_protocol_can_be_forced(inspect: Inspect, tmp_path: Path) -> None:
    """Upon a stream that nobody recognises."""
    (tmp_path / "a.sse").write_bytes(b'data: {"foo": 1}\n\n')
    assert inspect(tmp_path / "a.sse", code=2) == []
    [stream] = inspect.streams("--protocol", "gemini", tmp_path / "a.sse", code=1)
    assert (stream["dialect"], stream["events"], stream["ended"]) == ("gemini", 1, False)
    dialects = {stream["dialect"] for stream in inspect.streams("--protocol", "anthropic", GLM, code=1)}
    assert dialects == {"anthropic"}


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
def test_findings_are_chosen(
    inspect: Inspect, tmp_path: Path, words: tuple[str, ...], names: list[str], code: int
) -> None:
    """And only what is chosen counts for the exit code, notes only with `--fail-on note`."""
    (tmp_path / "a.sse").write_bytes(body()[:480].rstrip())
    [stream] = inspect.streams(*words, tmp_path / "a.sse", code=code)
    assert [finding["name"] for finding in stream["findings"]] == names
    text = inspect(*words, tmp_path / "a.sse", code=code)
    assert [name for line in text for name in names if f" {name} at event" in line] == names


def test_no_secret_is_printed(inspect: Inspect, tmp_path: Path) -> None:
    """Neither what the request carried nor what looks like one, wherever the answer says it."""
    key, shaped = "own-key-of-the-request", "sk-abcdefghijklmnopqrstuvwxyz"
    one = flows(GLM)[0]
    assert one.response is not None
    one.request.headers["authorization"] = f"Bearer {key}"
    one.response.raw_content = re.sub(rb"web_search|ESP32|tool_calls(?=\")", f"{key} {shaped}".encode(), body())
    one.response.raw_content = one.response.raw_content.replace(b"call_95df", f"{key}{shaped}".encode())
    path = save(tmp_path / "a.flow", one)
    for words in (("--chunks",), ("--no-chunks",), ("--format", "json")):
        printed = "".join(inspect(*words, path))
        assert "[redacted]" in printed
        assert key not in printed
        assert shaped not in printed


@pytest.mark.parametrize(
    ("env", "terminal", "coloured"),
    [({}, True, True), ({"NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, True, False), ({}, False, False)],
)
def test_colour_is_for_terminals_that_want_it(
    inspect: Inspect, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], terminal: bool, coloured: bool
) -> None:
    """https://no-color.org."""
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert any("\x1b[" in line for line in inspect(GLM)) == coloured


PAGE = (ROOT / "docs" / "cli.md").read_text()
EXAMPLES = re.findall(r"^```console\n\$ (toolstream inspect .*?|head .*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("command", "printed"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_examples_of_the_page_are_what_is_printed(command: str, printed: str) -> None:
    """Word for word; `head` and `jq` are played."""
    head = re.match(r"head -c (\d+) glm-5.sse \| ", command)
    words = command[head.end() if head else 0 :].partition(" | ")[0].split()
    done = run(*words[2:], stdin=body()[: int(head[1])] if head else b"")
    told = done.stdout.decode()
    if "jq '.streams[0]'" in command:
        told = json.dumps(json.loads(told)["streams"][0], indent=2, ensure_ascii=False) + "\n"
    assert words[:2] == ["toolstream", "inspect"]
    assert told == printed


def test_the_page_has_every_option(inspect: Inspect) -> None:
    """In its table; `--help` says them too."""
    options = set(re.findall(r"--[a-z-]+", "".join(inspect("--help")))) - {"--help"}
    section = PAGE.partition("## `toolstream repair`")[0]
    assert options == set(re.findall(r"--[a-z-]+", "".join(re.findall(r"^\| (`-.*?) \|", section, re.MULTILINE))))


def test_the_page_names_every_protocol() -> None:
    """That a file can be read as."""
    section = PAGE.partition("## `toolstream repair`")[0]
    [row] = re.findall(r"^\| `--protocol NAME` .*$", section, re.MULTILINE)
    assert [one.name for one in PROTOCOLS if f"`{one.name}`" not in row] == []


def test_ignored_findings_are_printed_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither where they show nor at the end."""
    flow = str(ROOT / "flows" / "openclaw-empty-ids.flow")
    assert main(["inspect", "--chunks", "--ignore", "empty-id", flow]) == 0
    printed = capsys.readouterr().out
    assert "TS102" not in printed
    assert "TS112" in printed


def test_objects_in_a_file_have_no_missing_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the text too."""
    chunk = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    path = tmp_path / "log.txt"
    path.write_text("".join(f"chunk {json.dumps(one)}\n" for one in (chunk, last)))
    assert main(["inspect", "--chunks", str(path)]) == 0
    assert "missing-done" not in capsys.readouterr().out


@pytest.mark.parametrize(("least", "code"), [("error", 0), ("warning", 1), ("note", 1)])
def test_warnings_fail_unless_only_errors_do(inspect: Inspect, tmp_path: Path, least: str, code: int) -> None:
    """The stream has a call without an id, which is a warning, and no error."""
    (tmp_path / "a.sse").write_bytes(re.sub(rb'"id":"call_\w+",', b"", body()))
    [stream] = inspect.streams("--fail-on", least, tmp_path / "a.sse", code=code)
    assert {finding["severity"] for finding in stream["findings"]} == {"warning"}
