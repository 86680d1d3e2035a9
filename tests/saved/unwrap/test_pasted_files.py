"""Text around streams: the removed parts, rejected files, files without a stream, and the cost."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.processes import environment, toolstream
from tests.conftest import ROOT
from tests.saved.unwrap import wrappers
from tests.saved.unwrap.test_reading import bare, read
from toolstream_core.saved.exchange import RefusedError, UnreadableError
from toolstream_core.saved.files import responses
from toolstream_core.saved.read import read_responses
from toolstream_core.saved.unwrap.events import Scanner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHAT, CLAUDE = "openai-chat-parallel", "anthropic-parallel"


def command(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run toolstream and return the finished process."""
    return subprocess.run(toolstream(*words), input=stdin, capture_output=True, env=environment(), check=False)


def removed_parts(path: Path) -> list[str]:
    """Return the names of the parts that were removed around the only response in a file."""
    for response in responses(str(path)):
        assert response.body
    return [note.name for note in response.unwrapped]


@pytest.mark.parametrize(
    ("form", "removed"),
    [
        ("curl-v", ["curl-verbose", "http-head"]),
        ("curl-i-raw", ["http-head"]),
        ("fence", ["other-lines"]),
        ("time-iso", ["line-prefix"]),
        ("colours", ["terminal-escapes"]),
        ("utf-16", ["utf-16"]),
        ("xxd", ["hex-dump"]),
        ("tshark-ascii", ["tshark-follow", "http-head"]),
        ("cut-records", ["records"]),
        ("trailing-spaces", ["spaces"]),
        ("quote-fence", ["line-prefix", "other-lines"]),
    ],
)
def test_removed_parts_are_listed(form: str, removed: list[str], tmp_path: Path) -> None:
    """The parts are listed in their order around the stream."""
    path = tmp_path / "x"
    path.write_bytes({**wrappers.BOTH, **wrappers.DATA}[form](bare(CHAT)))
    assert removed_parts(path) == removed


@pytest.mark.parametrize("flow", [CHAT, CLAUDE, "ollama-parallel"])
def test_a_bare_body_does_not_change(flow: str, tmp_path: Path) -> None:
    """Nothing is removed."""
    path = tmp_path / "x"
    path.write_bytes(bare(flow))
    assert [(response.body, list(response.unwrapped)) for response in responses(str(path))] == [(bare(flow), [])]


@pytest.mark.parametrize("form", ["curl-v", "docker-compose", "fence", "no-blank-lines", "sdk-repr"])
def test_commands_read_pasted_text_from_a_pipe(form: str) -> None:
    """`inspect` lists the removed parts, and `repair` writes the bare stream and says so."""
    body = {**wrappers.BOTH, **wrappers.DATA, **wrappers.OBJECTS}[form](bare(CHAT))
    stream = json.loads(command("inspect", "--format", "json", "-", stdin=body).stdout)["streams"][0]
    assert stream["unwrapped"]
    assert len(stream["calls"]) == 2
    repaired = command("repair", "-", "-o", "-", stdin=body)
    assert repaired.stdout.startswith(b"data: {")
    assert b"standard input: wrote the bare stream, without" in repaired.stderr
    assert len(json.loads(command("inspect", "--format", "json", "-", stdin=repaired.stdout).stdout)["streams"]) == 1


def test_missing_blank_lines_are_reported(tmp_path: Path) -> None:
    """The provider may have sent no blank lines."""
    path = tmp_path / "x.sse"
    path.write_bytes(wrappers.DATA["no-blank-lines"](bare(CHAT)))
    (response,) = responses(str(path))
    assert [finding.name for finding in response.findings] == ["joined-events"]


@pytest.mark.parametrize("form", ["json-lines", "sdk-repr", "json-in-record", "python-dict"])
def test_a_missing_end_is_a_finding_of_data_lines_only(form: str) -> None:
    """Printed objects never include the end of the stream."""
    body = bare(CHAT)
    assert findings(wrappers.OBJECTS[form](body)) == []
    truncated = body.replace(b"data: [DONE]\n\n", b"")
    assert findings(wrappers.BOTH["fence"](truncated)) == ["missing-done"]


