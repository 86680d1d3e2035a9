"""`toolstream repair` and `toolstream fault` with all kinds of files."""

from __future__ import annotations

import gzip
import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from mitmproxy.http import HTTPFlow, Request
from mitmproxy.io import FlowReader
from mitmproxy.test.tflow import tflow

from tests.conftest import FLOWS, ROOT
from tests.invariants.driven import injected, repaired
from tests.invariants.healthy import streams
from tests.proxy.flows import flow_file
from toolstream_core.cli.main import main
from toolstream_core.cli.rewrite import differing
from toolstream_core.faults.spec import KEYS

if TYPE_CHECKING:
    from pathlib import Path

HEALTHY = next(stream for stream in streams() if str(stream) == "openai-chat, fragments of two")


def save_healthy(folder: Path, name: str) -> Path:
    """Write the healthy stream into a file of this kind."""
    path = folder / name
    data = HEALTHY.body
    if ".har" in name:
        response = {"status": 200, "content": {"mimeType": "text/event-stream", "text": data.decode(), "size": 1}}
        request = {"method": "POST", "url": "https://x.ai/v1/chat/completions"}
        data = json.dumps({"log": {"entries": [{"request": request, "response": response, "time": 3}]}}).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["a.sse", "a.txt", "a.sse.gz", "a.har", "a.har.gz"])
def test_repair_restores_a_faulted_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The format of the file is kept, and only its owner may read it."""
    path, broken, fixed = save_healthy(tmp_path, name), tmp_path / f"b-{name}", tmp_path / f"c-{name}"
    broken, fixed = broken.with_suffix(path.suffixes[0]), fixed.with_suffix(path.suffixes[0])
    assert main(["fault", "empty-id", str(path), "-o", str(broken)]) == 0
    assert "fault empty-id: 7 changes" in capsys.readouterr().err
    assert main(["inspect", "--exit-zero", "--format", "json", str(broken)]) == 0
    findings = json.loads(capsys.readouterr().out)["streams"][0]["findings"]
    assert {finding["name"] for finding in findings} == {"empty-id"}
    assert main(["repair", str(broken), "-o", str(fixed), "--diff"]) == 0
    shown = capsys.readouterr().err
    assert shown.count("repair: empty-id") == 7
    assert "1 stream, 7 events changed" in shown
    after = fixed.read_bytes()
    if ".har" in name:
        after = json.loads(after)["log"]["entries"][0]["response"]["content"]["text"].encode()
    assert after.replace(b" ", b"") == HEALTHY.body.replace(b" ", b"")
    assert fixed.stat().st_mode & 0o777 == 0o600


def test_a_rewritten_response_has_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The next request belongs to the response that the client received, not to the one in the file."""
    verdicts = []
    flow, broken = FLOWS / "openclaw-empty-ids.flow", tmp_path / "b.flow"
    assert main(["fault", "truncated-stream", str(flow), "-o", str(broken)]) == 0
    for path in (flow, broken):
        capsys.readouterr()
        main(["inspect", "--format", "json", str(path)])
        verdicts.append([stream["verdict"] for stream in json.loads(capsys.readouterr().out)["streams"]])
    before, after = verdicts
    assert [verdict and verdict["verdict"] for verdict in before] == ["ok", None]
    assert after == [None, None]


