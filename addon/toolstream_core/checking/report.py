"""The report of a check: JSON (`docs/check.schema.json`), lines for a terminal, JUnit XML, GitHub Actions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from toolstream_core.checking.cases import Case, Plan
from toolstream_core.checking.client import Client, Run
from toolstream_core.checking.grading import Result, Skip, rank
from toolstream_core.printable import counted, printable
from toolstream_core.redact import redacted
from toolstream_core.redaction import Redaction, redacted_text
from toolstream_core.report.columns import middle, table, wrapped
from toolstream_core.testing.exchanges import ProxiedExchange
from toolstream_core.verdict import Outcome
from toolstream_core.verdict.outcome import Grade, Reason
from toolstream_core.version import __version__

VERSION: Final = 2
"""2: verdicts and reasons were renamed."""
_RENAMED: Final = {"asked again and again": "retried in a loop"}
"""Reasons of earlier releases, in any version."""
_RENAMED_IN_2: Final = {
    "ran a half call": "returned an incomplete call",
    "ran a call twice": "returned a call twice",
    "ran a call that was not made": "returned a call that was not sent",
    "lost arguments": "returned without arguments",
    "merged calls": "returned merged calls",
}
"""Reasons of version 1."""


def document(clients: Iterable[dict[str, Any]], *, started: str, seconds: float, seed: int) -> dict[str, Any]:
    """The complete report; `started` is a time in ISO 8601."""
    return {
        "version": VERSION,
        "toolstream": __version__,
        "mitmproxy": version("mitmproxy"),
        "started": started,
        "seconds": round(seconds, 1),
        "seed": seed,
        "clients": list(clients),
    }


def client_object(
    client: Client, plan: Plan, *, protocol: str | None, cases: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """One client, with all its cases."""
    return {
        "name": client.name,
        "command": client.shown,
        "protocol": protocol,
        "repair": list(plan.repair),
        "shape": list(plan.shape),
        "counts": {grade.value: sum(case["grade"] == grade for case in cases) for grade in Grade},
        "cases": list(cases),
    }


def case_object(
    case: Case, result: Result, rerun: str, *, runs: Sequence[Run] = (), run: Run | None = None, advice: str = ""
) -> dict[str, Any]:
    """One case, without secrets. `runs` are all runs of it, `run` the one with this result.

    `advice` are options of `check` under which the client passed the case that it failed.
    """
    exchanges = [] if run is None else run.llm_exchanges
    secrets = tuple({secret: None for one in run.exchanges for secret in one.request.secrets}) if run else ()
    report = {
        "id": case.id,
        "kind": case.kind.value,
        "name": case.name,
        "code": case.code,
        "spec": case.spec or None,
        "title": case.title,
        "required": case.required,
        "needs": case.needs,
        "grade": result.grade.value,
        "reason": None if result.reason is None else result.reason.value,
        "message": None if result.message is None else redacted(" ".join(result.message.split())),
        "advice": advice,
        "runs": len(runs),
        "exit_code": None if run is None else run.exit_code,
        "seconds": round(sum(one.seconds for one in runs), 2),
        "rerun": redacted(rerun),
        "output": "" if run is None else run.output,
        "turns": [_turn(one, exchanges) for one in exchanges],
    }
    clean: dict[str, Any] = json.loads(redacted_text(json.dumps(report), Redaction(), secrets))
    return clean


def current(report: dict[str, Any]) -> dict[str, Any] | None:
    """A report of this version or of version 1, converted to this version; `None` for any other document."""
    if report.get("version") not in {1, VERSION} or not isinstance(report.get("clients"), list):
        return None
    for case in (case for client in report["clients"] for case in client["cases"]):
        if report["version"] == 1:
            case["reason"] = _RENAMED_IN_2.get(case["reason"], case["reason"])
        rename_reason(case)
        for verdict in (turn["verdict"] for turn in case["turns"] if turn["verdict"] is not None):
            for one in (verdict, *verdict["problems"]):
                one["verdict"] = Outcome(one["verdict"]).value
    return {**report, "version": VERSION}


def rename_reason(case: dict[str, Any]) -> None:
    """Rename the reason of a case of an earlier release."""
    if (reason := case.get("reason")) in _RENAMED:
        case["reason"] = _RENAMED[reason]


def result_of(case: dict[str, Any]) -> Result:
    """The result from which `case_object` was written."""
    return Result(Grade(case["grade"]), _reason(case["reason"]), case["message"])


def _reason(text: str | None) -> Reason | Skip | None:
    """The reason in a report of this version or of version 1."""
    if text is None:
        return None
    return Skip(text) if text in Skip else Reason(text)


def _turn(exchange: ProxiedExchange, exchanges: Sequence[ProxiedExchange]) -> dict[str, Any]:
    verdict = exchange.verdict
    return {
        "number": exchange.request.number,
        "status": exchange.status,
        "broken": exchange.broken,
        "events": exchange.sent,
        "truncated": exchange.truncated,
        "calls": [asdict(call) for call in exchange.calls],
        "findings": [asdict(finding) for finding in exchange.findings],
        "request": _request(exchange, exchanges),
        "verdict": None if verdict is None else asdict(verdict),
    }


def _request(exchange: ProxiedExchange, exchanges: Sequence[ProxiedExchange]) -> dict[str, Any] | None:
    """The calls and results that the next request adds; `None` without a next request."""
    number = None if exchange.verdict is None else exchange.verdict.request
    later = [one for one in exchanges if one.request.number > exchange.request.number]
    after = next((one for one in later if number in {None, one.request.number}), None)
    if after is None:
        return None
    new = exchange.added_by(after.request)
    return {
        "calls": [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in new.calls],
        "results": [{"id": one.id, "name": one.name, "text": one.text} for one in new.results],
    }


_SHOWN: Final = frozenset(Grade) - {Grade.OK}
_LAST_WORDS: Final = 200
"""Columns of a client's last output line, on a terminal."""
_BELOW: Final = " " * 6
"""The text before a reason under its case."""
_OUTPUT_LINES: Final = 10


