"""The report of a check as plain JSON. Shape: `docs/check.schema.json`."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.checking.grading import Grade, Reason, Result
from toolstream_core.checking.skip import Skip
from toolstream_core.redact import redacted
from toolstream_core.redaction import Redaction, redacted_text
from toolstream_core.verdict import Outcome
from toolstream_core.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.checking.case import Case
    from toolstream_core.checking.plan import Plan
    from toolstream_core.checking.run import Client, Run
    from toolstream_core.testing.exchanges import Exchange

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
    """The whole report; `started` is a time in ISO 8601."""
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
    """One case, without secrets. `runs` are all runs of it, `run` the one that was graded so.

    `advice` are options of `check` under which the client passed the case that it failed.
    """
    exchanges = [] if run is None else [one for one in run.exchanges if one.request.protocol is not None]
    secrets = tuple({secret: None for one in run.exchanges for secret in one.request.secrets}) if run else ()
    told = {
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
    clean: dict[str, Any] = json.loads(redacted_text(json.dumps(told), Redaction(), secrets))
    return clean


def current(report: dict[str, Any]) -> dict[str, Any] | None:
    """A report of this version or of version 1, in the terms of this version; `None` for anything else."""
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
    """Give a case of an earlier release the reason of this one."""
    if (reason := case.get("reason")) in _RENAMED:
        case["reason"] = _RENAMED[reason]


def result_of(case: dict[str, Any]) -> Result:
    """The result that `case_object` was given."""
    return Result(Grade(case["grade"]), _reason(case["reason"]), case["message"])


def _reason(text: str | None) -> Reason | Skip | None:
    """The reason in a report of this version or of version 1."""
    if text is None:
        return None
    return Skip(text) if text in Skip else Reason(text)


def _turn(exchange: Exchange, exchanges: Sequence[Exchange]) -> dict[str, Any]:
    verdict = exchange.verdict
    return {
        "number": exchange.request.number,
        "status": exchange.status,
        "broken": exchange.broken,
        "events": list(exchange.sent),
        "truncated": exchange.truncated,
        "calls": [{**asdict(call), "events": list(call.events)} for call in exchange.calls],
        "findings": [asdict(finding) for finding in exchange.findings],
        "request": _request(exchange, exchanges),
        "verdict": None if verdict is None else _listed(asdict(verdict)),
    }


def _request(exchange: Exchange, exchanges: Sequence[Exchange]) -> dict[str, Any] | None:
    """The calls and results that the next request adds; `None` without a next request."""
    number = None if exchange.verdict is None else exchange.verdict.request
    later = [one for one in exchanges if one.request.number > exchange.request.number]
    after = next((one for one in later if number in {None, one.request.number}), None)
    if after is None:
        return None
    before = exchange.request
    calls = after.request.shown.calls[len(before.shown.calls) :]
    results = after.request.shown.results[len(before.shown.results) :]
    return {
        "calls": [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in calls],
        "results": [{"id": one.id, "name": one.name, "text": one.text} for one in results],
    }


def _listed(value: Any) -> Any:
    """The same with lists in the place of tuples."""
    if isinstance(value, dict):
        return {key: _listed(inner) for key, inner in value.items()}
    return [_listed(inner) for inner in value] if isinstance(value, list | tuple) else value
