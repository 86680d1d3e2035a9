"""`toolstream extract`: fixtures from whatever was saved. Knows the options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.cli.errors import UsageError
from toolstream_core.defects.table import named

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace) -> int:
    """Extract, list what was written and what was left out, and give the exit code."""
    from toolstream_core.cli.extraction import Extraction, Wanted
    from toolstream_core.redaction import TextMode, redaction_of

    try:
        redaction = redaction_of(args.secret, TextMode(args.text))
    except ValueError as error:
        raise UsageError(f"--secret: {error}") from error
    if args.output.exists() and not args.output.is_dir():
        raise UsageError(f"-o: {args.output} is not a folder. Expected a folder for the fixtures")
    selected = None if args.select is None else frozenset().union(*args.select)
    ignored = frozenset().union(*(args.ignore or ()))
    wanted = Wanted(when=args.when, codes=(selected or named(["all"])) - ignored, chosen=selected is not None)
    work = Extraction(args.output, args.format, redaction, wanted, name=args.name, force=args.force)
    work.read(args.paths, args.request)
    return work.write(each_flow=args.each == "flow")