def test_a_repaired_truncated_call_ends_with_a_disconnect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bytes are those of the proxy, the flow has the error, and a second repair changes nothing."""
    truncated = injected(HEALTHY.body, HEALTHY.exchange, "cut-off-call").out
    flow = tflow(req=Request.make("POST", "https://x.ai/v1/chat/completions", b"{}"), resp=True)
    assert flow.response is not None
    flow.response.headers["content-type"] = "text/event-stream"
    flow.response.raw_content = truncated
    (tmp_path / "a.flow").write_bytes(flow_file(flow))
    paths = [str(tmp_path / name) for name in ("a.flow", "b.flow", "c.flow")]
    for source, target in pairwise(paths):
        assert main(["repair", source, "-o", target]) == 0
    output = capsys.readouterr().err
    assert output.count("a.flow#0: cut-off-call: the client sees a disconnect\n") == 1
    with (tmp_path / "b.flow").open("rb") as file:
        (written,) = FlowReader(file).stream()
    assert written.error is not None
    assert written.error.msg == "cut by toolstream_repair: cut-off-call"
    assert isinstance(written, HTTPFlow)
    assert written.response is not None
    assert written.response.content == repaired(truncated, HEALTHY.exchange).out
    assert (tmp_path / "c.flow").read_bytes() == (tmp_path / "b.flow").read_bytes()


def test_the_same_file_gets_the_same_ids(tmp_path: Path) -> None:
    """Neither the folder nor earlier files change the generated ids; another response gets others."""
    body = HEALTHY.body.replace(b'"id": "call_a1", ', b"")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.sse").write_bytes(body)
    (tmp_path / "two" / "a.sse").write_bytes(body.replace(b"look", b"see"))
    for source, target in (("one/m.sse", "x.sse"), ("one", "y"), ("two", "z")):
        assert main(["repair", str(tmp_path / source), "-o", str(tmp_path / target)]) == 0
    changed = [(tmp_path / name).read_bytes() for name in ("x.sse", "y/m.sse", "z/m.sse", "z/a.sse")]
    assert changed[0] == changed[1] == changed[2]
    ids = [re.findall(rb"call_[0-9a-f]{24}", body) for body in changed]
    assert len(ids[0]) == len(ids[3]) == 1
    assert ids[0] != ids[3]


def test_flow_files_and_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder is written file by file, and the flows keep all other data."""
    assert main(["fault", "openclaw", str(FLOWS), "-o", str(tmp_path / "broken")]) == 0
    assert main(["repair", str(tmp_path / "broken"), "-o", str(tmp_path / "fixed")]) == 0
    others = len([*FLOWS.glob("[!.]*")]) - len([*FLOWS.glob("*.flow")])
    assert f"left out {others} files without an LLM stream\n" in capsys.readouterr().err
    names = [path.name for path in FLOWS.glob("*.flow")]
    assert sorted(path.name for path in (tmp_path / "fixed").iterdir()) == sorted(names)
    assert main(["inspect", "--format", "json", "--exit-zero", str(tmp_path / "fixed")]) == 0
    left = [finding["name"] for s in json.loads(capsys.readouterr().out)["streams"] for finding in s["findings"]]
    assert set(left) == {"missing-calls"}


CHANGES = {
    "cut:at=event:5": "0 events changed, 8 removed",
    "drop-event:at=event:2": "0 events changed, 1 removed",
    "duplicate-event:at=event:2": "0 events changed, 1 inserted",
    "error-event:at=event:2": "0 events changed, 11 removed, 1 inserted",
    "recut:bytes=3": "0 events changed",
}


@pytest.mark.parametrize("fault", CHANGES)
def test_removed_and_inserted_events_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    """Faults of the connection report the events that they removed and inserted."""
    path = save_healthy(tmp_path, "a.sse")
    assert main(["fault", fault, str(path), "-o", str(tmp_path / "b.sse")]) == 0
    assert capsys.readouterr().err.endswith(f"1 stream, {CHANGES[fault]}\n")


def test_shapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`repair --shape` changes the stream although no event needs a repair."""
    path = save_healthy(tmp_path, "a.sse")
    assert main(["repair", "--shape", "for:aichat", str(path), "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_bytes().count(b'"tool_calls":[') == 2
    assert "1 stream" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["repair", "--repair", "nonsense", "a", "-o", "b"], "unknown defect 'nonsense'. See `toolstream list`"),
        (["repair", "--shape", "nonsense", "a", "-o", "b"], "unknown shape 'nonsense'. See `toolstream list`"),
        (["fault", "nonsense", "a", "-o", "b"], "toolstream list"),
        (["repair", "missing.sse", "-o", "b"], "missing.sse"),
        (["repair", "same.sse", "-o", "./same.sse"], "is an input of this command"),
        (["repair", "same.sse", "-o", "nowhere/b.sse"], "there is no folder"),
        (["repair", "text.txt", "-o", "b"], "no LLM stream in text.txt"),
        (["fault", "empty-id", "texts", "-o", "b"], "no LLM stream in texts"),
    ],
)
def test_usage_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    """The command exits with 2 and names the expected form."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same.sse").write_bytes(HEALTHY.body)
    (tmp_path / "texts").mkdir()
    for name in ("text.txt", "texts/a.md"):
        (tmp_path / name).write_text("nothing of ours")
    assert main(words) == 2
    assert not (tmp_path / "b").exists()
    assert expected in capsys.readouterr().err