def findings(text: bytes) -> list[str]:
    """Return the names of the findings that `inspect` reports."""
    stream = json.loads(command("inspect", "--format", "json", "-", stdin=text).stdout)["streams"][0]
    return [finding["name"] for finding in stream["findings"]]


@pytest.mark.parametrize("name", [CHAT, CLAUDE, "openai-responses-parallel", "cohere-v2-single"])
def test_a_last_json_line_without_a_line_feed_is_no_finding(name: str, tmp_path: Path) -> None:
    """The provider sends no lines: a file has them (vercel/ai, *.chunks.txt)."""
    path = tmp_path / "chunks.txt"
    path.write_text("\n".join(map(wrappers.compact, wrappers.payloads(bare(name)))))
    (record,) = read(path)
    assert {one.name for one in record.findings} <= {"missing-done"}


@pytest.mark.parametrize("quoted", ["- 'data: {}'\n", "INSERT INTO log VALUES (1, '{}');\n"])
def test_a_doubled_quote_in_a_string_is_a_quote(quoted: str) -> None:
    """YAML and SQL double a quote inside a string."""
    body = bare(CHAT).replace(b"Oslo", b"it's")
    lines = [quoted.replace("{}", event.data.replace("'", "''")) for event in wrappers.events(body)]
    report = json.loads(command("inspect", "--format", "json", "-", stdin="".join(lines).encode()).stdout)
    (stream,) = report["streams"]
    assert json.loads(stream["calls"][1]["arguments"]) == {"from": "it's", "to": "Nairobi"}
    assert stream["findings"] == []


def test_consecutive_responses_are_read_one_by_one(tmp_path: Path) -> None:
    """A paste may have two runs, and a connection two requests."""
    path = tmp_path / "x"
    for text in (
        wrappers.BOTH["fence"](bare(CHAT)) + wrappers.BOTH["fence"](bare(CLAUDE)),
        wrappers.followed(bare(CHAT)) + wrappers.followed(bare(CLAUDE)),
        wrappers.claude_trace(bare(CLAUDE)) + wrappers.claude_trace(bare(CLAUDE)),
    ):
        path.write_bytes(text)
        assert len(read(path)) == 2
        assert command("repair", str(path), "-o", "-").returncode == 2


def test_a_response_shown_raw_and_parsed_is_one_response(tmp_path: Path) -> None:
    """A bug report may show both forms."""
    path = tmp_path / "x"
    parsed = wrappers.OBJECTS["json-pretty"](bare(CHAT))
    path.write_bytes(wrappers.BOTH["fence"](bare(CHAT)) + b"\nParsed:\n```json\n" + parsed + b"```\n")
    assert [len(record.calls) for record in read(path)] == [2]
    assert findings(path.read_bytes()) == []


def test_the_http_head_is_read(tmp_path: Path) -> None:
    """Status, URL and request body are read, and its secrets are known."""
    path = tmp_path / "x"
    secret = b"Authorization: Bearer sk-secret-value-1\r\n"
    path.write_bytes(wrappers.followed(bare(CHAT)).replace(b"Host:", secret + b"Host:"))
    (response,) = responses(str(path))
    assert (response.facts.host, response.facts.path) == ("api.example.com", "/v1/chat/completions")
    assert response.facts.request["model"] == "m"
    assert any("sk-secret-value-1" in secret for secret in response.secrets)