def lines(report: dict[str, Any], width: int | None = None) -> Iterator[str]:
    """All clients, each with the cases that are not `ok`.

    With a `width`, in columns, longer texts continue below, and a case's reason is under the case; without,
    each case is one line.
    """
    for client in report["clients"]:
        head = f"{client['name']} ({client['protocol'] or 'no protocol'}{conditions(client)}): {counts(client)}"
        yield from _fitted(head, width)
        yield from _rows(client, width)
        yield from _why_healthy_failed(client["cases"])


def counts(client: dict[str, Any]) -> str:
    """The number of cases of each grade, as text."""
    found: dict[str, int] = client["counts"]
    shown = [f"{found[grade.value]} {grade.value}" for grade in Grade if found[grade.value]]
    return f"{counted(len(client['cases']), 'case')}: {', '.join(shown) or 'none'}"


def worst_first(cases: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cases in the order of their grades and reasons, the required ones before the others."""
    return sorted(cases, key=lambda case: (not case["required"], rank(result_of(case)), case["id"]))


def comparison(earlier: dict[str, Any], report: dict[str, Any], width: int | None = None) -> Iterator[str]:
    """The failures of an earlier report that pass now, among the cases of both. `width` as for `lines`.

    This is due to repairs or shapes only if the earlier report was made with others: clients change, too.
    """
    before = {(client["name"], case["id"]): case for client in earlier["clients"] for case in client["cases"]}
    pairs = [
        (before[client["name"], case["id"]], case)
        for client in report["clients"]
        for case in client["cases"]
        if (client["name"], case["id"]) in before
    ]
    if not pairs:
        names = [", ".join(client["name"] for client in one["clients"]) for one in (report, earlier)]
        yield from _fitted(
            f"nothing to compare: this report is of {names[0]}, the earlier one has other cases, of {names[1]}", width
        )
        return
    due = _helpful_option(earlier, report)
    failed = [(one, other) for one, other in pairs if one["grade"] == Grade.FAILED]
    saved = [other for _, other in failed if other["grade"] in (Grade.OK, Grade.NOT_STRICT)]
    worse = [other for one, other in pairs if rank(result_of(other)) < rank(result_of(one))]
    cases = f"{len(saved)} of {counted(len(failed), 'case')}"
    yield f"{due} fixes {cases} that failed without it" if due else f"{cases} that failed before now pass"
    for one, other in sorted(failed, key=lambda pair: pair[0]["id"]):
        now = other["reason"] or other["grade"]
        yield from _fitted(f"{one['id']:<44} {one['reason'] or one['grade']} → {now}", width, "  ")
    if worse:
        yield from _fitted(f"worse {f'with {due}' if due else 'now'}: {', '.join(case['id'] for case in worse)}", width)


def _helpful_option(earlier: dict[str, Any], report: dict[str, Any]) -> str:
    """The option that was added since the last run; `""` if there is none."""
    before = {client["name"]: client for client in earlier["clients"]}
    pairs = [(before[client["name"]], client) for client in report["clients"] if client["name"] in before]
    return next(
        (kind for kind in ("repair", "shape") if any(now.get(kind) and not was.get(kind) for was, now in pairs)), ""
    )


def _rows(client: dict[str, Any], width: int | None) -> Iterator[str]:
    shown = [case for case in worst_first(client["cases"]) if case["grade"] in _SHOWN]
    longest = max((len(case["id"]) for case in shown if case["grade"] != Grade.SKIPPED), default=0)
    skipped: dict[tuple[str | None, str], list[str]] = {}
    for case in shown:
        if case["grade"] == Grade.SKIPPED:
            skipped.setdefault((case["reason"], case["message"]), []).append(case["id"])
            continue
        demand = "required" if case["required"] else "optional"
        line = f"  {case['grade']:<15} {demand}  {case['id']:<{longest}}"
        last = f"→ {case['advice']}" if case.get("advice") else ""
        why = _why(case, width)
        full = "  ".join(filter(None, [line, why, last])).rstrip()
        if width is None or len(full) <= width:
            yield full
        else:
            yield line.rstrip()
            yield from wrapped(_BELOW, "", why, last, width)
    for (reason, message), ids in skipped.items():
        yield from _fitted(f"skipped         {counted(len(ids), 'case')}: {printable(message)}", width, "  ")
        if reason not in (None, Skip.NO_BASELINE):
            yield from _fitted(", ".join(ids), width, _BELOW)


def _why(case: dict[str, Any], width: int | None) -> str:
    """The reason and the message; for a client that crashed or gave up also the error that it printed."""
    parts = [case["reason"], case["message"]]
    if case["reason"] in (Reason.CRASHED, Reason.GAVE_UP):
        error = _error_of(case["output"]) or (_last_line(case["output"]) if case["reason"] == Reason.CRASHED else "")
        parts.append(error if width is None else middle(error, _LAST_WORDS))
    return printable(": ".join(filter(None, parts)))


_NAMES_ERROR: Final = re.compile(r"(?:Error|Exception)\]?: \S|^panic: |^thread '.*' .*panicked at ")


def _error_of(output: str) -> str:
    """The last line that names an error: Node ends with its version, Go and Java with a line of their stack."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    at = next((at for at in reversed(range(len(lines))) if _NAMES_ERROR.search(lines[at])), None)
    if at is None:
        return ""
    return " ".join(lines[at : at + 2]) if lines[at].endswith(":") else lines[at]  # Rust's message is on the next line


def _last_line(output: str) -> str:
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")


def _fitted(text: str, width: int | None, begin: str = "") -> Iterator[str]:
    """A line that continues below if there is no room."""
    if width is None or len(begin) + len(text) <= width:
        yield f"{begin}{text}"
    else:
        yield from wrapped(begin, "", text, width=width)


def _why_healthy_failed(cases: list[dict[str, Any]]) -> Iterator[str]:
    """The output of a client that fails with a healthy response: no other case can be graded then."""
    first = cases[0] if cases else None
    if first is None or first["grade"] not in (Grade.FAILED, Grade.HARNESS_FAILURE):
        return
    printed = first["output"].splitlines()[-_OUTPUT_LINES:]
    if printed:
        yield "  the client must handle a healthy response correctly before other cases are checked; it printed:"
        error = _error_of(first["output"])
        if error not in " ".join(map(str.strip, printed)):
            yield from (f"    {printable(error)}", "    …")
        yield from (f"    {printable(line.expandtabs())}" for line in printed)
    yield f"  to run it again: {printable(first['rerun'])}"
    if first["advice"]:
        yield f"  to check the other cases too, add {first['advice']}"


def conditions(client: dict[str, Any]) -> str:
    """The repairs and shapes that the client was run with."""
    parts = [f"{kind} {','.join(client[kind])}" for kind in ("repair", "shape") if client.get(kind)]
    return f", with {' and '.join(parts)}" if parts else ""


_MOST: Final = 50
"""The maximum number of annotations; GitHub shows ten of each kind."""
_ROWS: Final = 200


def workflow_commands(report: dict[str, Any]) -> list[str]:
    """Workflow commands: an error for each required case that failed, a warning for any other.

    https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
    """
    found: list[str] = []
    for client in report["clients"]:
        for case in worst_first(client["cases"]):
            if case["grade"] in (Grade.FAILED, Grade.HARNESS_FAILURE):
                level = "error" if case["required"] else "warning"
                title = _property(f"{client['name']}: {case['id']}")
                found.append(f"::{level} title={title}::{_data(f'{_annotation(case)} ({case["rerun"]})')}")
    return found[:_MOST]


def summary(report: dict[str, Any]) -> str:
    """Markdown for `GITHUB_STEP_SUMMARY`."""
    return "\n".join(line for client in report["clients"] for line in _client_section(client)) + "\n"


def _client_section(client: dict[str, Any]) -> Iterator[str]:
    yield f"### {_cell(client['name'])} ({_cell(client['protocol'] or 'no protocol')}{_cell(conditions(client))})"
    yield ""
    yield counts(client)
    yield ""
    shown = [case for case in worst_first(client["cases"]) if case["grade"] not in (Grade.OK, Grade.SKIPPED)]
    rows = [_row(case) for case in shown[:_ROWS]]
    if len(shown) > _ROWS:
        rows.append(["…", "", f"{len(shown) - _ROWS} more", "", ""])
    yield from table(("grade", "required", "case", "why", "run it again"), rows) if rows else ()
    yield ""


def _row(case: dict[str, Any]) -> list[str]:
    required = "yes" if case["required"] else "no"
    cells = [case["grade"], required, case["id"], _annotation(case), f"`{case['rerun']}`"]
    return [*map(_cell, cells)]


def _annotation(case: dict[str, Any]) -> str:
    return ": ".join(filter(None, [case["reason"], case["message"]])) or str(case["grade"])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _cell(text: str) -> str:
    """A text in a cell of a table: without bars and markup."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace("|", "\\|")


_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: dict[str, Any]) -> str:
    """The document; its shape is that of https://github.com/testmoapp/junitxml."""
    root = Element("testsuites", name="toolstream check")
    for client in report["clients"]:
        _suite(root, client, report["started"])
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    root.set("time", f"{report['seconds']:.3f}")
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, client: dict[str, Any], started: str) -> None:
    suite = SubElement(root, "testsuite", name=_xml_text(client["name"]), timestamp=started.removesuffix("Z"))
    for case in client["cases"]:
        _testcase(suite, client["name"], case)
    suite.set("tests", str(len(client["cases"])))
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", f"{sum(case['seconds'] for case in client['cases']):.3f}")


def _testcase(suite: Element, client: str, case: dict[str, Any]) -> None:
    protocol = case["id"].partition("/")[0]
    attributes = {"classname": _xml_text(f"{client}.{protocol}.{case['kind']}"), "name": _xml_text(case["name"])}
    one = SubElement(suite, "testcase", attributes, time=f"{case['seconds']:.3f}")
    why = _xml_text(": ".join(filter(None, [case["reason"], case["message"]])))
    details = _xml_text(f"{case['title']}\nto run it again: {case['rerun']}")
    match case["grade"]:
        case Grade.FAILED if case["required"]:
            SubElement(one, "failure", message=why, type=_xml_text(case["reason"] or "failed")).text = details
        case Grade.FAILED:
            SubElement(one, "skipped", message=f"optional, and failed: {why}")
        case Grade.HARNESS_FAILURE:
            SubElement(one, "error", message=why, type="harness-failure").text = details
        case Grade.UNKNOWN | Grade.CALL_REJECTED:
            SubElement(one, "skipped", message=f"{case['grade']}: {why}")
        case Grade.SKIPPED:
            SubElement(one, "skipped", message=why)
    if case["output"]:
        SubElement(one, "system-out").text = _xml_text(case["output"])


def _xml_text(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
