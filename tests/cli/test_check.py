"""`toolstream check`: grades of correct and buggy clients, reports, resumed runs and usage errors."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.cli.processes import toolstream, wait_until
from tests.conftest import ROOT
from toolstream_core.checking.cases import all_cases
from toolstream_core.checking.client import Client, clients_of
from toolstream_core.cli.main import main, parsed
from toolstream_core.defects.table import DEFECTS

pytestmark = pytest.mark.e2e

AGENT = ROOT / "tests" / "checking" / "agent.py"
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "docs" / "check.schema.json").read_text(encoding="utf-8"))
VIEW = json.loads((ROOT / "docs" / "view.schema.json").read_text(encoding="utf-8"))
CASES = "empty-id,cut-off-call"
ALL_OK = dict.fromkeys(["healthy", *CASES.split(",")], "ok")


def unhealthy(reason: str) -> dict[str, str]:
    """Return the reasons of all cases if the healthy case has this reason."""
    return {**dict.fromkeys(ALL_OK, "its baseline did not pass"), "healthy": reason}


GRADES = {
    "right": ALL_OK,
    "by-id": {"healthy": "ok", "empty-id": "returned without arguments", "cut-off-call": "ran an incomplete call"},
    "twice": unhealthy("ran a call twice"),
    "endless": unhealthy("retried in a loop"),
    "missing": unhealthy("harness-failure"),
    "idle": unhealthy("harness-failure"),
}


def check(*words: str | Path) -> int:
    """Run the command without progress."""
    return main(["check", "--quiet", *map(str, words)])


def agent(way: str) -> list[str]:
    """Return the command of the test client that reads streams in this way."""
    return [sys.executable, str(AGENT), way]


def matrix(path: Path, runs: Path) -> Path:
    """Write a file with a correct client, three buggy ones and two that send no request."""
    ways = ("right", "by-id", "twice", "endless")
    commands = {way: agent(way) for way in ways}
    commands |= {"missing": ["no-such-command"], "idle": [sys.executable, "-c", "print('hello')"]}
    tables = [
        f"[clients.{name}]\ncommand = {json.dumps(command)}\nenv = {{ RUNS = {json.dumps(str(runs))} }}\n"
        for name, command in commands.items()
    ]
    path.write_text("\n".join(tables))
    return path


def read_report(path: Path) -> dict[str, Any]:
    """Return the JSON report in a file, after a check against the schema."""
    report: dict[str, Any] = json.loads(path.read_text())
    assert [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(report)] == []
    return report


def graded(report: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the reason or the grade of each case by client and name."""
    return {
        client["name"]: {case["name"]: case["reason"] or case["grade"] for case in client["cases"]}
        for client in report["clients"]
    }