@pytest.mark.parametrize("secret", ["Authorization: Bearer VALUE", "Cookie: sid=VALUE", "query"])
def test_a_secret_of_the_request_is_no_part_of_a_fixture(secret: str, tmp_path: Path) -> None:
    """A value that is secret by the name of its header or parameter is overwritten in the response, too."""
    value = "4711-Oslo-no-form-of-a-key"
    path = tmp_path / "x"
    text = wrappers.followed(bare(CHAT).replace(b"Oslo", value.encode())).decode()
    if secret == "query":
        text = text.replace("/v1/chat/completions", f"/v1/chat/completions?api_key={value}", 1)
    path.write_text(text.replace("Host:", f"{secret.replace('VALUE', value)}\nHost:", 1) if ":" in secret else text)
    (response,) = responses(str(path))
    assert value in response.body.decode()
    (fixture,) = read_responses(path)
    assert value not in str(fixture.flow.get_state())


def _two_logs(first: str, second: str) -> bytes:
    events = wrappers.payloads(bare(CHAT))
    other = [json.loads(json.dumps(event).replace("Oslo", "Rome").replace("get_", "put_")) for event in events]
    return "".join(
        f"{first}{wrappers.compact(event)}\n{second}{wrappers.compact(changed)}\n"
        for event, changed in zip(events, other, strict=True)
    ).encode()


def test_two_different_readings_are_an_error(tmp_path: Path) -> None:
    """A proxy may log received and forwarded events; the error names both."""
    path = tmp_path / "x"
    path.write_bytes(_two_logs("upstream: ", "downstream: "))
    with pytest.raises(UnreadableError, match=r"two ways that differ.*upstream.*downstream"):
        read(path)


def test_the_same_stream_logged_twice_is_read_once(tmp_path: Path) -> None:
    """A program may log the text of each event and the parsed event."""
    path = tmp_path / "x"
    events = wrappers.events(bare(CHAT))
    path.write_text("".join(f"raw: data: {event.data}\nparsed: {event.data}\n" for event in events))
    assert len(read(path)[0].calls) == 2


REJECTED = {
    "zip": b"PK\x03\x04" + bytes(60),
    "pcapng": b"\x0a\x0d\x0d\x0a" + bytes(60),
    "charles": b"\xac\xed\x00\x05sr\x00",
    "codex": b'{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}\n'
    b'{"timestamp":"t","type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}"}}\n',
    "claude": b'{"type":"user","sessionId":"x","message":{"role":"user","content":"go"}}\n',
    "otlp": b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"chat","attributes":[]}]}]}]}',
    "langfuse": b'{"id":"x","traceId":"y","type":"GENERATION","startTime":"t","output":{"role":"assistant"}}',
    "command": b"curl https://api.example.com/v1/chat/completions -d @q.json\n",
    "node": b"{\n  id: 'x',\n  object: 'chat.completion.chunk',\n  choices: [ [Object] ]\n}\n" * 3,
}


@pytest.mark.parametrize("kind", REJECTED)
def test_files_of_other_kinds_are_rejected(kind: str, tmp_path: Path) -> None:
    """The error names the kind of the file with exit code 2; in a folder the file is skipped."""
    path = tmp_path / "x.txt"
    path.write_bytes(REJECTED[kind])
    result = command("inspect", str(path))
    assert result.returncode == 2
    assert any(word in result.stderr.decode() for word in (" is ", "holds"))
    assert "contains no LLM response" not in result.stderr.decode()
    if kind != "node":
        with pytest.raises(RefusedError):
            read(path)
        (tmp_path / "y.sse").write_bytes(bare(CHAT))
        assert command("inspect", "--exit-zero", str(tmp_path)).returncode == 0


def test_a_truncated_stream_ends_with_its_fence(tmp_path: Path) -> None:
    """The next fence is another response."""
    path = tmp_path / "x"
    for name, ending in ((CHAT, "[DONE]"), (CLAUDE, "message_stop")):
        first = bare(name).decode()
        truncated = first.replace("\r\n", "\n").split("\n\n")[:4]
        other_response = re.sub(r"(chatcmpl-|msg_)\w+", r"\1other", first)
        assert other_response != first
        assert ending in first
        path.write_text("Run 1:\n```\n" + "\n\n".join(truncated) + f"\n\n```\nRun 2:\n```\n{other_response}```\n")
        assert [len(record.calls) for record in read(path)] == [1, 2]


