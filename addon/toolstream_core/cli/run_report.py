"""The bug report on what passed in `toolstream run`, and the flows that reproduce it beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.cli.errors import UsageError
from toolstream_core.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def outputs_of(report: Path, *, force: bool) -> list[Output]:
    """The report and the flow file beside it. Raises `UsageError` where these cannot be two files."""
    if not report.name:
        raise UsageError(f"--report: {report} is a folder; give a file")
    if report.suffix == ".flow":
        raise UsageError(f"--report: {report} is the name of a flow file. Expected a Markdown file, such as report.md")
    return [Output(path, "--report", force) for path in (report, report.with_suffix(".flow"))]


def write_report(report: Path, captured: Sequence[Path], *, replace: bool) -> list[str]:
    """Write it on the flows with which anything went wrong, or on all; what there is to say of it.

    Raises `OSError`.
    """
    from toolstream_core.cli.report import reported
    from toolstream_core.fixtures import FixtureError
    from toolstream_core.fixtures.atomic import write_atomic
    from toolstream_core.report.markdown import bug_report
    from toolstream_core.sources.saved import UnreadableError
    from toolstream_core.version import __version__

    try:
        answers = reported(captured)
    except (FixtureError, UnreadableError) as error:
        return [f"no report: {error}"]
    shown = [path for path, of in answers.items() if any(answer.is_telling for answer in of)]
    shown = shown or [path for path, of in answers.items() if of]
    if not shown:
        return ["no report: there was no LLM response"]
    flows = report.with_suffix(".flow")
    write_atomic(flows, b"".join(path.read_bytes() for path in shown), replace=replace)
    text = bug_report([answer for path in shown for answer in answers[path]], flows.name, __version__)
    write_atomic(report, text.encode(), replace=replace)
    return [f"report: {report}, with {flows}"]
