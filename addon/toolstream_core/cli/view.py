"""`toolstream view`: shows how a client interpreted saved responses, on one page."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from toolstream_core.cli.arguments import CANNOT, OK
from toolstream_core.cli.output import Output, Reading, check_outputs, shown_name
from toolstream_core.errors import ToolstreamError
from toolstream_core.model import ABSENT, Json
from toolstream_core.saved.files import READABLE, STDIN, responses, write_atomic
from toolstream_core.view.assemble import document_text, page
from toolstream_core.view.document import ViewBuilder


def run(args: argparse.Namespace) -> int:
    """Write the page, or the document. Raises `ToolstreamError`."""
    if args.open and (args.output is None or args.format == "json"):
        raise ToolstreamError("--open needs a page: -o FILE without --format json")
    nothing = f"{', '.join(args.paths)}: no LLM response found. Expected {READABLE}"
    code = write_view(args, args.paths, ViewBuilder(raw=args.raw), nothing, args.request)
    if args.open and code == OK:
        webbrowser.open(args.output.resolve().as_uri())
    return code


def write_view(
    args: argparse.Namespace, paths: Sequence[str], builder: ViewBuilder, nothing: str, request: Json = ABSENT
) -> int:
    """Write the result of `builder` for the responses in files, and return the exit code.

    Raises `ToolstreamError`, with the message `nothing` if it takes none of them.
    """
    as_page = args.format == "html"
    if args.output is None and as_page:
        raise ToolstreamError(
            f"missing -o FILE. Expected, for example: toolstream {args.command} {paths[0]} -o page.html"
        )
    if args.output is not None:
        inputs = [Path(path) for path in paths if path != STDIN]
        check_outputs([Output(args.output, "-o", args.force)], inputs)
    reading = Reading(partial(responses, request=request), builder.take)
    for path in paths:
        reading.read(path)
    if builder.empty:
        if not reading.failed:
            raise ToolstreamError(nothing)
        return CANNOT
    document = builder.document([shown_name(path) for path in paths])
    text = f"{page(document) if as_page else document_text(document)}\n"
    if args.output is None:
        sys.stdout.write(text)
    else:
        write_atomic(args.output, text.encode("utf-8", "backslashreplace"), replace=args.force)
    return CANNOT if reading.failed else OK