def test_one_response_in_several_fences_is_read_once(tmp_path: Path) -> None:
    """A bug report may explain the events one by one."""
    path = tmp_path / "x"
    path.write_text("".join(f"Then:\n```\ndata: {event.data}\n```\n" for event in wrappers.events(bare(CHAT))))
    assert [len(record.calls) for record in read(path)] == [2]


@pytest.mark.parametrize(
    ("before", "each", "after"),
    [
        ("import pytest\n\n\nEVENTS = [\n", "    {0!r},\n", "]\n\n\ndef test_it():\n    assert EVENTS\n"),
        ("import json\n\ndef stream():\n", "    yield b'data: {0}\\n\\n'\n", "\nclass A:\n    pass\n"),
        ("const chunks = [\n", "  '{0}',\n", "];\nexport function all() { return chunks; }\n"),
        ("package x\n\nvar chunks = []string{{\n", "\t{1},\n", "}}\n\nfunc TestIt(t *testing.T) {{\n}}\n"),
    ],
)
def test_source_code_that_quotes_many_events_is_no_stream(before: str, each: str, after: str, tmp_path: Path) -> None:
    """Tests and examples contain entire streams as strings."""
    path = tmp_path / "x"
    strings = [event.data for event in wrappers.events(bare(CHAT)) if event.data.startswith("{")]
    quoted = "".join(each.format(string, json.dumps(string)) for string in strings)
    path.write_text(before.replace("{{", "{") + quoted + after.replace("{{", "{").replace("}}", "}"))
    assert read(path) == []


SOURCE_FILES = [*(ROOT / "addon" / "toolstream_core" / "wire").glob("*.py"), *(ROOT / "scripts").glob("*.py")]


@pytest.mark.parametrize("path", SOURCE_FILES, ids=lambda path: path.name)
def test_source_code_is_no_stream(path: Path) -> None:
    """The strings in toolstream's own code are no stream, either."""
    assert read(path) == []


@pytest.mark.parametrize(
    "text",
    [
        "The data: {see below} are in event: x.\n" * 50,
        json.dumps({"name": "x", "version": "1", "scripts": {"a": "b"}}, indent=2),
        "".join(f'{{"ts":{n},"level":"info","msg":"request done","data":{{"id":{n}}}}}\n' for n in range(200)),
        "".join(f"2026-11-02 10:12:00,123 - app - INFO - data: {{'id': {n}, 'name': 'x'}}\n" for n in range(200)),
        "id,name,choices\n1,a,b\n2,c,d\n",
        'fn main() { let x = Chunk { id: 1 }; println!("{:?}", x); }\n' * 20,
    ],
)
def test_other_text_is_no_stream(text: str, tmp_path: Path) -> None:
    """Prose, configuration files, logs and requests are no streams."""
    path = tmp_path / "x"
    path.write_text(text)
    assert read(path) == []


def characters_scanned(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the number of characters that are scanned for the start of a value."""
    from toolstream_core.saved.unwrap import literals as open_value

    seen = 0
    count = open_value.OpenValue._count

    def counting(self: open_value.OpenValue, line: str) -> None:
        nonlocal seen
        seen += len(line)
        count(self, line)

    monkeypatch.setattr(open_value.OpenValue, "_count", counting)
    for _ in Scanner().scan(lines):
        pass
    return seen


@pytest.mark.parametrize("line", ["{", '{"a": [', "Foo(bar", "x = {", "{'a': (", 'data: {"a":'])
def test_unterminated_values_take_linear_time(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is scanned a limited number of times."""
    once = characters_scanned([line] * 1000, monkeypatch)
    assert characters_scanned([line] * 4000, monkeypatch) <= 4.5 * once + 1000


def test_a_long_log_is_read_line_by_line() -> None:
    """The first events are returned before the last line is read."""
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for event in wrappers.events(bare(CHAT)) * 10_000:
            taken += 1
            yield f"LOG data: {event.data}"

    next(iter(Scanner().scan(lines())))
    assert taken < 100
