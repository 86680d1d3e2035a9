"""`toolstream extract`: fixtures from saved traffic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from mitmproxy import http
from mitmproxy.flow import Error

from tests.conftest import FLOWS
from tests.proxy.flows import flow_file, flows_in
from toolstream_core.cli.main import main
from toolstream_core.saved.expectation import differences, expect_path, expectation_of, read_expectation
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from pathlib import Path

GLM = FLOWS / "glm-5.flow"
HEALTHY = FLOWS / "openai-chat-single.flow"
MISSING = FLOWS / "openrouter-no-deltas.flow"
KEY = "sk-proj-" + "A1b2" * 12


class Extract:
    """Runs the command in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.err = ""

    def __call__(self, *words: object, code: int = 0) -> list[str]:
        """Return the lines on standard output, after a check of the exit code."""
        assert main(["extract", *map(str, words), "-o", str(self.folder)]) == code
        out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.err
        return out.splitlines()

    @property
    def files(self) -> list[str]:
        """The files in the folder."""
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())


@pytest.fixture
def extract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Extract:
    """Return the command with a folder that does not exist yet."""
    return Extract(tmp_path / "a" / "flows", capsys)


def with_secret(path: Path) -> Path:
    """Write a flow file with a key in header and body, and a flow of another site."""
    glm = flows_in(GLM)
    for flow in glm:
        flow.request.headers["authorization"] = f"Bearer {KEY}"
        flow.request.content = (flow.request.content or b"").replace(b"Find out", f"Use {KEY}. Find out".encode())
    other = flows_in(GLM)[0]
    other.request = http.Request.make("GET", "https://example.com/")
    path.write_bytes(flow_file(other, *glm))
    return path


def test_a_dump_becomes_a_fixture(extract: Extract, tmp_path: Path) -> None:
    """The fixture is redacted and private and has an expectation; skipped flows are listed."""
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
    assert [fixture.chunks for fixture in fixtures] == [fixture.chunks for fixture in load(GLM)]
    assert [fixture.request_key.results for fixture in fixtures] == [0, 1]


def test_each_flow_may_be_a_fixture(extract: Extract) -> None:
    """The fixtures are numbered."""
    assert len(extract(GLM, "--each", "flow", "--name", "glm")) == 2
    assert extract.files == ["glm-1.expect.json", "glm-1.flow", "glm-2.expect.json", "glm-2.flow"]


def test_two_conversations_of_one_second_have_two_names(extract: Extract, tmp_path: Path) -> None:
    """A counter makes the names unique."""
    written = extract(GLM, "--each", "flow")
    assert len({line.split(":")[0] for line in written}) == 2
    body = tmp_path / "x.sse"
    body.write_bytes(load(HEALTHY)[0].body)
    extract(body, body, "--each", "flow")
    assert [name for name in extract.files if name.endswith("0002.flow")] == [
        "openai-chat-gpt-4.1-mini-2025-04-14-0002.flow"
    ]


def test_flows_are_sorted_by_their_start(extract: Extract, tmp_path: Path) -> None:
    """Mitmproxy saves flows when they end."""
    dump = tmp_path / "dump.mitm"
    dump.write_bytes(flow_file(*reversed(flows_in(GLM))))
    extract(dump, "--name", "x")
    assert [fixture.request_key.results for fixture in load(extract.folder / "x.flow")] == [0, 1]


def test_an_existing_file_is_not_overwritten(extract: Extract) -> None:
    """`--force` overwrites it."""
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
def test_only_selected_flows_are_extracted(extract: Extract, words: list[str], count: int) -> None:
    """Findings, errors and names select flows, and the others are listed."""
    written = extract(HEALTHY, MISSING, "--each", "conversation", *words, code=0 if count else 1)
    assert len(written) == count
    assert extract.err.count("no selected finding") == 2 - count


def test_notes_are_selected_by_name_only(extract: Extract) -> None:
    """`--when findings` ignores notes."""
    path = FLOWS / "deepseek-empty-id.flow"
    assert extract(path, "--when", "findings", code=1) == []
    assert len(extract(path, "--select", "empty-id")) == 1


@pytest.mark.parametrize("format_", ["bare", "vcr"])
def test_other_layouts_are_extracted_again(extract: Extract, format_: str) -> None:
    """An extracted layout gives the same expectation when it is extracted again."""
    extract(GLM, "--format", format_, "--name", "glm")
    file = {"bare": "glm/turn-2/response.sse", "vcr": "glm.yaml"}[format_]
    assert file in extract.files
    second = Extract(extract.folder / "again", extract._capsys)
    second(extract.folder / file.partition("/")[0], "--name", "glm")
    assert (second.folder / "glm.expect.json").read_text() == expect_path(GLM).read_text()


def test_a_disconnect_after_the_end_is_no_error(extract: Extract, tmp_path: Path) -> None:
    """OpenAI's client disconnects after the last event, and other layouts note no error, either."""
    left = flows_in(HEALTHY)
    for flow in left:
        flow.error = Error("Client disconnected.")
    path = tmp_path / "dump.mitm"
    path.write_bytes(flow_file(*left))
    extract(path, "--when", "errors", code=1)
    extract(path, "--format", "bare", "--name", "left")
    manifests = list(extract.folder.rglob("manifest.json"))
    assert manifests
    assert [manifest for manifest in manifests if "broken" in json.loads(manifest.read_text())] == []


def test_text_is_masked_and_additional_secrets_are_removed(extract: Extract, tmp_path: Path) -> None:
    """The fixture notes how its text was changed."""
    dump = with_secret(tmp_path / "dump.mitm")
    extract(dump, "--text", "mask", "--secret", "x-generation-id", "--secret", "/Atlas[A-Z]loud/", "--name", "x")
    data = (extract.folder / "x.flow").read_bytes()
    assert b"AtlasCloud" not in data
    assert b"HMP212DkOSAZDMDpbEdj" not in data
    assert [fixture.text for fixture in load(extract.folder / "x.flow")] == ["mask", "mask"]


def test_a_bare_body_gets_the_given_request(extract: Extract, tmp_path: Path) -> None:
    """The request is read from a file."""
    body, request = tmp_path / "x.sse", tmp_path / "q.json"
    body.write_bytes(load(HEALTHY)[0].body)
    request.write_text(json.dumps({"model": "mine", "messages": [{"role": "user", "content": "x"}], "stream": True}))
    extract(body, "--request", request, "--name", "x")
    [fixture] = load(extract.folder / "x.flow")
    assert (fixture.request_key.model, fixture.request_key.words) == ("mine", "x")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--secret", "/(/"], "toolstream: --secret: '(' is not a regular expression"),
        (["--name", "a/b"], "is not a file name. Expected a name without folders"),
        (["--select", "nonsense"], "nonsense"),
        (["--format", "xml"], "unknown value 'xml'. Expected one of: flow, bare, vcr"),
    ],
)
def test_usage_errors(extract: Extract, words: list[str], message: str) -> None:
    """The error is one line, and nothing is written."""
    extract(GLM, *words, code=2)
    assert message in extract.err
    assert not extract.folder.exists()


def test_unreadable_and_unwritable_files(extract: Extract, tmp_path: Path) -> None:
    """The other files are extracted."""
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
