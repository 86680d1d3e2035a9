"""`toolstream extract`: fixtures from whatever was saved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from mitmproxy import http
from mitmproxy.flow import Error
from mitmproxy.io import FlowWriter

from tests.cli.inspected import ROOT, flows
from toolstream_core.cli.main import main
from toolstream_core.saved.expectation import differences, expect_path, expectation_of, read_expectation
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from pathlib import Path

GLM = ROOT / "flows" / "glm-5.flow"
HEALTHY = ROOT / "flows" / "openai-chat-single.flow"
MISSING = ROOT / "flows" / "openrouter-no-deltas.flow"
KEY = "sk-proj-" + "A1b2" * 12


class Extract:
    """The command in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.err = ""

    def __call__(self, *words: object, code: int = 0) -> list[str]:
        """What was written, told on standard output, of a run that ends with `code`."""
        assert main(["extract", *map(str, words), "-o", str(self.folder)]) == code
        out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.err
        return out.splitlines()

    @property
    def files(self) -> list[str]:
        """What is there now."""
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())


@pytest.fixture
def extract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Extract:
    """It writes into a folder that is not there yet."""
    return Extract(tmp_path / "a" / "flows", capsys)


def with_secret(path: Path) -> Path:
    """A dump with a key in its header and its words, and a flow of another site."""
    glm = flows(GLM)
    for flow in glm:
        flow.request.headers["authorization"] = f"Bearer {KEY}"
        flow.request.content = (flow.request.content or b"").replace(b"Find out", f"Use {KEY}. Find out".encode())
    other = flows(GLM)[0]
    other.request = http.Request.make("GET", "https://example.com/")
    with path.open("wb") as file:
        writer = FlowWriter(file)
        for flow in (other, *glm):
            writer.add(flow)
    return path


def test_a_dump_becomes_a_fixture(extract: Extract, tmp_path: Path) -> None:
    """Without its secret, with its expectation, for its owner's eyes; what is left out is told."""
    dump = with_secret(tmp_path / "dump.mitm")
    [line] = extract(dump)
    stem = "20260322-140500-openai-chat-z-ai-glm-5-0001"
    assert line == f"wrote {extract.folder / stem}.flow: 2 responses, 0 findings ({dump}#1, {dump}#2)"
    assert f"left out {dump}#0: is not an LLM response" in extract.err
    assert extract.files == [f"{stem}.expect.json", f"{stem}.flow"]
    path = extract.folder / f"{stem}.flow"
    assert KEY.encode() not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    fixtures = load(path)
    assert differences(read_expectation(expect_path(path)), expectation_of(fixtures)) == []
    assert [one.chunks for one in fixtures] == [one.chunks for one in load(GLM)]
    assert [one.request_key.results for one in fixtures] == [0, 1]


def test_each_flow_may_be_a_fixture(extract: Extract) -> None:
    """With numbers of their own."""
    assert len(extract(GLM, "--each", "flow", "--name", "glm")) == 2
    assert extract.files == ["glm-1.expect.json", "glm-1.flow", "glm-2.expect.json", "glm-2.flow"]


def test_two_conversations_of_one_second_have_two_names(extract: Extract, tmp_path: Path) -> None:
    """A counter tells them apart."""
    written = extract(GLM, "--each", "flow")
    assert len({line.split(":")[0] for line in written}) == 2
    body = tmp_path / "x.sse"
    body.write_bytes(load(HEALTHY)[0].body)
    extract(body, body, "--each", "flow")
    assert [name for name in extract.files if name.endswith("0002.flow")] == [
        "openai-chat-gpt-4.1-mini-2025-04-14-0002.flow"
    ]


def test_a_dump_in_another_order_is_put_in_order(extract: Extract, tmp_path: Path) -> None:
    """Flows are saved when they end, and are told by when they began."""
    dump = tmp_path / "dump.mitm"
    with dump.open("wb") as file:
        for flow in reversed(flows(GLM)):
            FlowWriter(file).add(flow)
    extract(dump, "--name", "x")
    assert [one.request_key.results for one in load(extract.folder / "x.flow")] == [0, 1]


