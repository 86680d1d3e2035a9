"""`toolstream extract`: fixtures from whatever was saved. Knows the options."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from toolstream_core.cli.inspect import defects, request_file
from toolstream_core.defects.table import named
from toolstream_core.model import ABSENT

USAGE = 2


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "extract",
        help="make fixtures of what was saved: dumps, HAR files, cassettes, bare bodies",
        description="Make fixtures, without secrets, of the LLM answers in saved files, each with its expectation.",
        epilog="Exit code: 0 done, 1 nothing to extract, 2 usage, unreadable input, or a file that exists already.",
    )
    told = "a mitmproxy flow file, a HAR file, a VCR cassette, a bare body, a folder of them, or - for stdin"
    parser.add_argument("paths", nargs="+", metavar="IN", help=told)
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="the folder of the fixtures")
    told = "flow: a mitmproxy flow file with its .expect.json (default); bare: a folder with request.json and the "
    told += "answer as it came; vcr: a cassette in YAML"
    parser.add_argument("--format", choices=("flow", "bare", "vcr"), default="flow", help=told)
    told = "one fixture for each conversation with all its turns (default), or for each flow"
    parser.add_argument("--each", choices=("conversation", "flow"), default="conversation", help=told)
    told = "chat text: keep it (default), mask it, or replace it by filler of the same shape"
    parser.add_argument("--text", choices=("keep", "mask", "shape"), default="keep", help=told)
    told = "a further secret: the name of a header, parameter or field, or /REGEX/; may be repeated"
    parser.add_argument("--secret", action="append", default=[], metavar="NAME|/REGEX/", help=told)
    told = "only fixtures with findings of severity error or warning, an error or a break; or only with errors"
    parser.add_argument("--only", choices=("findings", "errors"), help=told)
    for name, does in (("--select", "only fixtures with these findings"), ("--ignore", "these findings do not count")):
        told = f"{does}: codes, names or families, with commas between them; may be repeated"
        parser.add_argument(name, action="append", type=defects, metavar="DEFECT", help=told)
    told = "the request's JSON body, for bare bodies"
    parser.add_argument("--request", type=request_file, default=ABSENT, metavar="FILE", help=told)
    told = "what the files are called, instead of time, protocol and model; numbered if there are several"
    parser.add_argument("--name", type=_name, help=told)
    parser.add_argument("--force", action="store_true", help="replace files that exist already")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Extract, list what was written and what was left out, and give the exit code."""
    from toolstream_core.cli.extraction import Extraction, Wanted
    from toolstream_core.redaction import TextMode, redaction_of

    try:
        redaction = redaction_of(args.secret, TextMode(args.text))
    except ValueError as error:
        print(f"toolstream: --secret: {error}", file=sys.stderr)
        return USAGE
    if args.output.exists() and not args.output.is_dir():
        print(f"toolstream: {args.output} is no folder; -o takes the folder of the fixtures", file=sys.stderr)
        return USAGE
    selected = None if args.select is None else frozenset().union(*args.select)
    ignored = frozenset().union(*(args.ignore or ()))
    wanted = Wanted(only=args.only, codes=(selected or named(["all"])) - ignored, chosen=selected is not None)
    work = Extraction(args.output, args.format, redaction, wanted, name=args.name, force=args.force)
    work.read(args.paths, args.request)
    return work.write(each_flow=args.each == "flow")


def _name(text: str) -> str:
    if not text or text.startswith(".") or Path(text).name != text or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r} is no file name; right would be one without folders: broken-call")
    return text
