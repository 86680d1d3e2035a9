"""`toolstream probe`: compares streaming and non-streaming responses of a provider."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import NoReturn

from toolstream_core.cli.arguments import CANNOT, NOT_OK, OK
from toolstream_core.cli.output import Output, printed_to
from toolstream_core.errors import ToolstreamError
from toolstream_core.model import Json
from toolstream_core.printable import printable
from toolstream_core.probing.ask import Asker, key_of, target
from toolstream_core.probing.probe import CASES, Case, Probe, printed, probe
from toolstream_core.protocols.api import Tool
from toolstream_core.protocols.registry import named
from toolstream_core.redaction import Redaction, redacted_text
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse


def keep(probe: Probe, folder: Path, say: Callable[[str], None]) -> None:
    """Write a flow file with its expectation for each case: the streaming responses, then the others."""
    from toolstream_core.saved.expectation import expect_path
    from toolstream_core.saved.fixtures import flow_files, stem_of, write_all
    from toolstream_core.saved.flow import flow_of
    from toolstream_core.saved.redact import redact

    for number, one in enumerate(probe.verdicts, 1):
        responses = [probed.response for probed in (*one.streamed, *one.unstreamed) if probed.response.facts.status]
        if not responses:
            continue
        stems = (stem_of(probe.target.protocol, probe.target.model, responses[0].began, at) for at in count(number))
        paths = (folder / f"probe-{stem}.flow" for stem in stems)
        path = next(path for path in paths if not (path.exists() or expect_path(path).exists()))
        write_all(folder, flow_files(path.name, [redact(flow_of(one)) for one in responses]), replace=False)
        say(f"kept {path}")


_REDACTION = Redaction()


def run(args: argparse.Namespace) -> int:
    """Send the requests, print the result, and return the exit code."""
    provider = target(args.url, args.protocol, args.model)
    key = key_of(provider, os.environ)
    cases = _cases(args.prompt, args.tool)
    _check_folder(args.keep)
    hide = partial(redacted_text, redaction=_REDACTION, known=(key,) if key else ())

    def say(line: str) -> None:
        if not args.quiet:
            print(printable(hide(line)), file=sys.stderr)

    asker = Asker(named(provider.protocol).api.key_headers(provider.host, key), args.timeout, say=say)
    say(f"asking {provider.host}: {len(cases)} prompts, {args.times} times each, with and without streaming")
    with printed_to(args.output, force=args.force):
        result = probe(provider, cases, args.times, asker, say)
        print(printed(result, args.format, hide))
    if args.keep is not None:
        keep(result, args.keep, say)
    if result.found:
        return NOT_OK
    return OK if result.compared and not result.failed else CANNOT


def _cases(prompt: Path | None, tool: Path | None) -> Sequence[Case]:
    if prompt is None and tool is None:
        return CASES
    if prompt is None or tool is None:
        raise ToolstreamError("--prompt and --tool need each other")
    try:
        text, tools = prompt.read_text(encoding="utf-8"), parse(tool.read_bytes())
    except (OSError, ValueError) as error:
        raise ToolstreamError(f"--prompt or --tool cannot be read: {error}") from error
    return (Case(prompt.stem, text, tuple(_tool(one, tool) for one in json_access.items(tools)) or _no_tool(tool)),)


def _tool(document: Json, path: Path) -> Tool:
    """A tool as any of the protocols declares it."""
    inner = document["function"] if isinstance(json_access.get(document, "function"), dict) else document
    name, described = json_access.get(inner, "name"), json_access.get(inner, "description")
    schemas = (json_access.get(inner, key) for key in ("parameters", "input_schema", "parametersJsonSchema"))
    schema = next((one for one in schemas if isinstance(one, dict)), {"type": "object", "properties": {}})
    if not isinstance(name, str) or not name:
        return _no_tool(path)
    return Tool(name, described if isinstance(described, str) else "", schema)


def _no_tool(path: Path) -> NoReturn:
    raise ToolstreamError(f"{path} is not a tool. Expected JSON with name, description and parameters")


def _check_folder(folder: Path | None) -> None:
    """Raise `ToolstreamError` before any billable request is sent."""
    if folder is not None:
        with Output(folder, "--keep").writing():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