def test_clients_are_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All clients get their grades in all reports, again when resumed, and with repair."""
    runs, found, state, summary = (tmp_path / name for name in ("runs", "r.json", "state", "summary.md"))
    clients = matrix(tmp_path / "clients.toml", runs)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    words: list[str | Path] = ["--matrix", clients, "--case", CASES]
    junit, html = tmp_path / "r.xml", tmp_path / "r.html"
    reports: list[str | Path] = ["--format", "json", "-o", found, "--junit", junit, "--html", html, "--github"]
    assert check(*words, "--resume", state, *reports) == 1
    report = read_report(found)
    grades = graded(report)
    assert grades == GRADES
    check_texts(capsys.readouterr().out)
    assert summary.read_text().startswith("### right (openai-chat)\n")
    assert ET.fromstring(junit.read_text()).get("failures") == "4"  # noqa: S314 - toolstream's own report
    check_sessions(html, report)
    assert shlex.split(report["clients"][-1]["cases"][0]["rerun"])[-2:] == ["--client", "idle"]
    check_turns(report)
    before = len(runs.read_text())
    assert check(*words, "--resume", state, "--format", "json", "-o", "-") == 1
    assert graded(json.loads(capsys.readouterr().out)) == grades
    assert len(runs.read_text()) == before + 4 + 2  # the healthy case of each client, again where it failed
    page, repaired = tmp_path / "page.html", ("--client", "by-id", "--case", "*/empty-id", "--repair", "safe")
    assert check(*words[:2], *repaired, "--compare", found, "--format", "html", "-o", page) == 0
    assert "<title>toolstream check: by-id" in page.read_text()
    output = capsys.readouterr().out
    assert "by-id (openai-chat, with repair safe): 2 cases: 2 ok" in output
    assert "repair fixes 1 of 1 case that failed without it" in output
    assert check(*words[:2], *repaired, "--shape", "whole-calls") == 0
    assert "by-id (openai-chat, with repair safe and shape whole-calls): 2 cases: 2 ok" in capsys.readouterr().out


def check_texts(output: str) -> None:
    """Check the printed text."""
    assert "right (openai-chat): 3 cases: 3 ok\n" in output
    assert "\n    ran get_weather, get_weather\n" in output
    assert "  skipped         2 cases: openai-chat/healthy did not pass: ran a call twice\n" in output
    assert "::error title=by-id%3A openai-chat/fault/cut-off-call::ran an incomplete call" in output
    assert "harness-failure required  unknown/healthy  no-such-command cannot be run" in output
    assert "the client sent no request to an LLM, and the command exited with code 0" in output
    assert "\n    hello\n" in output


def check_sessions(page: Path, report: dict[str, Any]) -> None:
    """Check that the page has the recorded session of each failed case."""
    sessions = json.loads(page.read_text().split('id="data">')[1].split("</script>")[0])["sessions"]
    failed = [[case["id"] for case in client["cases"] if case["grade"] == "failed"] for client in report["clients"]]
    assert [sorted(session["cases"]) for session in sessions] == [sorted(ids) for ids in failed]
    for client, session in zip(report["clients"], sessions, strict=True):
        for case in (case for case in client["cases"] if case["grade"] == "failed"):
            document = {**session, **session["cases"][case["id"]]}
            del document["cases"]
            assert not [error.message for error in jsonschema.Draft202012Validator(VIEW).iter_errors(document)]
            first, turn = document["responses"][0], case["turns"][0]
            assert len(document["responses"]) == len(case["turns"])
            assert first["timed"]
            assert first["readings"]["models"]
            assert (first["verdict"]["verdict"], first["verdict"]["event"]) == (
                turn["verdict"]["verdict"],
                turn["verdict"]["event"],
            )
            assert bool(first["next_request"]["added"]) == bool(turn["request"]["results"])  # else it retried


def check_turns(report: dict[str, Any]) -> None:
    """Check that a case lists its calls, results, cause and rerun command."""
    case = next(case for case in report["clients"][1]["cases"] if case["name"] == "empty-id")
    assert (case["id"], case["code"], case["spec"]) == ("openai-chat/fault/empty-id", "TS102", "empty-id:turn=0")
    first, second = case["turns"]
    assert '"id":""' in first["events"][first["findings"][0]["event"]]
    assert first["calls"][0]["name"] == "get_weather"
    assert first["request"]["calls"][0]["arguments"] == ""
    assert first["request"]["results"][0]["text"] == "mild"
    assert first["verdict"]["explained"] == ["by-present-id"]
    assert first["verdict"]["advice"] == ["--set toolstream_repair=empty-id"]
    assert (second["request"], second["verdict"]) == (None, None)
    assert shlex.split(case["rerun"])[-2:] == ["--case", case["id"]]


def test_advice_is_tried(tmp_path: Path) -> None:
    """Advice is given only if the client passes with it."""
    found = tmp_path / "r.json"
    for way in ("by-id", "crash"):
        assert check("--case", "empty-id", "--format", "json", "-o", found, "--", *agent(way)) == 1
        case = read_report(found)["clients"][0]["cases"][1]
        assert (case["grade"], case["advice"]) == ("failed", "--repair empty-id")
        assert check("--case", "empty-id", *case["advice"].split(), "--", *agent(way)) == 0
    right, twice = (shlex.join(agent(way)) for way in ("right", "twice"))
    once = f"test -e {tmp_path / 'ran'} && exec {twice}; touch {tmp_path / 'ran'}; exec {right}"
    assert check("--case", "empty-id", "--format", "json", "-o", found, "--", "sh", "-c", once) == 1
    case = read_report(found)["clients"][0]["cases"][1]
    assert (case["grade"], case["advice"]) == ("failed", "")


def test_a_client_that_needs_complete_calls_gets_an_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The client crashes on the healthy response and passes with the advised shape."""
    found = tmp_path / "r.json"
    assert check("--case", "missing-type", "--format", "json", "-o", found, "--", *agent("complete")) == 1
    healthy, other = read_report(found)["clients"][0]["cases"]
    assert (healthy["reason"], healthy["advice"], other["grade"]) == ("crashed", "--shape whole-calls", "skipped")
    assert "  to check the other cases too, add --shape whole-calls\n" in capsys.readouterr().out
    assert check("--case", "missing-type", "--shape", "whole-calls", "--", *agent("complete")) == 0


