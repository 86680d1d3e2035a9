"""Where the report of a check goes: the terminal, files, GitHub Actions."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TextIO

from toolstream_core.checking.document import current
from toolstream_core.checking.github import summary, workflow_commands
from toolstream_core.checking.junit import junit
from toolstream_core.checking.table import comparison, lines
from toolstream_core.cli.errors import UsageError
from toolstream_core.cli.output import Output, check_outputs
from toolstream_core.report.paint import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_LEAST_WIDTH: Final = 60
"""Columns that are taken for granted."""
_BEGINS: Final = {
    "-o": re.compile(rb'\s*\{\s*"version": ?\d+,\s*"toolstream": '),
    "--junit": re.compile(rb'.{,99}<testsuites name="toolstream check"', re.DOTALL),
    "--html": re.compile(rb".{,999}<title>toolstream check: ", re.DOTALL),
}
"""How the reports of each option begin."""


class ReportError(ValueError):
    """A report that cannot be written; the message says why."""


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports that were asked for."""

    json: bool
    """Whether the report is JSON; else text."""
    output: Path | None
    """Where it goes; `None` is standard output."""
    junit: Path | None
    html: Path | None
    github: bool
    raw: dict[str, Any] | None
    """The report of an earlier run without repair."""

    @classmethod
    def of(cls, args: argparse.Namespace) -> Self:
        """What the arguments ask for. Raises `UsageError`, and `ReportError` for a report that cannot be read."""
        output, html = args.output, args.html
        if args.format == "html":
            if output is None or html is not None:
                raise UsageError("--format html needs -o FILE, and no --html FILE beside it")
            output, html = None, output
        paths = {"-o": output, "--junit": args.junit, "--html": html}
        outputs = [
            Output(path, option, args.force, partial(_is_report, begins=_BEGINS[option]))
            for option, path in paths.items()
            if path is not None
        ]
        if args.resume is not None:
            outputs.append(Output(args.resume, "--resume", force=None, is_own=Path.is_file))
        check_outputs(outputs, [one for one in (*args.flows, args.compare, args.matrix) if isinstance(one, Path)])
        return cls(args.format == "json", output, args.junit, html, args.github, _earlier(args.compare))

    def announce(self, line: str) -> None:
        """Print a line before the report."""
        print(printable(line), file=self._told(), flush=True)

    def write(self, report: dict[str, Any], sessions: Sequence[dict[str, Any]] = ()) -> None:
        """Write all of them. `sessions` as for `check_page`. Raises `OSError`."""
        from toolstream_core.fixtures.atomic import write_atomic

        told = self._told()
        if self.junit is not None:
            write_atomic(self.junit, junit(report).encode(), replace=True)
        if self.html is not None:
            from toolstream_core.view.assemble import check_page

            page = check_page(report, self.raw, sessions)
            write_atomic(self.html, page.encode("utf-8", "backslashreplace"), replace=True)
        width = _width(told)
        text = [*lines(report, width), *(() if self.raw is None else comparison(self.raw, report, width))]
        document = json.dumps(report, ensure_ascii=False, indent=1)
        if self.output is not None:
            whole = f"{document if self.json else '\n'.join(text)}\n"
            write_atomic(self.output, whole.encode("utf-8", "surrogatepass"), replace=True)
        for line in text if self.json or self.output is None else ():
            print(line, file=told)
        if self.github:
            _write_github(report, told)
        if self.json and self.output is None:
            print(document)

    def _told(self) -> TextIO:
        """Where people read: standard output, unless it gets the JSON."""
        return sys.stderr if self.json and self.output is None else sys.stdout


def _is_report(path: Path, begins: re.Pattern[bytes]) -> bool:
    """Whether a file is empty or an earlier report."""
    with path.open("rb") as file:
        head = file.read(1200)
    return not head or begins.match(head) is not None


def _width(told: TextIO) -> int | None:
    """Columns of the terminal; `None` where it is none, so that nothing has to fit."""
    if not told.isatty():
        return None
    return max(shutil.get_terminal_size().columns, _LEAST_WIDTH)


def _write_github(report: dict[str, Any], told: Any) -> None:
    for line in workflow_commands(report):
        print(line, file=told)
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("a", encoding="utf-8", errors="replace") as file:
            file.write(summary(report))


def _earlier(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(f"--compare: {path} cannot be read: {error}") from error
    read = current(report) if isinstance(report, dict) else None
    if read is None:
        raise ReportError(f"--compare: {path} is not a report of `toolstream check --format json`")
    return read
