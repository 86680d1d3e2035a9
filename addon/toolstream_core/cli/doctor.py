"""`toolstream doctor`: reports secrets and stale expectations in kept files, with fixes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from toolstream_core.cli.arguments import requested_redaction
from toolstream_core.cli.output import printed_to, say
from toolstream_core.errors import ToolstreamError
from toolstream_core.printable import counted
from toolstream_core.saved import demo
from toolstream_core.saved.examine import Problem, examine, fix
from toolstream_core.saved.files import files

VERSION = 1


def run(args: argparse.Namespace) -> int:
    """Examine all files, print the problems, and return the exit code."""
    named = [demo.located(path) for path in args.paths]
    missing = [path for path, place in zip(args.paths, named, strict=True) if not place.exists()]
    if missing:
        raise ToolstreamError(demo.unknown(missing[0]) or f"no such file or directory: {missing[0]}")
    redaction = requested_redaction(args)
    paths = [Path(file) for path in named for file in files(str(path))]
    problems = [problem for path in paths for problem in examine(path, redaction)]
    with_secrets = dict.fromkeys(problem.file for problem in problems if problem.kind == "secret")
    fixed = [file for file in with_secrets if fix(Path(file), redaction)] if args.fix else []
    problems = [problem for problem in problems if problem.kind != "secret" or problem.file not in fixed]
    for file in [one for one in with_secrets if one not in fixed] if args.fix else ():
        say(f"{file} was not changed: --fix rewrites only complete HTTP flow files")
    with printed_to(args.output, args.paths, force=args.force):
        _print(problems, fixed, len(paths), as_json=args.format == "json")
    return int(bool(problems))


def _print(problems: Sequence[Problem], fixed: Sequence[str], count: int, *, as_json: bool) -> None:
    if as_json:
        document: dict[str, Any] = {
            "version": VERSION,
            "files": count,
            "fixed": list(fixed),
            "problems": [{**asdict(problem), "counts": True} for problem in problems],
        }
        print(json.dumps(document, indent=2))
        return
    for file in fixed:
        print(f"{file}: rewritten without secrets")
    for problem in problems:
        flow = "" if problem.flow is None else f"#{problem.flow}"
        where = f" {problem.where}:" if problem.where else ""
        print(f"{problem.file}{flow}:{where} {problem.kind}: {problem.message}\n    {problem.advice}")
    print(f"{counted(count, 'file')}, {counted(len(problems), 'problem')}")
