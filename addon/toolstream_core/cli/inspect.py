"""`toolstream inspect`: saved streams read again, told, and judged by the exit code. Knows the options."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from toolstream_core.cli.inspection import Inspection
from toolstream_core.cli.output import printed_to
from toolstream_core.cli.printer import JsonPrinter, TextPrinter
from toolstream_core.defects.table import named
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.report.paint import colour, plain, wants_colour
from toolstream_core.sources.files import STDIN, answers

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.cli.printer import Printer
    from toolstream_core.model import Finding
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.sources.saved import Saved


def run(args: argparse.Namespace) -> int:
    """Read everything, whatever of it cannot be read, and give the exit code."""
    inputs = [Path(path) for path in args.paths if path != STDIN]
    with printed_to(args.output, inputs, force=args.force):
        inspection = Inspection(
            _printer(args),
            partial(answers, read_flows=_read_flows, request=args.request),
            _keeps(args.select, args.ignore),
            _dialects(args.protocol),
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
