"""`toolstream serve`: saved flows answer on this machine, with no key and no network."""

from __future__ import annotations

import contextlib
import shlex
import signal
import sys
import time
from typing import TYPE_CHECKING

from toolstream_core.cli.errors import UsageError
from toolstream_core.cli.serving import appended, check_files, log_of, setup_of
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


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C. Raises `UsageError` where that cannot begin."""
    with contextlib.suppress(KeyboardInterrupt):
        setup = setup_of(args, network="none", log=args.level)
        check_files(args, *log_of(args))
        with contextlib.nullcontext(sys.stdout.fileno()) if args.log is None else appended(args.log) as log:
            session = ProxySession(setup, port=args.port, log=log, keep=False)
            signal.signal(signal.SIGTERM, _interrupt)
            try:
                session.start()
            except ProxySessionError as error:
                raise UsageError(str(error)) from error
            with session:
                print(_greeting(session), flush=True)
                while session.running:
                    time.sleep(_TURN)
        print("toolstream: the proxy ended unexpectedly", file=sys.stderr)
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