PAGE = (ROOT / "docs" / "cli.md").read_text()
EXAMPLES = re.findall(r"^```console\n\$ toolstream ((?:repair|fault) .*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("command", "printed"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_examples_of_the_page_are_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, printed: str
) -> None:
    (tmp_path / "flows").symlink_to(FLOWS)
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 0
    assert capsys.readouterr().err == printed


@pytest.mark.parametrize("name", ["repair", "fault"])
def test_the_page_has_every_option(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The command's section or the section that it refers to has each option."""
    assert main([name, "--help"]) == 0
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    section = re.search(rf"^## `toolstream {name}`$(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    shared = {"--output", "--diff", "--request"}
    assert options - shared <= set(re.findall(r"--[a-z-]+", section[1]))
    assert shared <= set(re.findall(r"--[a-z-]+", PAGE))


def test_the_page_has_every_key_of_a_fault() -> None:
    """The table of `toolstream fault` lists all keys."""
    section = PAGE.partition("## `toolstream fault`")[2]
    listed = set(re.findall(r"`([a-z]+)=", "".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))))
    assert listed == set(KEYS)


@pytest.mark.parametrize("coding", ["gzip", "compress"])
def test_an_undecodable_body_is_not_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str], coding: str) -> None:
    """The command says which bodies are written unchanged and why."""
    llm_flow, other = tflow(resp=True), tflow(resp=True)
    for flow, path in ((llm_flow, "/v1/chat/completions"), (other, "/else")):
        flow.request = Request.make("POST", f"https://x.ai{path}", b'{"model":"m","messages":[],"stream":true}')
        assert flow.response is not None
        flow.response.headers["content-type"] = "text/event-stream"
        flow.response.headers["content-encoding"] = coding
        flow.response.raw_content = gzip.compress(HEALTHY.body)[:90] + b"no more of it"
    source, target = tmp_path / "a.flow", tmp_path / "b.flow"
    source.write_bytes(flow_file(llm_flow, other))
    assert main(["repair", str(source), "-o", str(target)]) == 0
    assert capsys.readouterr().err.count("is written unchanged, because it cannot be read") == 2
    with target.open("rb") as file:
        assert [flow.get_state() for flow in FlowReader(file).stream()] == [llm_flow.get_state(), other.get_state()]
    assert main(["inspect", str(target)]) == 1
    assert "TS004 unreadable-body" in capsys.readouterr().out


def test_a_damaged_compressed_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written, as the rest of the file cannot be read."""
    (tmp_path / "a.sse.gz").write_bytes(gzip.compress(HEALTHY.body)[:90] + b"no more of it")
    assert main(["repair", str(tmp_path / "a.sse.gz"), "-o", str(tmp_path / "b.sse")]) == 2
    assert "a.sse.gz cannot be read: Error -3 while decompressing" in capsys.readouterr().err
    assert not (tmp_path / "b.sse").exists()


LONG = "x" * 500


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (f'{LONG}"id":""{LONG}', f"{LONG}{LONG}", (f'…{LONG[:40]}"id":""{LONG[:40]}…', f"…{LONG[:40]}{LONG[:40]}…")),
        ("a", "b", ("a", "b")),
        (f"{LONG}a", f"{LONG}b", (f"…{LONG[:40]}a", f"…{LONG[:40]}b")),
        (f"a{LONG}", f"b{LONG}", (f"a{LONG[:40]}…", f"b{LONG[:40]}…")),
        ("", LONG, ("", LONG)),
        ("aa", "aaa", ("aa", "aaa")),
        ("", "", ("", "")),
    ],
)
def test_the_difference_of_two_events(before: str, after: str, shown: tuple[str, str]) -> None:
    """The difference is shown with a limited context."""
    assert differing(before, after) == shown
