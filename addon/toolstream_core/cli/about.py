"""`toolstream help`, `version` and `addon-path`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.cli.commands import COMMANDS
from toolstream_core.cli.parser import EPILOG
from toolstream_core.errors import ToolstreamError
from toolstream_core.packaged import addon_script
from toolstream_core.suggest import unknown
from toolstream_core.version import __version__

if TYPE_CHECKING:
    import argparse


_PURPOSE: Final = (
    "Inspect how LLM providers stream tool calls, repair streams in flight, inject faults, and record them as tests."
)


def print_help(args: argparse.Namespace) -> int:
    """Print the help of a command, or the list of commands. Raises `ToolstreamError`."""
    if args.name is None:
        print(help_text())
        return 0
    if args.name not in COMMANDS:
        raise ToolstreamError(unknown("command", args.name, COMMANDS, "`toolstream help`"))
    print(COMMANDS[args.name].parser().format_help(), end="")
    return 0


def help_text() -> str:
    """The list of all commands."""
    width = max(map(len, COMMANDS)) + 2
    return "\n".join(
        [
            "usage: toolstream COMMAND [arguments]",
            "",
            _PURPOSE,
            "",
            "commands:",
            *(f"  {one.name:<{width}}{one.help}" for one in COMMANDS.values()),
            "",
            "`toolstream help COMMAND` prints the options of a command.",
            EPILOG,
        ]
    )


def print_version(args: argparse.Namespace) -> int:
    """Print the version."""
    del args
    print(f"toolstream {__version__}")
    return 0


def print_addon_path(args: argparse.Namespace) -> int:
    """Print the path. Raises `ToolstreamError`."""
    del args
    script = addon_script()
    if not script.is_file():
        raise ToolstreamError(f"{script} is missing. Install toolstream again")
    print(script)
    return 0
