"""`toolstream view`: what a client did with saved responses, as one page."""

from __future__ import annotations

import json
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from toolstream_core.cli.errors import UsageError
from toolstream_core.cli.output import Output, check_outputs
from toolstream_core.fixtures.atomic import write_atomic
from toolstream_core.sources.files import READABLE, STDIN, answers, files
from toolstream_core.sources.saved import UnreadableError
from toolstream_core.view.document import ViewBuilder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from toolstream_core.sources.saved import Saved


def run(args: argparse.Namespace) -> int:
    """Write the page, or the document. Raises `UsageError`."""
    page_wanted = args.format == "html"
    if args.output is None and page_wanted:
        raise UsageError("missing -o FILE. Expected, for example: toolstream view captures -o page.html")
    if args.open and (args.output is None or not page_wanted):
        raise UsageError("--open needs a page: -o FILE without --format json")
    inputs = [Path(path) for path in args.paths if path != STDIN]
    if args.output is not None:
        check_outputs([Output(args.output, "-o", args.force)], inputs)
    document = _document(args)
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"
    if page_wanted:
        from toolstream_core.view.assemble import page

        text = page(document)
    if args.output is None:
        print(text, end="")
        return 0
    write_atomic(args.output, text.encode("utf-8", "backslashreplace"), replace=args.force)
    if args.open:
        webbrowser.open(args.output.resolve().as_uri())
    return 0


def _document(args: argparse.Namespace) -> dict[str, object]:
    builder = ViewBuilder(raw=args.raw)
    for path in args.paths:
        named = path == STDIN or not Path(path).is_dir()
        for file in files(path):
            try:
                found = _read(builder, file, args)
            except UnreadableError as error:
                if named:
                    raise UsageError(f"{_name(file)} {error}") from error
                print(f"toolstream: {file} {error}", file=sys.stderr)
                continue
            if named and not found:
                raise UsageError(f"{_name(file)} contains no LLM response. Expected {READABLE}")
    if builder.empty:
        raise UsageError(f"{', '.join(args.paths)}: no LLM response found. Expected {READABLE}")
    return builder.document([_name(path) for path in args.paths])


def _read(builder: ViewBuilder, file: str, args: argparse.Namespace) -> bool:
    """Read one file; whether it has a response. Raises `UnreadableError`."""
    found = False
    for saved in answers(file, _read_flows, request=args.request):
        if saved.missing:
            print(f"toolstream: {saved.exchange.source} cannot be read: {saved.missing}", file=sys.stderr)
        else:
            found = builder.take(saved) or found
    return found


def _read_flows(stream: BinaryIO, source: str) -> Iterator[Saved]:
    from toolstream_core.proxy import flowfile

    return flowfile.answers(stream, source)


def _name(path: str) -> str:
    return "standard input" if path == STDIN else path
