"""`toolstream inspect`: saved streams read again, told, and judged by the exit code. Knows the options."""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from toolstream_core.cli.inspection import Inspection
from toolstream_core.cli.printer import JsonPrinter, TextPrinter
from toolstream_core.defects.table import UnknownDefectError, named
from toolstream_core.model import ABSENT
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.report.paint import colour, plain, wants_colour
from toolstream_core.sources.files import STDIN, answers
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.cli.printer import Printer
    from toolstream_core.model import Finding, Json
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.sources.saved import Saved


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "inspect",
        help="read saved streams: flow files, HAR files, bare bodies, folders",
        description="Read saved streams and tell their tool calls and what is wrong with them.",
        epilog="Exit code: 0 clean, 1 findings of severity error or warning, 2 usage or unreadable input.",
    )
    told = "a mitmproxy flow file, a HAR file, a bare SSE, NDJSON or JSON body, a folder of them, or - for stdin"
    parser.add_argument("paths", nargs="+", metavar="PATH", help=told)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text (default) or json")
    told = "text: tell every event that concerns tool calls (default: where there is a single stream)"
    parser.add_argument("--chunks", action=argparse.BooleanOptionalAction, help=told)
    told = "the request's JSON body, for bare bodies: the tools it offers are evidence"
    parser.add_argument("--request", type=request_file, default=ABSENT, metavar="FILE", help=told)
    told = "read everything as this protocol instead of recognising it"
    parser.add_argument("--dialect", choices=[dialect.name for dialect in PROTOCOLS], help=told)
    for name, does in (("--select", "tell only these findings"), ("--ignore", "do not tell these findings")):
        told = f"{does}: codes, names or families, with commas between them; may be repeated"
        parser.add_argument(name, action="append", type=defects, metavar="DEFECT", help=told)
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 also where there are findings")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read everything, whatever of it cannot be read, and give the exit code."""
    inspection = Inspection(
        _printer(args),
        partial(answers, read_flows=_read_flows, request=args.request),
        _keeps(args.select, args.ignore),
        _dialects(args.dialect),
    )
    for path in args.paths:
        inspection.read(path)
    return inspection.close(exit_zero=args.exit_zero)


def _printer(args: argparse.Namespace) -> Printer:
    live = args.paths == [STDIN]
    write = partial(print, flush=live)
    if args.format == "json":
        return JsonPrinter(write)
    terminal = sys.stdout is not None and sys.stdout.isatty()
    paint = colour if wants_colour(terminal=terminal, environment=dict(os.environ)) else plain
    return TextPrinter(write, chunks=True if live and args.chunks is None else args.chunks, paint=paint)


def _read_flows(stream: BinaryIO, source: str) -> Iterator[Saved]:
    from toolstream_core.proxy import flowfile

    return flowfile.answers(stream, source)


def _dialects(name: str | None) -> Sequence[WireProtocol]:
    """All, or one made to claim every path and to know every frame as its own."""
    return (
        tuple(
            replace(dialect, paths=re.compile(""), recognise=lambda event, payload: True)  # noqa: ARG005
            for dialect in PROTOCOLS
            if dialect.name == name
        )
        or PROTOCOLS
    )


def _keeps(select: list[frozenset[str]] | None, ignore: list[frozenset[str]] | None) -> Callable[[Finding], bool]:
    wanted = named(["all"]) if select is None else frozenset().union(*select)
    kept = wanted.difference(*(ignore or ()))
    return lambda finding: finding.code in kept


def defects(text: str) -> frozenset[str]:
    """The codes that an option's value names."""
    try:
        return named(word for part in text.split(",") if (word := part.strip()))
    except UnknownDefectError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def request_file(path: str) -> Json:
    """The request in a file, as an option's value."""
    try:
        request = parse(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{path} cannot be read: {error}") from error
    if not isinstance(request, dict):
        raise argparse.ArgumentTypeError(f"{path} is no request: that would be a JSON object, as it was sent")
    return request