def test_nothing_is_overwritten(extract: Extract) -> None:
    """Unless that is wanted."""
    extract(GLM, "--name", "glm")
    before = (extract.folder / "glm.expect.json").read_bytes()
    (extract.folder / "glm.flow").unlink()
    assert extract(GLM, "--name", "glm", code=2) == []
    assert "glm.expect.json exists already; add --force to overwrite it, or name another file" in extract.err
    assert extract.files == ["glm.expect.json"]
    extract(HEALTHY, "--name", "glm", "--force")
    assert (extract.folder / "glm.expect.json").read_bytes() != before


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["--when", "findings"], 1),
        (["--when", "errors"], 1),
        (["--when", "findings", "--ignore", "missing-calls"], 0),
        (["--select", "missing-calls"], 1),
        (["--select", "empty-id"], 0),
        ([], 2),
    ],
)
def test_only_what_matters(extract: Extract, words: list[str], count: int) -> None:
    """By findings, errors, names; the rest is told."""
    written = extract(HEALTHY, MISSING, "--each", "conversation", *words, code=0 if count else 1)
    assert len(written) == count
    assert extract.err.count("no selected finding") == 2 - count


def test_notes_count_where_they_are_named(extract: Extract) -> None:
    """They are no findings that matter otherwise."""
    path = ROOT / "flows" / "deepseek-empty-id.flow"
    assert extract(path, "--when", "findings", code=1) == []
    assert len(extract(path, "--select", "empty-id")) == 1


@pytest.mark.parametrize("format_", ["bare", "vcr"])
def test_other_layouts_come_and_go(extract: Extract, format_: str) -> None:
    """What is written in one is extracted from it again, with the same expectation."""
    extract(GLM, "--format", format_, "--name", "glm")
    there = {"bare": "glm/turn-2/response.sse", "vcr": "glm.yaml"}[format_]
    assert there in extract.files
    inner = Extract(extract.folder / "again", extract._capsys)
    inner(extract.folder / there.partition("/")[0], "--name", "glm")
    assert (inner.folder / "glm.expect.json").read_text() == expect_path(GLM).read_text()


def test_a_client_that_left_when_all_was_said_is_no_error(extract: Extract, tmp_path: Path) -> None:
    """As the official client of OpenAI does; the layouts of others do not say that it broke either."""
    left = flows(HEALTHY)
    for flow in left:
        flow.error = Error("Client disconnected.")
    path = tmp_path / "dump.mitm"
    with path.open("wb") as file:
        for flow in left:
            FlowWriter(file).add(flow)
    extract(path, "--when", "errors", code=1)
    extract(path, "--format", "bare", "--name", "left")
    manifests = list(extract.folder.rglob("manifest.json"))
    assert manifests
    assert [one for one in manifests if "broken" in json.loads(one.read_text())] == []


def test_text_is_masked_and_secrets_are_named(extract: Extract, tmp_path: Path) -> None:
    """By pattern and by name; the fixture says what became of its text."""
    dump = with_secret(tmp_path / "dump.mitm")
    extract(dump, "--text", "mask", "--secret", "x-generation-id", "--secret", "/Atlas[A-Z]loud/", "--name", "x")
    data = (extract.folder / "x.flow").read_bytes()
    assert b"AtlasCloud" not in data
    assert b"HMP212DkOSAZDMDpbEdj" not in data
    assert [one.text for one in load(extract.folder / "x.flow")] == ["mask", "mask"]


def test_a_bare_body_needs_a_request_or_gets_one(extract: Extract, tmp_path: Path) -> None:
    """From a file where it is named."""
    body, request = tmp_path / "x.sse", tmp_path / "q.json"
    body.write_bytes(load(HEALTHY)[0].body)
    request.write_text(json.dumps({"model": "mine", "messages": [{"role": "user", "content": "x"}], "stream": True}))
    extract(body, "--request", request, "--name", "x")
    [fixture] = load(extract.folder / "x.flow")
    assert (fixture.request_key.model, fixture.request_key.words) == ("mine", "x")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--secret", "/(/"], "toolstream: --secret: '(' is not a regular expression"),
        (["--name", "a/b"], "is not a file name. Expected a name without folders"),
        (["--select", "nonsense"], "nonsense"),
        (["--format", "xml"], "unknown value 'xml'. Expected one of: flow, bare, vcr"),
    ],
)
def test_what_is_asked_wrongly(extract: Extract, words: list[str], told: str) -> None:
    """In one line, before anything is written."""
    extract(GLM, *words, code=2)
    assert told in extract.err
    assert not extract.folder.exists()


def test_what_cannot_be_read_or_written(extract: Extract, tmp_path: Path) -> None:
    """The rest is extracted all the same."""
    bad = tmp_path / "bad.flow"
    bad.write_text("nonsense")
    assert len(extract(bad, GLM, code=2)) == 1
    assert f"left out {bad}: is not a mitmproxy flow file" in extract.err
    file = Extract(bad, extract._capsys)
    file(GLM, code=2)
    assert "is not a folder. Expected a folder for the fixtures" in file.err
    nothing = tmp_path / "x.txt"
    nothing.write_text("hello")
    assert extract(nothing, code=1) == []
    assert "contains no LLM stream" in extract.err
