"""What else is promised of text around streams: what was removed, what is refused, what is no stream, what it costs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.saved.unwrap import wrappers
from tests.saved.unwrap.test_reading import bare, read
from toolstream_core.saved.exchange import RefusedError, UnreadableError
from toolstream_core.saved.files import responses
from toolstream_core.saved.unwrap.events import Scanner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHAT, CLAUDE = "openai-chat-parallel", "anthropic-parallel"


def command(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """One run of toolstream."""
    program = [sys.executable, "-m", "toolstream_core.cli.main", *words]
    return subprocess.run(program, input=stdin, capture_output=True, cwd=ROOT / "addon", check=False)


def names(path: Path) -> list[str]:
    """What was removed of the one response in a file."""
    for one in responses(str(path)):
        assert one.body
    return [note.name for note in one.unwrapped]


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
def test_what_was_removed_is_said(form: str, removed: list[str], tmp_path: Path) -> None:
    """By name, in the order in which it stood around the stream."""
    path = tmp_path / "x"
    path.write_bytes({**wrappers.BOTH, **wrappers.DATA}[form](bare(CHAT)))
    assert names(path) == removed


@pytest.mark.parametrize("flow", [CHAT, CLAUDE, "ollama-parallel"])
def test_a_bare_body_stays_as_it_is(flow: str, tmp_path: Path) -> None:
    """To the byte, and nothing is said of it."""
    path = tmp_path / "x"
    path.write_bytes(bare(flow))
    assert [(one.body, list(one.unwrapped)) for one in responses(str(path))] == [(bare(flow), [])]


@pytest.mark.parametrize("form", ["curl-v", "docker-compose", "fence", "no-blank-lines", "sdk-repr"])
def test_commands_read_it_from_a_pipe_too(form: str) -> None:
    """`inspect` says what was removed, `repair` writes the bare stream and says so."""
    body = {**wrappers.BOTH, **wrappers.DATA, **wrappers.OBJECTS}[form](bare(CHAT))
    stream = json.loads(command("inspect", "--format", "json", "-", stdin=body).stdout)["streams"][0]
    assert stream["unwrapped"]
    assert len(stream["calls"]) == 2
    repaired = command("repair", "-", "-o", "-", stdin=body)
    assert repaired.stdout.startswith(b"data: {")
    assert b"standard input: wrote the bare stream, without" in repaired.stderr
    assert len(json.loads(command("inspect", "--format", "json", "-", stdin=repaired.stdout).stdout)["streams"]) == 1


def test_a_stream_whose_blank_lines_are_missing_is_read_and_reported(tmp_path: Path) -> None:
    """It may have come so."""
    path = tmp_path / "x.sse"
    path.write_bytes(wrappers.DATA["no-blank-lines"](bare(CHAT)))
    (one,) = responses(str(path))
    assert [finding.name for finding in one.findings] == ["joined-events"]


@pytest.mark.parametrize("form", ["json-lines", "sdk-repr", "json-in-record", "python-dict"])
def test_objects_have_no_end_of_stream(form: str) -> None:
    """So its absence is no finding; of data lines it is one."""
    body = bare(CHAT)
    assert findings(wrappers.OBJECTS[form](body)) == []
    cut = body.replace(b"data: [DONE]\n\n", b"")
    assert findings(wrappers.BOTH["fence"](cut)) == ["missing-done"]


def findings(text: bytes) -> list[str]:
    """Their names, as `inspect` reports them."""
    stream = json.loads(command("inspect", "--format", "json", "-", stdin=text).stdout)["streams"][0]
    return [one["name"] for one in stream["findings"]]


@pytest.mark.parametrize("quoted", ["- 'data: {}'\n", "INSERT INTO log VALUES (1, '{}');\n"])
def test_a_doubled_quote_in_a_string_is_a_quote(quoted: str) -> None:
    """As YAML and SQL write it: an event with an apostrophe was left out, or lost it."""
    body = bare(CHAT).replace(b"Oslo", b"it's")
    lines = [quoted.replace("{}", one.data.replace("'", "''")) for one in wrappers.events(body)]
    said = json.loads(command("inspect", "--format", "json", "-", stdin="".join(lines).encode()).stdout)
    (stream,) = said["streams"]
    assert json.loads(stream["calls"][1]["arguments"]) == {"from": "it's", "to": "Nairobi"}
    assert stream["findings"] == []


def test_responses_that_follow_each_other_are_read_one_by_one(tmp_path: Path) -> None:
    """Two runs in one paste; a connection with two requests."""
    path = tmp_path / "x"
    for text in (
        wrappers.BOTH["fence"](bare(CHAT)) + wrappers.BOTH["fence"](bare(CLAUDE)),
        wrappers.followed(bare(CHAT)) + wrappers.followed(bare(CLAUDE)),
        wrappers.claude_trace(bare(CLAUDE)) + wrappers.claude_trace(bare(CLAUDE)),
    ):
        path.write_bytes(text)
        assert len(read(path)) == 2
        assert command("repair", str(path), "-o", "-").returncode == 2


def test_a_response_that_stands_there_raw_and_parsed_is_one(tmp_path: Path) -> None:
    """A report shows both, one after the other."""
    path = tmp_path / "x"
    parsed = wrappers.OBJECTS["json-pretty"](bare(CHAT))
    path.write_bytes(wrappers.BOTH["fence"](bare(CHAT)) + b"\nParsed:\n```json\n" + parsed + b"```\n")
    assert [len(one.calls) for one in read(path)] == [2]
    assert findings(path.read_bytes()) == []


def test_the_head_of_a_response_counts(tmp_path: Path) -> None:
    """Its status, the request's address and body, and no secret of it."""
    path = tmp_path / "x"
    secret = b"Authorization: Bearer sk-secret-value-1\r\n"
    path.write_bytes(wrappers.followed(bare(CHAT)).replace(b"Host:", secret + b"Host:"))
    (one,) = responses(str(path))
    assert (one.facts.host, one.facts.path) == ("api.example.com", "/v1/chat/completions")
    assert one.facts.request["model"] == "m"
    assert any("sk-secret-value-1" in secret for secret in one.secrets)


