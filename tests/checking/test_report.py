"""The report of a check: JSON, text, GitHub annotations and summary, JUnit."""

from __future__ import annotations

import itertools
import json
from xml.etree import ElementTree as ET

import pytest

from tests.checking.reports import CLIENT, case, report
from toolstream_core.checking.cases import Case, Kind, Plan
from toolstream_core.checking.client import Client, Run
from toolstream_core.checking.grading import Result
from toolstream_core.checking.report import (
    case_object,
    client_object,
    comparison,
    junit,
    lines,
    summary,
    workflow_commands,
)
from toolstream_core.verdict.outcome import Grade, Reason

SECRET = "aB3dE6fG9hI2jK5lM8"


@pytest.mark.parametrize(
    "output",
    [
        f"PATH=/bin\nDB_PASSWORD={SECRET}\n",
        f"docker login -u me -p {SECRET}",
        json.dumps({"access_token": SECRET}),
        f"Traceback\n  sk-proj-{SECRET}{SECRET}\n",
    ],
)
def test_the_output_of_a_client_is_redacted(output: str) -> None:
    """Both the output and the message are."""
    run = Run(exit_code=1, output=output)
    reported = case_object(case("half"), Result(Grade.FAILED, None, output), "again", runs=[run], run=run)
    assert SECRET not in json.dumps(reported)
    assert (reported["id"], reported["exit_code"], len(reported["output"])) == (case("half").id, 1, len(output))


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["agent", "--api-key", "plain-words-4711", "go"], ["agent", "--api-key", "[redacted]", "go"]),
        (["agent", "--api-key=plain-words-4711", "go"], ["agent", "--api-key=[redacted]", "go"]),
        (["curl", "-H", "Authorization: Bearer plain-words-4711"], ["curl", "-H", "Authorization: Bearer [redacted]"]),
        (["agent", "--prompt", "say it's done", ""], ["agent", "--prompt", "say it's done", ""]),
    ],
)
def test_the_command_of_a_client_is_redacted(command: list[str], shown: list[str]) -> None:
    """Its words stay separate."""
    assert Client(name="a", command=tuple(command)).shown == shown


def test_the_worst_case_is_first() -> None:
    """Required cases are before optional ones, and passed cases are only counted."""
    head, *rows = lines(report())
    assert head == (
        "agent|<b> (openai-chat): 7 cases: 1 ok, 1 not-strict, 1 info, 2 failed, 1 harness-failure, 1 skipped"
    )
    assert [row.split()[:3] for row in rows[:3]] == [
        ["failed", "required", "openai-chat/fault/b-half"],
        ["harness-failure", "required", "openai-chat/fault/d-untried"],
        ["not-strict", "required", "openai-chat/fault/e-weak"],
    ]
    assert rows[-1] == "  skipped         1 case: openai-chat/healthy did not pass"
    assert rows[-2].split()[:2] == ["failed", "optional"]
    assert all("\n" not in row and "\0" not in row for row in rows)


def failed(reason: Reason, output: str) -> str:
    """The line of a failed case."""
    case = Case(protocol="openai-chat", kind=Kind.FAULT, name="late-id", title="t", spec="late-id")
    run = Run(exit_code=1, output=output)
    result = Result(Grade.FAILED, reason, "it did not run the call")
    reported = case_object(case, result, "again", runs=[run], run=run, advice="--repair late-id")
    client = client_object(CLIENT, Plan(), protocol="openai-chat", cases=[reported])
    return list(lines({"clients": [client]}))[1]