def test_given_calls_prompts_and_addresses_reach_the_client(tmp_path: Path) -> None:
    """They are arguments of its command, and secrets that it prints are redacted in the report."""
    script = tmp_path / "ask.py"
    script.write_text(
        "import json, sys, urllib.request\n"
        "body = {'model': sys.argv[3], 'input': sys.argv[2], 'tools': [{'type': 'function', 'name': 'ls'}]}\n"
        "print('sk-proj-0123456789abcdefghij0123456789abcdefghij')\n"
        "for _ in range(2):\n"
        "    data = json.dumps(body).encode()\n"
        "    request = urllib.request.Request(sys.argv[1] + '/responses', data, {'content-type': 'application/json'})\n"
        "    response = json.load(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request))\n"
        "    print(json.dumps(response['output']))\n"
        "    results = [{'type': 'function_call_output', 'call_id': item['call_id'], 'output': 'x'}\n"
        "               for item in response['output'] if item['type'] == 'function_call']\n"
        "    body['input'] = [*response['output'], *results]\n"
    )
    found = tmp_path / "r.json"
    command = [sys.executable, str(script), "{base_url}", "{prompt}", "{model}"]
    words: list[str | Path] = ["--protocol", "openai-responses", 'calls:ls {"at":"/etc"}', "--prompt", "Look"]
    assert check(*words, "--format", "json", "-o", found, "--case", "http-500", "--repeat", "2", "--", *command) == 0
    first, second = read_report(found)["clients"][0]["cases"]
    assert "/etc" in first["output"]
    assert "sk-proj-0123" not in first["output"]
    assert first["turns"][0]["calls"][0]["arguments"] == '{"at":"/etc"}'
    assert (second["name"], second["grade"], second["runs"], second["exit_code"]) == ("http-500", "ok", 2, 1)
    assert "--prompt Look " in first["rerun"]