def _both_ways(first: str, second: str) -> bytes:
    events = wrappers.payloads(bare(CHAT))
    other = [json.loads(json.dumps(one).replace("Oslo", "Rome").replace("get_", "put_")) for one in events]
    return "".join(
        f"{first}{wrappers.compact(one)}\n{second}{wrappers.compact(two)}\n"
        for one, two in zip(events, other, strict=True)
    ).encode()


def test_two_readings_that_differ_are_an_error_that_names_both(tmp_path: Path) -> None:
    """A proxy's log of what came and what it made of it."""
    path = tmp_path / "x"
    path.write_bytes(_both_ways("upstream: ", "downstream: "))
    with pytest.raises(UnreadableError, match=r"two ways that differ.*upstream.*downstream"):
        read(path)


def test_the_same_stream_said_twice_is_read_once(tmp_path: Path) -> None:
    """As text, and parsed."""
    path = tmp_path / "x"
    said = wrappers.events(bare(CHAT))
    path.write_text("".join(f"raw: data: {one.data}\nparsed: {one.data}\n" for one in said))
    assert len(read(path)[0].calls) == 2


REFUSED = {
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


@pytest.mark.parametrize("kind", REFUSED)
def test_what_holds_no_stream_is_named(kind: str, tmp_path: Path) -> None:
    """In a sentence that says what it is; exit code 2. In a folder it is skipped."""
    path = tmp_path / "x.txt"
    path.write_bytes(REFUSED[kind])
    done = command("inspect", str(path))
    assert done.returncode == 2
    assert any(word in done.stderr.decode() for word in (" is ", "holds"))
    assert "contains no LLM response" not in done.stderr.decode()
    if kind != "node":
        with pytest.raises(RefusedError):
            read(path)
        (tmp_path / "y.sse").write_bytes(bare(CHAT))
        assert command("inspect", "--exit-zero", str(tmp_path)).returncode == 0


def test_a_stream_that_is_cut_off_ends_with_its_fence(tmp_path: Path) -> None:
    """The next fence holds another response: it is read by itself."""
    path = tmp_path / "x"
    for name, ending in ((CHAT, "[DONE]"), (CLAUDE, "message_stop")):
        first = bare(name).decode()
        cut = first.replace("\r\n", "\n").split("\n\n")[:4]
        again = re.sub(r"(chatcmpl-|msg_)\w+", r"\1other", first)
        assert again != first
        assert ending in first
        path.write_text("Run 1:\n```\n" + "\n\n".join(cut) + f"\n\n```\nRun 2:\n```\n{again}```\n")
        assert [len(one.calls) for one in read(path)] == [1, 2]


def test_one_response_in_several_fences_is_read_once(tmp_path: Path) -> None:
    """A report that explains its events one after the other."""
    path = tmp_path / "x"
    path.write_text("".join(f"Then:\n```\ndata: {one.data}\n```\n" for one in wrappers.events(bare(CHAT))))
    assert [len(one.calls) for one in read(path)] == [2]


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
    """Tests and examples hold entire streams as strings."""
    path = tmp_path / "x"
    said = [one.data for one in wrappers.events(bare(CHAT)) if one.data.startswith("{")]
    quoted = "".join(each.format(one, json.dumps(one)) for one in said)
    path.write_text(before.replace("{{", "{") + quoted + after.replace("{{", "{").replace("}}", "}"))
    assert read(path) == []


CODE = [*(ROOT / "addon" / "toolstream_core" / "wire").glob("*.py"), *(ROOT / "scripts").glob("*.py")]


@pytest.mark.parametrize("path", CODE, ids=lambda path: path.name)
def test_source_code_is_no_stream(path: Path) -> None:
    """Nor is what it quotes."""
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
    """Prose, configurations, logs, requests."""
    path = tmp_path / "x"
    path.write_text(text)
    assert read(path) == []


def looked(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Characters that are scanned for the beginning of a value."""
    from toolstream_core.saved.unwrap import literals as open_value

    seen = 0
    count = open_value.OpenValue._count

    def counting(self: open_value.OpenValue, line: str) -> None:
        nonlocal seen
        seen += len(line)
        count(self, line)

    monkeypatch.setattr(open_value.OpenValue, "_count", counting)
    for _ in Scanner().scan(lines):
        """All of it."""
    return seen


@pytest.mark.parametrize("line", ["{", '{"a": [', "Foo(bar", "x = {", "{'a': (", 'data: {"a":'])
def test_values_that_never_end_cost_no_more_than_their_length(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not its square: each line is looked at a bounded number of times."""
    once = looked([line] * 1000, monkeypatch)
    assert looked([line] * 4000, monkeypatch) <= 4.5 * once + 1000


def test_a_long_log_is_read_as_it_comes() -> None:
    """The first events are there before the last line is."""
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for one in wrappers.events(bare(CHAT)) * 10_000:
            taken += 1
            yield f"LOG data: {one.data}"

    next(iter(Scanner().scan(lines())))
    assert taken < 100
