"""`toolstream view`: what a client did with saved responses, as one page."""

from __future__ import annotations

import sys
import webbrowser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from toolstream_core.cli.errors import UsageError
from toolstream_core.cli.inspection import CLEAN, UNREADABLE
from toolstream_core.cli.output import Output, check_outputs
from toolstream_core.cli.reading import Reading, shown_name
from toolstream_core.fixtures.atomic import write_atomic
from toolstream_core.sources.files import READABLE, STDIN, answers
from toolstream_core.view.assemble import document_text, page
from toolstream_core.view.document import ViewBuilder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from toolstream_core.sources.saved import Saved


def run(args: argparse.Namespace) -> int:
    """Write the page, or the document. Raises `UsageError`."""
    as_page = args.format == "html"
    if args.output is None and as_page:
        raise UsageError("missing -o FILE. Expected, for example: toolstream view captures -o page.html")
    if args.open and (args.output is None or not as_page):
        raise UsageError("--open needs a page: -o FILE without --format json")
    if args.output is not None:
        inputs = [Path(path) for path in args.paths if path != STDIN]
        check_outputs([Output(args.output, "-o", args.force)], inputs)
    builder = ViewBuilder(raw=args.raw)
    reading = Reading(partial(answers, read_flows=_read_flows, request=args.request), builder.take)
    for path in args.paths:
        reading.read(path)
    if builder.empty:
        if not reading.failed:
            raise UsageError(f"{', '.join(args.paths)}: no LLM response found. Expected {READABLE}")
        return UNREADABLE
    document = builder.document([shown_name(path) for path in args.paths])
    _write(page(document) if as_page else document_text(document), args)
    return UNREADABLE if reading.failed else CLEAN


def _write(text: str, args: argparse.Namespace) -> None:
    if args.output is None:
        sys.stdout.write(f"{text}\n")
        return
    write_atomic(args.output, f"{text}\n".encode("utf-8", "backslashreplace"), replace=args.force)
    if args.open:
        webbrowser.open(args.output.resolve().as_uri())


def _read_flows(stream: BinaryIO, source: str) -> Iterator[Saved]:
    from toolstream_core.proxy import flowfile

    return flowfile.answers(stream, source)
