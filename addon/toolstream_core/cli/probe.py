"""`toolstream probe`: one provider asked the same with and without a stream. Knows the options."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from toolstream_core.cli.shrink import positive, seconds
from toolstream_core.probing.asking import Asker
from toolstream_core.probing.cases import CASES, Case
from toolstream_core.probing.probe import probe
from toolstream_core.probing.report import FORMATS, printed
from toolstream_core.probing.target import OWN_KEY, PROTOCOLS, TargetError, key_of, target
from toolstream_core.protocols.api import Tool
from toolstream_core.protocols.registry import named
from toolstream_core.redaction import Redaction, redacted_text
from toolstream_core.report.paint import printable
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from toolstream_core.model import Json

CLEAN, FOUND, CANNOT = 0, 1, 2
"""Exit codes."""
_REDACTION = Redaction()


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "probe",
        help="ask one provider the same with and without a stream, and say where the calls differ",
        description="Ask one provider the same with and without a stream, N times, and say where the calls differ "
        "and which defects the streams have. This costs what such requests cost.",
        epilog=f"The key comes from the variable {OWN_KEY}, or the one that is usual for the protocol. "
        "Exit code: 0 nothing found, 1 a difference, or a defect of severity error or warning, 2 could not ask.",
    )
    parser.add_argument("url", metavar="URL", help="a base URL (https://api.openai.com/v1) or an endpoint")
    parser.add_argument("--protocol", choices=PROTOCOLS, help="the API, where the URL does not tell")
    parser.add_argument("--model", metavar="NAME", help="the model to ask")
    parser.add_argument("--times", type=positive, default=3, metavar="N", help="how often each is asked (default 3)")
    told = "a prompt of your own instead of ours, as text; needs --tool"
    parser.add_argument("--prompt", type=Path, metavar="FILE", help=told)
    told = "the tools to offer with it: JSON, one tool or a list, each with name, description, parameters"
    parser.add_argument("--tool", type=Path, metavar="FILE", help=told)
    parser.add_argument("--format", choices=FORMATS, default="text", help="text (default), markdown or json")
    told = "seconds in which nothing comes, after which an answer counts as broken (default 60)"
    parser.add_argument("--timeout", type=seconds, default=60.0, metavar="SECONDS", help=told)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the answers there as fixtures, without secrets")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, print what came of it, and give the exit code."""
    try:
        asked = target(args.url, args.protocol, args.model)
        key = key_of(asked, os.environ)
        cases = _cases(args.prompt, args.tool)
        _check_folder(args.keep)
    except (TargetError, _UsageError) as error:
        return _cannot(str(error))
    hide = partial(redacted_text, redaction=_REDACTION, known=(key,) if key else ())

    def say(line: str) -> None:
        if not args.quiet:
            print(printable(hide(line)), file=sys.stderr)

    asker = Asker(named(asked.protocol).api.key_headers(asked.host, key), args.timeout, say=say)
    say(f"asking {asked.host}: {len(cases)} prompts, {args.times} times each, streamed and whole")
    result = probe(asked, cases, args.times, asker, say)
    print(printed(result, args.format, hide))
    if args.keep is not None:
        from toolstream_core.cli.probe_kept import keep

        keep(result, args.keep, say)
    if result.found:
        return FOUND
    return CLEAN if result.asked and not result.failed else CANNOT


class _UsageError(ValueError):
    """What was asked cannot be done; the message says what would be right."""


def _cases(prompt: Path | None, tool: Path | None) -> Sequence[Case]:
    if prompt is None and tool is None:
        return CASES
    if prompt is None or tool is None:
        raise _UsageError("--prompt and --tool go together")
    try:
        text, tools = prompt.read_text(encoding="utf-8"), parse(tool.read_bytes())
    except (OSError, ValueError) as error:
        raise _UsageError(f"--prompt or --tool cannot be read: {error}") from error
    return (Case(prompt.stem, text, tuple(_tool(one, tool) for one in json_access.items(tools)) or _no_tool(tool)),)


def _tool(said: Json, path: Path) -> Tool:
    """A tool as any of the protocols declares it."""
    inner = said["function"] if isinstance(json_access.get(said, "function"), dict) else said
    name, described = json_access.get(inner, "name"), json_access.get(inner, "description")
    schemas = (json_access.get(inner, key) for key in ("parameters", "input_schema", "parametersJsonSchema"))
    schema = next((one for one in schemas if isinstance(one, dict)), {"type": "object", "properties": {}})
    if not isinstance(name, str) or not name:
        return _no_tool(path)
    return Tool(name, described if isinstance(described, str) else "", schema)


def _no_tool(path: Path) -> NoReturn:
    raise _UsageError(f"{path} is not a tool: that would be JSON with name, description and parameters")


def _check_folder(folder: Path | None) -> None:
    """Before anything is paid for."""
    if folder is not None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _UsageError(f"{folder} is no folder to keep answers in: {error.strerror}") from error


def _cannot(message: str) -> int:
    print(f"toolstream probe: {message}", file=sys.stderr)
    return CANNOT