STACK = "".join(f"\tat a.b.C{number}(C.java:{number})\n" for number in range(30))


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        (f'Exception in thread "main" java.io.IOException: no\n{STACK}', 'Exception in thread "main" java.io.IOExc'),
        (f"E: a.AException: one\n{STACK}Caused by: b.BError: two\n{STACK}", "Caused by: b.BError: two"),
        (
            "thread 'main' (7) panicked at src/main.rs:2:5:\nno call\nnote: run with",
            "panicked at src/main.rs:2:5: no call",
        ),
        ("panic: no call\n\ngoroutine 1 [running]:\nmain.main()\n", "panic: no call"),
    ],
)
def test_a_crash_shows_the_error_before_its_stack(output: str, shown: str) -> None:
    """Java, Rust and Go print it first. For a healthy response, the last lines are shown too."""
    assert shown in failed(Reason.CRASHED, output)
    run = Run(exit_code=1, output=output)
    healthy = Case(protocol="openai-chat", kind=Kind.HEALTHY, name="healthy", title="t")
    reported = case_object(healthy, Result(Grade.FAILED, Reason.CRASHED, "no"), "again", runs=[run], run=run)
    rows = list(lines({"clients": [client_object(CLIENT, Plan(), protocol="openai-chat", cases=[reported])]}))
    printed = rows[[row.endswith("it printed:") for row in rows].index(True) + 1 :]
    assert shown in " ".join(row.strip() for row in printed)
    assert all("\\t" not in row for row in printed)


def test_a_crash_shows_the_last_line_of_the_output() -> None:
    """Empty lines are skipped."""
    row = "  failed          required  openai-chat/fault/late-id"
    ran, helps = "it did not run the call", "→ --repair late-id"
    crashed = failed(Reason.CRASHED, "Traceback:\nIndexError: list\n\n")
    assert crashed == f"{row}  crashed: {ran}: IndexError: list  {helps}"
    assert failed(Reason.GAVE_UP, "bye\n") == f"{row}  gave up: {ran}  {helps}"
    assert failed(Reason.GAVE_UP, "ValueError: no\nbye\n") == f"{row}  gave up: {ran}: ValueError: no  {helps}"


LONG = "call 0 get_weather: returned without its arguments " + "and the reason goes on " * 12


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("Error: no id\n    at run (agent.mjs:3:9)\n\nNode.js v20.20.2\n", "Error: no id"),
        ("TypeError [X]: a {\n cause: [SyntaxError: bad],\n}\n\nNode.js v20\n", "cause: [SyntaxError: bad],"),
        ("panic: nil map\n\ngoroutine 1 [running]:\nmain.main()\n\t/a/main.go:62 +0xf86\n", "panic: nil map"),
        ("Traceback (most recent call last):\n  File 'a', line 1\nValueError: no id\n", "ValueError: no id"),
        ("Exception in a.X\nCaused by: b.YException: gone\n\tat c.D.e(D.java:1)\n", "Caused by: b.YException: gone"),
        ("no colon in this Error\nlast words\n\n", "last words"),
        ("", ""),
    ],
)
def test_a_crash_shows_the_error_and_not_its_stack(output: str, error: str) -> None:
    """Node ends with its version, and Go and Java with their stacks."""
    ending = f": {error}  → --repair late-id" if error else "it did not run the call  → --repair late-id"
    assert failed(Reason.CRASHED, output).endswith(ending)


def test_without_a_width_no_line_is_wrapped() -> None:
    """Each case is a line."""
    rows = list(lines(report(b_half=Result(Grade.FAILED, Reason.WITHOUT_ARGUMENTS, LONG))))
    assert any(row.endswith(f"returned without arguments: {LONG.strip()}") for row in rows)
    assert not any("…" in row for row in rows)


@pytest.mark.parametrize("width", [80, 120])
def test_lines_are_wrapped_to_a_width(width: int) -> None:
    """A long text continues on indented lines."""
    reason, skipped = Result(Grade.FAILED, Reason.WITHOUT_ARGUMENTS, LONG), Result(Grade.SKIPPED, None, LONG)
    rows = list(lines(report(b_half=reason, f_skipped=skipped), width))
    rows += comparison(report(), report(("safe",), b_half=Result(Grade.FAILED, Reason.TWICE, "m")), width)
    assert [row for row in rows if len(row) > width] == []
    at = next(at for at, row in enumerate(rows) if row.endswith("openai-chat/fault/b-half"))
    below = list(itertools.takewhile(lambda row: row.startswith("      "), rows[at + 1 :]))
    assert " ".join(" ".join(below).split()) == f"returned without arguments: {LONG.strip()}"


