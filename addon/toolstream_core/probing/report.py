"""A probe's result as text, Markdown or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.model import Severity
from toolstream_core.printable import printable
from toolstream_core.report.jsonform import finding_object
from toolstream_core.report.layout import code, escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolstream_core.probing.probe import Probe, Seen, Verdict

VERSION: Final = 1
FORMATS: Final = ("text", "markdown", "json")


def printed(probe: Probe, form: str, hide: Callable[[str], str]) -> str:
    """The result in one of `FORMATS`; `hide` takes secrets out of what the provider said."""
    if form == "json":
        return json.dumps(document(probe, hide), ensure_ascii=False)
    lines = _markdown(probe, hide) if form == "markdown" else _text(probe, hide)
    return "\n".join(lines)


def document(probe: Probe, hide: Callable[[str], str]) -> dict[str, Any]:
    """Plain JSON objects."""
    return {
        "version": VERSION,
        "url": hide(probe.target.url(streamed=True)),
        "protocol": probe.target.protocol,
        "model": probe.target.model,
        "times": probe.times,
        "found": probe.found,
        "cases": [
            {
                "case": one.case,
                "streamed": len(one.streamed),
                "whole": len(one.whole),
                "varying": one.varying,
                "differences": [{"streamed": diff.streamed, "what": hide(diff.what)} for diff in one.differences],
                "defects": [{**finding_object(seen.finding, hide), "answers": seen.answers} for seen in one.defects],
                "failures": [hide(failure) for failure in one.failures],
            }
            for one in probe.verdicts
        ],
    }


def _text(probe: Probe, hide: Callable[[str], str]) -> Iterator[str]:
    for one in probe.verdicts:
        yield f"{one.case}: {_sum(one)}"
        for diff in one.differences:
            yield f"  streamed {diff.streamed + 1}: {printable(hide(diff.what))}"
        for seen in one.defects:
            yield f"  {printable(_defect(seen, one, hide))}"
        for failure in one.failures:
            yield f"  request failed, {printable(hide(failure))}"
    yield _result(probe)


def _markdown(probe: Probe, hide: Callable[[str], str]) -> Iterator[str]:
    yield f"# {probe.target.protocol} at {escaped(probe.target.host)}: calls with and without a stream\n"
    yield "| | |\n|---|---|"
    yield f"| endpoint | {code(hide(probe.target.url(streamed=True)))} |"
    yield f"| model | {code(probe.target.model or '')} |"
    yield f"| requests | {len(probe.verdicts)} prompts, {probe.times} times each, streamed and not streamed |\n"
    for one in probe.verdicts:
        yield f"## {one.case}\n"
        yield f"{_sum(one).capitalize()}.\n"
        yield from (f"- streamed response {diff.streamed + 1}: {escaped(hide(diff.what))}" for diff in one.differences)
        yield from (f"- {escaped(_defect(seen, one, hide))}" for seen in one.defects)
        yield from (f"- request failed, {escaped(hide(failure))}" for failure in one.failures)
        if one.differences or one.defects or one.failures:
            yield ""
    yield f"{_result(probe).capitalize()}."


def _sum(one: Verdict) -> str:
    compared = sum(resolved.failure is None for resolved in one.streamed)
    right = compared - len({diff.streamed for diff in one.differences})
    if not compared or all(resolved.failure for resolved in one.whole):
        return "nothing to compare"
    told = f"{right} of {compared} streamed responses have the calls of the unstreamed ones"
    return f"{told}; the unstreamed ones differ from each other" if one.varying else told


def _defect(seen: Seen, one: Verdict, hide: Callable[[str], str]) -> str:
    finding = seen.finding
    where = f"in {seen.answers} of {len(one.streamed)} streamed responses"
    return f"{finding.severity} {finding.code} {finding.name} {where}: {hide(finding.message)}"


def _result(probe: Probe) -> str:
    differences = sum(len(one.differences) for one in probe.verdicts)
    codes = {seen.finding.severity: set[str]() for one in probe.verdicts for seen in one.defects}
    for one in probe.verdicts:
        for seen in one.defects:
            codes[seen.finding.severity].add(seen.finding.code)
    counts = [f"{_plural(len(codes.get(severity, ())), f'{severity}')}" for severity in Severity]
    failures = sum(len(one.failures) for one in probe.verdicts)
    tail = f", {_plural(failures, 'request')} failed" if failures else ""
    return f"{_plural(differences, 'difference')}; {', '.join(counts)} in the streams{tail}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
