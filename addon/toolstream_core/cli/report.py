"""`toolstream report`: a bug report on saved answers, as Markdown. Knows the options."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from toolstream_core.cli.output import Output, OutputError, check_outputs
from toolstream_core.cli.reproduction import turn_of
from toolstream_core.defects.table import ROWS, UnknownDefectError, named
from toolstream_core.engine.session import read_body
from toolstream_core.engine.sink import Sink
from toolstream_core.sources.files import STDIN
from toolstream_core.sources.saved import UnreadableError
from toolstream_core.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.cli.judging import SavedVerdict
    from toolstream_core.fixtures.answers import Answered
    from toolstream_core.model import Event, EventContent, Fragment
    from toolstream_core.report.reported import ReportedAnswer

DONE, CANNOT = 0, 2
"""Exit codes."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    told = "write a bug report on saved answers, as Markdown that fits into an issue"
    parser = subparsers.add_parser("report", help=told, description=told.capitalize() + ".")
    parser.add_argument("flow", type=Path, metavar="FLOW", help="a flow file; `toolstream shrink` makes it small first")
    told = "report only these findings: a code, name or family; may be repeated"
    parser.add_argument("--finding", action="append", type=_codes, metavar="NAME", help=told)
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write it (default: -, which is stdout)")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the report."""
    from toolstream_core.fixtures import FixtureError
    from toolstream_core.fixtures.atomic import write_atomic
    from toolstream_core.report.markdown import bug_report

    output = None if args.output in {None, STDIN} else Path(args.output)
    try:
        check_outputs([] if output is None else [Output(output, "-o", args.force)], [args.flow])
        answers = reported([args.flow])[args.flow]
    except UnreadableError as error:
        return _cannot(f"{args.flow} {error}")
    except (FixtureError, OutputError) as error:
        return _cannot(str(error))
    if args.finding:
        answers = _narrowed(answers, frozenset().union(*args.finding))
        if not answers:
            return _cannot(
                f"{args.flow} does not show {_names(args.finding)}; `toolstream inspect` tells what it shows"
            )
    report = bug_report(answers, args.flow.name, __version__)
    if output is None:
        print(report, end="")
    else:
        write_atomic(output, report.encode(), replace=args.force)
    return DONE


def reported(flows: Sequence[Path]) -> dict[Path, list[ReportedAnswer]]:
    """The answers of flow files of one run as reports show them. Raises `UnreadableError` and `FixtureError`."""
    from toolstream_core.cli.judging import verdicts_in
    from toolstream_core.fixtures.answers import read_answers

    answers = {flow: read_answers(flow) for flow in flows}
    verdicts = verdicts_in(flows)
    return {flow: [_reported(one, verdicts.get(one.fixture.source)) for one in of] for flow, of in answers.items()}


class _Fragments(Sink):
    """Keeps the tool-call entries of an answer."""

    live = True
    each = True

    def __init__(self) -> None:
        self.seen: list[Fragment] = []

    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        self.seen += said.fragments


def _reported(one: Answered, verdict: SavedVerdict | None) -> ReportedAnswer:
    from toolstream_core.fixtures.answers import as_client_got
    from toolstream_core.report.reported import ReportedAnswer

    caused, got = one.fixture.caused, as_client_got(one)
    fixture = got.fixture
    turn = turn_of(one.number, fixture)
    fragments = _Fragments()
    read_body((chunk.data for chunk in turn.chunks), turn.exchange, broken=turn.broken, sinks=[fragments])
    return ReportedAnswer(
        record=fixture.record,
        frames=[piece.frame for piece in turn.pieces],
        fragments=fragments.seen,
        path=fixture.path,
        request=fixture.request,
        status=fixture.status,
        recorded=datetime.fromtimestamp(one.flow.request.timestamp_start, UTC).date().isoformat(),
        caused=caused.specs,
        provider=list(dict.fromkeys(found.name for found in one.fixture.record.findings)) if got is not one else None,
        left=caused.findings if caused.specs else None,
        client="" if verdict is None else verdict.about_client,
        understood=verdict is None or verdict.verdict.understood,
    )


def _narrowed(answers: Sequence[ReportedAnswer], codes: frozenset[str]) -> list[ReportedAnswer]:
    for answer in answers:
        record = answer.record
        record.findings = [finding for finding in record.findings if finding.code in codes]
    return [answer for answer in answers if answer.record.findings]


def _names(asked: Sequence[frozenset[str]]) -> str:
    return " or ".join(row.name for row in ROWS if any(row.code in codes for codes in asked))


def _codes(text: str) -> frozenset[str]:
    try:
        return named([text])
    except UnknownDefectError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _cannot(message: str) -> int:
    print(f"toolstream report: {message}", file=sys.stderr)
    return CANNOT