ABSENT = "not possible in this protocol"
NO_STREAM = "the client does not stream"
OTHER_CONNECTION = "not possible over this connection"
NOTHING = "nothing to change"
NAMED = [
    pytest.param("right", ["--case", "item-per-fragment"], {"item-per-fragment": ABSENT}, 2, id="other-protocol"),
    pytest.param("right", ["--case", "item-per-fragment,empty-id"], {"item-per-fragment": ABSENT}, 0, id="one-ran"),
    pytest.param("by-id", ["--case", "item-per-fragment,empty-id"], {"item-per-fragment": ABSENT}, 1, id="failed"),
    pytest.param("right", ["--case", "*/fault/item-per-fragment"], {"item-per-fragment": ABSENT}, 2, id="glob"),
    pytest.param("right", ["--case", "anthropic/fault/empty-*"], {"empty-data": ABSENT}, 2, id="id"),
    pytest.param("right", ["--case", "gemini/healthy"], {"healthy": ABSENT}, 2, id="other-healthy"),
    pytest.param("right", ["--case", "custom-as-function"], {"custom-as-function": ABSENT}, 2, id="no-such-tool"),
    pytest.param("right", ["calls:now", "--case", "duplicate-id"], {"duplicate-id": NOTHING}, 2, id="one-call"),
    pytest.param("right", ["--case", "message-429"], {"message-429": ABSENT}, 2, id="transport"),
    pytest.param(
        "non-streaming", ["--case", "empty-id,deepseek"], {"empty-id": NO_STREAM, "deepseek": NO_STREAM}, 2, id="preset"
    ),
    pytest.param("non-streaming", ["--case", "empty-id,http-500"], {"empty-id": NO_STREAM}, 0, id="no-stream-one-ran"),
    pytest.param(
        "right", ["flows/deepseek-empty-id.flow", "--case", "message-429"], {"message-429": ABSENT}, 2, id="flow"
    ),
]


