"""The document of the session view follows its schema, and its steps end with the calls of a client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from tests.browser.sessions import CALLS, exchange, returned, text_only, two_calls, user
from tests.cli.inspected import save
from toolstream_core.cli.main import main
from toolstream_core.saved.files import responses
from toolstream_core.view.document import ViewBuilder

ROOT: Final = Path(__file__).resolve().parents[2]
SCHEMA: Final = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/view.schema.json").read_text()))
FLOWS: Final = sorted((ROOT / "flows").glob("*.flow"))


def document(*paths: Path, raw: bool = False) -> dict[str, Any]:
    """The document of all responses in these files."""
    builder = ViewBuilder(raw=raw)
    for path in paths:
        for saved in responses(str(path)):
            builder.take(saved)
    document_of_flow: dict[str, Any] = json.loads(json.dumps(builder.document([str(path) for path in paths])))
    return document_of_flow


def written_out(document: dict[str, Any]) -> dict[str, Any]:
    """The document with all fragments of each event."""
    for response in document["responses"]:
        like: dict[str, Any] = {}
        for event in response["events"]:
            fragments = event.get("fragments", [])
            if isinstance(fragments, str):
                event["fragments"] = fragments = [{**like, "text" if "text" in like else "arguments": fragments}]
            like = fragments[0] if fragments else {}
    return document


def texts(events: list[dict[str, Any]]) -> list[str]:
    """The complete text of each event."""
    found: list[str] = []
    for event in events:
        raw = event["raw"]
        if isinstance(raw, list):
            before = found[-1].encode("utf-16-le", "surrogatepass")
            tail = before[len(before) - 2 * raw[2] :]
            raw = (before[: 2 * raw[0]] + raw[1].encode("utf-16-le", "surrogatepass") + tail).decode("utf-16-le")
        found.append(raw)
    return found


def played(response: dict[str, Any], trace: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls after all steps of a trace and the changes at its end, by place."""
    events = {event.get("number", place): event for place, event in enumerate(response["events"])}
    calls: list[dict[str, Any]] = []
    for first, at, what, *more in trace["steps"]:
        for offset in range(more[0] if more else 1):
            event, place = first + offset, at
            if isinstance(what, dict) and what.get("open"):
                place += offset
                assert place == len(calls)
                calls.append({"id": "", "name": "", "arguments": ""})
            if place >= 0:
                apply(calls[place], what, events[event])
    for one in trace["result"]:
        for place in range(one["place"], one["place"] + one.get("count", 1)):
            calls[place] |= {key: one[key] for key in one if key not in ("place", "count")}
    return calls


def apply(call: dict[str, Any], what: Any, event: dict[str, Any]) -> None:
    """Apply a step to a call."""
    fragments = [one.get("arguments", "") for one in event.get("fragments", ()) if one["lane"].startswith("call-")]
    if isinstance(what, int):
        call["arguments"] += fragments[what]
        return
    call |= {key: what[key] for key in ("id", "name") if key in what}
    if "arguments" in what:
        arguments = what["arguments"]
        call["arguments"] = fragments[arguments] if isinstance(arguments, int) else arguments
    call["arguments"] += what.get("append", "")


@pytest.mark.parametrize("flow", FLOWS, ids=lambda path: path.stem)
def test_the_document(flow: Path) -> None:
    """It follows the schema, has the bytes of each response, and the intended reading ends with the calls."""
    document_of_flow = document(flow, raw=True)
    assert [error.message for error in SCHEMA.iter_errors(document_of_flow)] == []
    document_of_flow = written_out(document_of_flow)
    for response in document_of_flow["responses"]:
        if response["protocol"] != "bedrock":
            assert (
                sum(len(text.encode("utf-8", "surrogatepass")) for text in texts(response["events"]))
                == (response["bytes"])
            )
        if "readings" not in response:
            continue
        readings = response["readings"]
        calls = played(response, readings["traces"][readings["models"][1]["trace"]])
        assert [(one["id"], one["name"], one["arguments"]) for one in calls] == [
            (one["id"], one["name"], one["arguments"]) for one in response["calls"]
        ]
        for reading in readings["models"]:
            played(response, readings["traces"][reading["trace"]])


def test_a_verdict_without_a_known_bug_has_a_cause(tmp_path: Path) -> None:
    """The page has no other reason to show."""
    doubled = [(identity, name, arguments * 2) for identity, name, arguments in CALLS]
    flows = [exchange(user(), two_calls(), 0), exchange([*user(), *returned(*doubled)], text_only(), 1)]
    verdict = document(save(tmp_path / "doubled.flow", *flows))["responses"][0]["verdict"]
    assert (verdict["verdict"], verdict["reason"], verdict["fix"]) == ("wrong-arguments", "", "")
    assert verdict["cause"] == "No client bug that toolstream knows has this effect."


def test_the_command_writes_the_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is the same as the builder's."""
    flow = ROOT / "flows/glm-5.flow"
    assert main(["view", str(flow), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == document(flow)
    out = tmp_path / "document.json"
    assert main(["view", str(flow), "--format", "json", "-o", str(out)]) == 0
    assert json.loads(out.read_text()) == document(flow)
    assert out.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["flows/glm-5.flow"], "missing -o FILE. Expected, for example: toolstream view flows/glm-5.flow -o page.html"),
        (["nothing.flow", "-o", "{out}"], "nothing.flow"),
        (["README.md", "-o", "{out}"], "README.md contains no LLM response. Expected a mitmproxy flow file"),
        (["flows/glm-5.flow", "--open", "--format", "json"], "--open needs a page"),
        (["flows/glm-5.flow", "-o", "flows/glm-5.flow", "--force"], "is an input of this command"),
    ],
)
def test_usage(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A usage error names what was expected, and writes nothing."""
    monkeypatch.chdir(ROOT)
    out = tmp_path / "page.html"
    assert main(["view", *(word.format(out=out) for word in words)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_an_unreadable_file_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The document has all other files, and the exit code is 2."""
    (tmp_path / "a.flow").write_bytes((ROOT / "flows/glm-5.flow").read_bytes())
    (tmp_path / "b.flow").write_bytes(b"not a flow file")
    assert main(["view", str(tmp_path), "--format", "json"]) == 2
    out, err = capsys.readouterr()
    assert "b.flow is not a mitmproxy flow file" in err
    assert {one["source"].rpartition("#")[0] for one in json.loads(out)["responses"]} == {f"{tmp_path}/a.flow"}
