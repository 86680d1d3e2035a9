"""`toolstream mcp`: the reports as tools of an MCP server on standard input and output."""

from __future__ import annotations

import argparse
import os
import sys

from toolstream_core.errors import ToolstreamError
from toolstream_core.saved.demo import is_demo
from toolstream_core.saved.files import STDIN


def run(args: argparse.Namespace) -> int:
    """Serve until standard input ends. Raises `ToolstreamError`."""
    if STDIN in args.paths:
        raise ToolstreamError("- cannot be read: standard input carries the protocol. Expected files or folders")
    if not args.paths and args.view is None:
        raise ToolstreamError("nothing to report on. Expected files, or --view ADDRESS")
    for path in args.paths:
        if not is_demo(path) and not os.path.lexists(path):
            raise ToolstreamError(f"no such file or directory: {path}. Expected flow files, or a folder of these")
    try:
        from toolstream_core.cli.mcp_tools import server
    except ImportError as error:
        install = f"{sys.executable} -m pip install 'mcp>=2'"
        raise ToolstreamError(f"`toolstream mcp` needs the package mcp. Install it: {install}") from error
    try:
        server(args.paths, args.command_line, args.view).run("stdio")
    except* BrokenPipeError:
        # The agent has ended. The SDK keeps the message that it could not send, and Python would report that at exit.
        sys.unraisablehook = lambda _unsent: None
    return 0