@pytest.mark.parametrize(("way", "words", "skipped", "code"), NAMED)
def test_a_named_case_that_cannot_run_is_skipped_with_its_reason(
    way: str, words: list[str], skipped: dict[str, str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All reports have the reason; the exit code is 2 if no named case ran."""
    found, junit = tmp_path / "r.json", tmp_path / "r.xml"
    assert check(*words, "--format", "json", "-o", found, "--junit", junit, "--", *agent(way)) == code
    printed = capsys.readouterr()
    assert ("no named case could run" in printed.err) == (code == 2)
    report = read_report(found)
    cases = [case for case in report["clients"][0]["cases"] if case["grade"] == "skipped"]
    assert {case["name"]: case["reason"] for case in cases} == skipped
    skipped_elements = ET.fromstring(junit.read_text()).findall(".//skipped")  # noqa: S314 - toolstream's own report
    assert [element.get("message") for element in skipped_elements] == [
        f"{case['reason']}: {case['message']}" for case in cases
    ]
    assert [word for case in cases for word in (case["id"], case["message"]) if word not in printed.out] == []


def test_a_healthy_run_whose_call_fails_is_no_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The client's message is reported, and all other cases are skipped."""
    found, words = tmp_path / "r.json", "failed to parse function arguments: expected u64"
    monkeypatch.setenv("RESULT", words)
    assert (
        check("--case", "empty-id,two-calls,repeated-index", "--format", "json", "-o", found, "--", *agent("right"))
        == 1
    )
    [grades] = graded(read_report(found)).values()
    others = ["empty-id", "two-calls", "repeated-index"]
    assert grades == {"healthy": "harness-failure", **dict.fromkeys(others, "its baseline did not pass")}
    assert f"get_weather failed: '{words}'" in capsys.readouterr().out


def test_a_family_selects_all_of_its_cases(tmp_path: Path) -> None:
    """A family includes cases of other protocols, and a kind means the cases of the client's protocol."""
    found = tmp_path / "r.json"
    family = {row.name for row in DEFECTS if row.family == "identity"} & {case.name for case in all_cases()}
    assert check("--case", "identity", "--format", "json", "-o", found, "--", *agent("non-streaming")) == 2
    [grades] = graded(read_report(found)).values()
    assert grades.keys() == {"healthy", *family}
    assert set(grades.values()) == {"ok", ABSENT, NO_STREAM}
    assert check("--case", "shape", "--format", "json", "-o", found, "--", *agent("non-streaming")) == 2
    [grades] = graded(read_report(found)).values()
    assert set(grades.values()) == {"ok", NO_STREAM}


def test_named_cases_of_several_clients_and_resumed_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It suffices that one client ran the case, also earlier; without a request the case is listed."""
    clients, found, state = (tmp_path / name for name in ("clients.toml", "r.json", "state"))
    commands = {"right": agent("right"), "non-streaming": agent("non-streaming")}
    tables = (f"[clients.{name}]\ncommand = {json.dumps(command)}\n" for name, command in commands.items())
    clients.write_text("".join(tables))
    words: list[str | Path] = ["--matrix", clients, "--case", "empty-id", "--resume", state]
    words += ["--format", "json", "-o", found]
    for _ in range(2):
        assert check(*words) == 0
        assert graded(read_report(found)) == {
            "right": {"healthy": "ok", "empty-id": "ok"},
            "non-streaming": {"healthy": "ok", "empty-id": NO_STREAM},
        }
    assert check(*words, "--client", "non-streaming") == 2
    capsys.readouterr()
    assert check("--case", "empty-id", "--format", "json", "-o", found, "--", sys.executable, "-c", "") == 1
    [grades] = graded(read_report(found)).values()
    assert grades == {"healthy": "harness-failure", "empty-id": "its baseline did not pass"}
    assert "'*/fault/empty-id'" in read_report(found)["clients"][0]["cases"][1]["rerun"]


def test_an_interrupted_check_reports_finished_cases(tmp_path: Path) -> None:
    """Ctrl-C ends the clients, and the same command resumes from the state file."""
    found, state = tmp_path / "r.json", tmp_path / "state"
    pid = tmp_path / "pid"
    script = tmp_path / "slow.py"
    script.write_text(
        "import os, runpy, sys, time, pathlib\n"
        f"pid = pathlib.Path({str(pid)!r})\n"
        "if pid.exists():\n"
        "    pid.write_text(str(os.getpid()))\n"
        "    time.sleep(60)\n"
        "pid.write_text('0')\n"
        f"sys.argv = ['agent.py', 'incomplete']\n"
        f"runpy.run_path({str(AGENT)!r}, run_name='__main__')\n"
    )
    words = toolstream("check", "--case", "empty-id", "--format", "json", "-o", found, "--resume", state)
    words += ["--", sys.executable, str(script)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: pid.exists() and pid.read_text() not in {"", "0"})
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "run the same command to continue" in error
    cases = read_report(found)["clients"][0]["cases"]
    assert [(case["name"], case["grade"]) for case in cases] == [("healthy", "ok"), ("empty-id", "skipped")]
    assert '"grade": "ok"' in state.read_text()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_the_page_has_all_options_and_valid_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """The section of the command has all options, and its examples are valid."""
    assert main(["check", "--help"]) == 0
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help", "--"}
    found = re.search(r"^## `toolstream check`$(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    rows = "".join(re.findall(r"^\| (`-.*?) \|", found[1], re.MULTILINE))
    assert options == set(re.findall(r"--[a-z-]+", rows))
    commands = [line.partition("  #")[0] for line in re.findall(r"^toolstream check .*$", found[1], re.MULTILINE)]
    assert len(commands) == 4
    for command in commands:
        own_words, _, client = command.partition(" -- ")
        given = shlex.split(own_words)[1:]
        assert parsed(given).command == "check"
        assert client or "--matrix" in given


def test_the_example_of_a_matrix_file(tmp_path: Path) -> None:
    """The example on the page is valid."""
    block = re.findall(r"^```toml\n(\[clients.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "clients.toml").write_text(block)
    first, second = clients_of(tmp_path / "clients.toml", Client(name="", command=()))
    assert first.command == ("python", "agent.py", "{prompt}")
    assert (second.protocol, second.environment, second.timeout) == ("anthropic", {"MODEL": "small"}, 90)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "no client. Expected --matrix FILE, or a command"),
        (["python", "agent.py"], "or a command: toolstream check -- python agent.py"),
        (["--case", "emty-id", "--", "x"], "unknown case 'emty-id'; did you mean empty-id?"),
        (["calls:ls {", "--", "x"], "not valid JSON"),
        (["--case", "empty-id,-empty-id", "--", "x"], "no case is left"),
        (["--repair", "saef", "--", "x"], "did you mean safe"),
        (["--shape", "whole-call", "--", "x"], "did you mean whole-calls"),
        (["no-such.flow", "--", "x"], "no such file or directory: no-such.flow"),
        ([__file__, "--", "x"], "test_check.py contains no LLM response"),
        (["flows", "--upstream", "--", "x"], "--upstream and FLOW exclude each other"),
        (["flows", "calls:ls", "--", "x"], "flows and calls: exclude each other"),
        (["--client", "a", "--", "x"], "--client needs --matrix FILE"),
        (["--upstream", "--", "x", "{base_url}"], "{base_url} and --upstream exclude each other"),
        (["-o", "no-such-folder/r.json", "--", "x"], "-o: there is no folder"),
        (["-o", ".", "--", "x"], "is a folder; give a file"),
        (["--html", ".", "--", "x"], "--html: "),
        (["--format", "html", "--", "x"], "--format html needs -o FILE, and excludes --html FILE"),
        (["--junit", "/proc/r.xml", "--", "x"], "--junit: /proc/r.xml cannot be written: "),
        (["--resume", ".", "--", "x"], "--resume: . is a folder; give a file"),
        (["--matrix", "no-such.toml"], "--matrix: no-such.toml cannot be read: No such file or directory"),
        (["--compare", "no-such.json", "--", "x"], "--compare: no-such.json cannot be read"),
    ],
)
def test_usage_errors(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command exits with 2 before anything runs."""
    assert check(*words) == 2
    assert expected in capsys.readouterr().err


def test_a_client_on_a_websocket(tmp_path: Path) -> None:
    """It is checked with faults of sockets; cases of event streams are skipped."""
    report = tmp_path / "report.json"
    words = "cut-1011,message-429,wrong-stream-id,recut-bytes,empty-data,cumulative-arguments"
    client = [sys.executable, str(ROOT / "tests" / "checking" / "socket_agent.py")]
    assert check("--case", words, "--format", "json", "-o", report, "--jobs", "2", "--", *client) == 0
    found = read_report(report)
    [grades] = graded(found).values()
    ran = ["healthy", "cut-1011", "message-429", "wrong-stream-id", "cumulative-arguments"]
    assert grades == dict.fromkeys(ran, "ok") | {"recut-bytes": OTHER_CONNECTION, "empty-data": NOTHING}


@pytest.mark.parametrize("text", ["[]", "{}", '{"version": 3, "clients": []}', '{"version": 2}'])
def test_a_compared_report_must_have_a_known_version(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other files are rejected before anything runs."""
    (tmp_path / "r.json").write_text(text)
    assert check("--compare", tmp_path / "r.json", "--", "x") == 2
    assert "r.json is not a report of `toolstream check --format json`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("way", "case", "message", "advice"),
    [
        pytest.param("from-id", "late-id", "opens a call only at an entry", "--repair late-id", id="from-id"),
        pytest.param(
            "closing", "interleaved", "closes a call when the next one opens", "--shape whole-calls", id="closing"
        ),
        pytest.param("text", "full-deltas", "did not run the call", "--shape whole-calls", id="text"),
    ],
)
def test_clients_that_lose_parts_of_calls(tmp_path: Path, way: str, case: str, message: str, advice: str) -> None:
    """They behave as multi-llm-ts, fantasy and Griptape do."""
    output = tmp_path / "report.json"
    assert check("--case", case, "--format", "json", "-o", output, "--", *agent(way)) == 1
    (found,) = (one for one in read_report(output)["clients"][0]["cases"] if one["grade"] == "failed")
    assert message in found["message"]
    assert found["advice"] == advice
