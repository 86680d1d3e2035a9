"""`toolstream help`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.cli.commands import COMMANDS
from toolstream_core.cli.errors import UsageError
from toolstream_core.cli.parser import EPILOG
from toolstream_core.suggest import unknown

if TYPE_CHECKING:
    import argparse


_PURPOSE: Final = (
    "Inspect how LLM providers stream tool calls, repair streams in flight, inject faults, and record them as tests."
)


def run(args: argparse.Namespace) -> int:
    """Print the help of a command, or the list of commands. Raises `UsageError`."""
    if args.name is None:
        print(help_text())
        return 0
    if args.name not in COMMANDS:
        raise UsageError(unknown("command", args.name, COMMANDS, "`toolstream help`"))
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
