"""The command line's door: which command, and how any of them ends. Knows the commands by name only."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import io
import os
import sys
from typing import TYPE_CHECKING, Final

from toolstream_core.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COMMANDS: Final = {
    "inspect": "inspect",
    "repair": "repair",
    "fault": "fault",
    "extract": "extract",
    "doctor": "doctor",
    "list": "list",
    "explain": "explain",
    "serve": "serve",
    "run": "run",
    "check": "check",
    "shrink": "shrink",
    "report": "report",
    "probe": "probe",
    "demo": "demo",
    "addon-path": "addon_path",
}
"""Each command and its module, which has `add_parser(subparsers)` and `run(args) -> int`."""

TAKE_A_COMMAND: Final = frozenset({"run", "check", "shrink"})
"""What stands behind the first `--` of these is a command line of its own, `args.command_line`."""

USAGE: Final = 2
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
"""As a shell tells it of a program that SIGPIPE ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code: 2 for what was asked wrongly."""
    words = list(sys.argv[1:] if argv is None else argv)
    _encode_anything()
    try:
        mine, command = _split(words)
        args = _parsed(mine, argparse.Namespace(command_line=command))
        code: int = args.run(args)
        _flush()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return PIPE_CLOSED
    except OSError as error:
        _drop_output()
        print(f"toolstream: {error}", file=sys.stderr)
        return USAGE
    return code


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """The words for us, and those of the command that we are to run."""
    if words and words[0] in TAKE_A_COMMAND and "--" in words:
        at = words.index("--")
        return words[:at], words[at + 1 :]
    return words, []


def _parsed(words: Sequence[str], args: argparse.Namespace) -> argparse.Namespace:
    """The arguments of a command; what it does not know is told with its own usage, and what may be meant."""
    parser, commands = _parser(words)
    args, unknown = parser.parse_known_args(words, args)
    if unknown:
        command = commands[args.command]
        known = [flag for action in command._actions for flag in action.option_strings]  # noqa: SLF001 - not told else
        near = difflib.get_close_matches(unknown[0].partition("=")[0], known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        command.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    return args


def _parser(words: Sequence[str]) -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser, and those of the commands that it knows."""
    parser = argparse.ArgumentParser(
        prog="toolstream",
        description="Show how LLM providers' streams say their tool calls.",
        epilog='The live view is a mitmproxy addon: mitmdump -s "$(toolstream addon-path)"',
    )
    parser.add_argument("--version", action="version", version=f"toolstream {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    # Only the module of the command that is asked for is loaded: one of them takes mitmproxy along.
    asked = [words[0]] if words and words[0] in COMMANDS else COMMANDS
    for name in asked:
        importlib.import_module(f"toolstream_core.cli.{COMMANDS[name]}").add_parser(subparsers)
    return parser, subparsers.choices


def _encode_anything() -> None:
    """Foreign text goes to any terminal: what it cannot show is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _drop_output() -> None:
    """Nobody reads any more, and Python would complain of it on its way out."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
