"""`toolstream serve`: saved flows answer on this machine, with no key and no network."""

from __future__ import annotations

import contextlib
import shlex
import signal
import sys
import time
from typing import TYPE_CHECKING

from toolstream_core.cli.output import OutputError
from toolstream_core.cli.serving import FLOW_HELP, UsageError, add_options, check_files, flow_or_calls, setup_of
from toolstream_core.proxy.option_table import LEVELS
from toolstream_core.testing import ProxySession, ProxySessionError
from toolstream_core.testing.environment import PATHS

if TYPE_CHECKING:
    import argparse
    from types import FrameType

_TOLD = (
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
"""Seconds between two looks at whether the proxy still runs."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    told = "answer from saved flows on a local port, with no key and no network"
    parser = subparsers.add_parser("serve", help=told, description=told)
    parser.add_argument("flows", nargs="+", type=flow_or_calls, metavar="FLOW", help=FLOW_HELP)
    add_options(parser)
    parser.add_argument("--log", choices=LEVELS, default="chunks", help="what is printed of each answer")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C; 2 where that cannot begin."""
    with contextlib.suppress(KeyboardInterrupt):
        try:
            setup = setup_of(args, network="none", log=args.log)
            check_files(args)
            session = ProxySession(setup, port=args.port, log=sys.stdout.fileno(), keep=False)
            signal.signal(signal.SIGTERM, _interrupt)
            with session:
                print(_greeting(session), flush=True)
                while session.running:
                    time.sleep(_TURN)
        except (UsageError, OutputError, ProxySessionError) as error:
            print(f"toolstream serve: {error}", file=sys.stderr)
            return 2
        print("toolstream serve: the proxy ended by itself", file=sys.stderr)
        return 1
    return 0


def _greeting(session: ProxySession) -> str:
    """Where clients find it, and lines to copy into a shell."""
    environment = session.environment()
    urls = [f"  {protocol:<18}{session.base_url(protocol)}" for protocol in PATHS]
    lines = [f"  export {name}={shlex.quote(environment[name])}" for name in _TOLD]
    return "\n".join(["base URLs:", *urls, "for a shell:", *lines, "Ctrl-C ends."])


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
