"""Runs `toolstream check` on a client, raw and with repair, and keeps the results."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from matrixlib.clients import ROOT, command_of, installed
from matrixlib.toolchains import InstallError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matrixlib.clients import MatrixClient


HOW: Final[dict[str, tuple[str, ...]]] = {"raw": (), "safe": ("--repair", "safe")}
"""The two runs of each client, and their options of `toolstream check`."""
RERUN: Final = {**HOW, "whole_calls": ("--repair", "safe", "--shape", "whole-calls")}
"""The three runs of the cases that are graded by the results of tools."""
WRITTEN: Final = ("docs/clients.md", "tests/clients/measured.jsonl")
"""The files that a measurement writes."""
_USAGE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of all runs."""

    cache: Path
    faults: str | None
    jobs: int
    timeout: float
    resume: bool
    command_line: str
    """The command line for the page."""


def run(client: MatrixClient, options: Options) -> str | None:
    """Install a client and run its cases. Returns why it could not be run, or `None`."""
    which = [] if options.faults is None else ["--case", options.faults]
    return _run(client, options, HOW, which, results_of(client, options.cache))


def rerun(client: MatrixClient, options: Options, cases: Sequence[str]) -> str | None:
    """Run only these cases, in three ways. Returns why they could not be run, or `None`."""
    which = [word for case in cases for word in ("--case", case)]
    return _run(client, options, RERUN, which, results_of(client, options.cache) / "rerun") if cases else None


def _run(
    client: MatrixClient, options: Options, ways: Mapping[str, Sequence[str]], which: Sequence[str], folder: Path
) -> str | None:
    if not options.resume:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        environment = installed(client.group, options.cache)
        command = command_of(client, environment)
        with client.serving(environment):
            for how, words in ways.items():
                _check(client, command, folder / f"{how}.json", [*words, *which], options)
        why = None
    except InstallError as error:
        why = str(error)
    about = {
        "version": client.version,
        "not_run": why,
        "commit": ", ".join(dict.fromkeys([*earlier_commits(folder), commit()])),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "command": options.command_line,
        "faults": options.faults,
    }
    (folder / "about.json").write_text(json.dumps(about, indent=1))
    return why


def results_of(client: MatrixClient, cache: Path) -> Path:
    """The folder of a client's results."""
    return cache / "results" / client.name


def kept(client: MatrixClient, cache: Path) -> dict[str, Any] | None:
    """A client's results: `about`, and the report of each run; `None` if it was never run."""
    return _kept(results_of(client, cache), HOW)


def kept_rerun(client: MatrixClient, cache: Path) -> dict[str, Any] | None:
    """The results of the cases that are graded by the results of tools."""
    return _kept(results_of(client, cache) / "rerun", RERUN)


def _kept(folder: Path, ways: Mapping[str, Sequence[str]]) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = {"about": json.loads((folder / "about.json").read_text(encoding="utf-8"))}
        if found["about"].get("not_run") is None:
            for how in ways:
                found[how] = json.loads((folder / f"{how}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def commit() -> str:
    """The current commit, with a mark if files differ from it, except for the written files."""
    named = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--", ".", *(f":!{path}" for path in WRITTEN))
    return f"{named or 'unknown'}{'-dirty' if changed else ''}"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def earlier_commits(folder: Path) -> list[str]:
    """The commits of a client's results that a resumed run continues."""
    found = _kept(folder, {})
    return [] if found is None else str(found["about"]["commit"]).split(", ")


def _check(client: MatrixClient, command: list[str], target: Path, words: Sequence[str], options: Options) -> None:
    """One run with an empty home folder. Raises `InstallError` without a report."""
    listed = target.with_name("clients.toml")
    home = target.with_name("home")
    home.mkdir(exist_ok=True)
    listed.write_text(
        f"[clients.{json.dumps(client.name)}]\ncommand = {json.dumps(command)}\n"
        f"env = {{ HOME = {json.dumps(str(home))} }}\n"
    )
    command_line = [str(Path(sys.executable).with_name("toolstream")), "check", "--matrix", str(listed), "--quiet"]
    command_line += ["--format", "json", "-o", str(target), "--resume", str(target.with_suffix(".state")), *words]
    command_line += ["--jobs", str(options.jobs), "--timeout", f"{options.timeout:g}"]
    done = subprocess.run(command_line, cwd=home, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode >= _USAGE or not target.exists():
        raise InstallError(f"toolstream check: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")


_NAMES: Final = {"raw": "{}", "safe": "{}, repaired", "whole_calls": "{}, whole calls"}


def combined(streams: Iterable[tuple[MatrixClient, dict[str, Any]]]) -> dict[str, Any] | None:
    """All runs (`run.kept`) as one report with a client for each run; `None` without runs."""
    documents = [
        (client.name, how, found[how])
        for client, found in streams
        if found["about"]["not_run"] is None
        for how in RERUN
        if how in found
    ]
    if not documents:
        return None
    listed = [{**document["clients"][0], "name": _NAMES[how].format(name)} for name, how, document in documents]
    seconds = round(sum(document["seconds"] for _, _, document in documents), 1)
    return {**documents[0][2], "seconds": seconds, "clients": listed}
