"""`toolstream serve`: responds with saved flows. Also the proxy options that it shares with `run`."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, Final

from toolstream_core.cli.arguments import path
from toolstream_core.cli.commands import FLAGS
from toolstream_core.cli.output import Output, check_outputs, interrupted_by_signals, say
from toolstream_core.proxy.option_table import PROVIDER, AddonOption
from toolstream_core.report.jsonform import may_append
from toolstream_core.saved.files import READABLE, check_served
from toolstream_core.synthetic.responses import PREFIX, parse_calls
from toolstream_core.testing import ProxySession, Setup
from toolstream_core.testing.environment import PATHS

_OF_SETUP: Final = frozenset(one.name for one in fields(Setup))


def setup_of(args: argparse.Namespace, *, network: str, log: str) -> Setup:
    """The setup in the arguments. Raises `ToolstreamError`."""
    flows, calls = flows_and_calls(args.flows)
    for flow in flows:
        check_served(flow, f"{READABLE}, a folder of them, or `calls:`")
    mine: dict[str, Any] = {}
    options: dict[str, list[str]] = {}
    for option in FLAGS:
        value = getattr(args, _word(option))
        if _word(option) in _OF_SETUP:
            mine[_word(option)] = tuple(value) if option.many else value
        elif value:
            options[option.name] = value if option.many else [value]
    for name, value in args.options:
        options.setdefault(name, []).append(value)
    return Setup(flows=flows, calls=calls or None, network=network, log=log, options=options, **mine)


def flows_and_calls(given: Sequence[Path | str]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The paths in the FLOW arguments, and their calls without `calls:`. Raises `ToolstreamError`."""
    flows = tuple(one for one in given if isinstance(one, Path))
    calls = tuple(one.removeprefix(PREFIX) for one in given if isinstance(one, str))
    parse_calls(calls)
    return flows, calls


def check_files(args: argparse.Namespace, *outputs: Output) -> None:
    """Check these outputs, and those of the shared options, against the flows. Raises `ToolstreamError`."""
    jsonl = [Output(path(args.jsonl), "--jsonl", force=None, is_own=may_append)] if args.jsonl else []
    providers = [value for name, value in args.options if name == PROVIDER.name]
    check_outputs([*outputs, *jsonl], map(Path, (*args.flows, *providers)))


def _word(option: AddonOption) -> str:
    """The name of its flag among the parsed arguments."""
    return option.flag.removeprefix("--").replace("-", "_")


_HEAD: Final = 1 << 16
"""Bytes of an existing file that are read to recognise it."""


def log_of(args: argparse.Namespace) -> list[Output]:
    """The file of `--log`."""
    return [] if args.log is None else [Output(args.log, "--log", force=None, is_own=_may_append)]


def appended(log: Path) -> IO[bytes]:
    """A log file, readable by its owner only. Raises `ToolstreamError`."""
    with Output(log, "--log").writing():
        return os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")


def _may_append(log: Path) -> bool:
    """Whether a log may be appended to a file: it holds neither saved flows nor a saved response."""
    from toolstream_core.engine.session import read_body
    from toolstream_core.model import StreamFacts
    from toolstream_core.saved.exchange import UnreadableError
    from toolstream_core.saved.files import Kind, begun

    try:
        with begun(str(log)) as file:
            return (
                file.kind is Kind.BODY and read_body([file.opened().read(_HEAD)], StreamFacts(source=str(log))) is None
            )
    except UnreadableError:
        return False


_FOR_A_SHELL = (
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "GEMINI_API_KEY",
    "OLLAMA_HOST",
    "HTTPS_PROXY",
    "SSL_CERT_FILE",
)
_TURN = 0.2
"""Seconds between two checks that the proxy still runs."""


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C. Raises `ToolstreamError` if the proxy cannot start."""
    with contextlib.suppress(KeyboardInterrupt), interrupted_by_signals():
        setup = setup_of(args, network="none", log=args.level)
        check_files(args, *log_of(args))
        with contextlib.nullcontext(sys.stdout.fileno()) if args.log is None else appended(args.log) as log:
            session = ProxySession(setup, port=args.port, log=log, keep=False)
            session.start()
            with session:
                print(_greeting(session), flush=True)
                while session.running:
                    time.sleep(_TURN)
        say("the proxy ended unexpectedly")
        return 1
    return 0


def _greeting(session: ProxySession) -> str:
    """Base URLs, and lines to copy into a shell."""
    environment = session.environment()
    width = max(map(len, PATHS)) + 2
    urls = [f"  {protocol:<{width}}{session.base_url(protocol)}" for protocol in PATHS]
    lines = [f"  export {name}={shlex.quote(environment[name])}" for name in _FOR_A_SHELL]
    return "\n".join(["base URLs:", *urls, "for a shell:", *lines, "Ctrl-C ends."])