def test_a_failed_healthy_case_shows_the_output() -> None:
    """The command to repeat the case is shown too."""
    rows = list(lines(report(a_healthy=Result(Grade.FAILED, Reason.CRASHED, "m"))))
    assert any(row.startswith("    last words") for row in rows)
    assert "  to run it again: toolstream check --case a-healthy" in rows
    assert sum(row.endswith("it printed:") for row in rows) == 1
    silent = report(a_healthy=Result(Grade.FAILED, Reason.CRASHED, "m"))
    silent["clients"][0]["cases"][0]["output"] = ""
    assert not any(row.endswith("it printed:") for row in lines(silent))


def test_a_comparison_shows_which_failures_repair_fixes() -> None:
    """Cases that became worse are named."""
    repaired = report(("safe",), b_half=Result(Grade.OK), a_healthy=Result(Grade.FAILED, Reason.CRASHED, "m"))
    first, *rows, worse = comparison(report(), repaired)
    assert first == "repair fixes 1 of 2 cases that failed without it"
    assert [row.split() for row in rows] == [
        ["openai-chat/fault/b-half", "returned", "an", "incomplete", "call", "→", "ok"],
        ["openai-chat/fault/c-optional", "gave", "up", "→", "gave", "up"],
    ]
    assert worse == "worse with repair: openai-chat/fault/a-healthy"


def test_a_comparison_with_the_same_repairs_is_about_the_client() -> None:
    """The text does not mention repair."""
    changed = report(b_half=Result(Grade.OK), a_healthy=Result(Grade.FAILED, Reason.CRASHED, "m"))
    first, *_, worse = comparison(report(), changed)
    assert first == "1 of 2 cases that failed before now pass"
    assert worse == "worse now: openai-chat/fault/a-healthy"


def test_reports_of_other_clients_have_nothing_to_compare() -> None:
    """The message has both names."""
    other = report()
    other["clients"][0]["name"] = "other.py"
    name = report()["clients"][0]["name"]
    [message] = comparison(other, report())
    assert message == f"nothing to compare: this report is of {name}, the earlier one has other cases, of other.py"


def test_annotations() -> None:
    """Each is one line, its text cannot start another command, and required failures are errors."""
    lines = workflow_commands(report())
    assert [line.split()[0] for line in lines] == ["::error", "::error", "::warning"]
    assert lines[0].startswith("::error title=agent|<b>%3A openai-chat/fault/b-half::returned an incomplete call: ]]>")
    assert "100%25" in lines[0]
    assert not any("\n" in line for line in lines)


def test_the_summary() -> None:
    """A table of all cases that did not pass, whose cells escape their text."""
    text = summary(report())
    assert text.startswith("### agent\\|&lt;b&gt; (openai-chat)\n\n7 cases: 1 ok")
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert [row.split(" | ")[2] for row in rows] == [
        f"openai-chat/fault/{name}" for name in ("b-half", "d-untried", "e-weak", "g-shown", "c-optional")
    ]
    assert "<b>" not in text
    assert all(row.replace("\\|", "").count("|") == 6 for row in rows)


def test_junit() -> None:
    """The XML is well-formed with any text, and required failures are its failures."""
    root = ET.fromstring(junit(report()))  # noqa: S314 - our own
    assert root.tag == "testsuites"
    [suite] = root
    for one in (root, suite):
        assert [one.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["7", "1", "1", "2"]
    assert (suite.get("name"), suite.get("timestamp"), suite.get("time")) == (
        "agent|<b>",
        "2026-01-02T03:04:05",
        "3.500",
    )
    found = {case.get("name"): [child.tag for child in case] for case in suite}
    assert found == {
        "a-healthy": ["system-out"],
        "b-half": ["failure", "system-out"],
        "c-optional": ["skipped", "system-out"],
        "d-untried": ["error", "system-out"],
        "e-weak": ["system-out"],
        "f-skipped": ["skipped", "system-out"],
        "g-shown": ["system-out"],
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "returned an incomplete call"
    assert "]]> </failure> <b>" in str(failure.get("message"))
    assert "to run it again: toolstream check --case b-half" in str(failure.text)
