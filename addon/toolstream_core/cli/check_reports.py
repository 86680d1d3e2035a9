"""Where the report of a check goes: the terminal, files, GitHub Actions."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from toolstream_core.checking.github import summary, workflow_commands
from toolstream_core.checking.junit import junit
from toolstream_core.checking.table import comparison, lines
from toolstream_core.cli.output import missing_folder

if TYPE_CHECKING:
    import argparse


class ReportError(ValueError):
    """A report that cannot be written; the message says why."""


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports that were asked for."""

    json: str | None
    junit: Path | None
    html: Path | None
    github: bool
    raw: dict[str, Any] | None
    """The report of an earlier run without repair."""

    @classmethod
    def of(cls, args: argparse.Namespace) -> Self:
        """What the arguments ask for. Raises `ReportError` for what could not be written, or read, in the end."""
        files = [Path(args.json)] if args.json not in {None, "-"} else []
        for path in (*files, args.junit, args.html):
            if path is not None and (missing := missing_folder(path)) is not None:
                raise ReportError(missing)
        return cls(args.json, args.junit, args.html, args.github, _earlier(args.compare))

    def write(self, report: dict[str, Any]) -> None:
        """Write all of them. Raises `OSError`."""
        from toolstream_core.fixtures.atomic import write_atomic

        text = json.dumps(report, ensure_ascii=False, indent=1) + "\n"
        to_stdout = self.json == "-"
        if self.json is not None and not to_stdout:
            write_atomic(Path(self.json), text.encode("utf-8", "surrogatepass"))
        if self.junit is not None:
            write_atomic(self.junit, junit(report).encode())
        if self.html is not None:
            from toolstream_core.report.check_page import page

            write_atomic(self.html, page(report, self.raw).encode("utf-8", "replace"))
        told = sys.stderr if to_stdout else sys.stdout
        for line in lines(report):
            print(line, file=told)
        for line in comparison(self.raw, report) if self.raw is not None else ():
            print(line, file=told)
        if self.github:
            _write_github(report, told)
        if to_stdout:
            print(text, end="")


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
    if not isinstance(report, dict) or report.get("version") != 1 or "clients" not in report:
        raise ReportError(f"--compare: {path} is no report of `toolstream check --json`")
    return report
