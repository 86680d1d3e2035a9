"""The entry point of the command line: which command runs, and its exit code. Also help, version and `addon-path`."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolstream_core.cli.arguments import CANNOT, EPILOG, INTERRUPTED, OK, RENAMED, with_new_names
from toolstream_core.cli.commands import COMMANDS, with_flag
from toolstream_core.errors import ToolstreamError, unknown
from toolstream_core.packaged import addon_script
from toolstream_core.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

PIPE_CLOSED: Final = 141
"""The exit code that a shell reports for a program that SIGPIPE ended."""
_STDERR: Final = 2
COMPLETE: Final = "__complete"
"""The command of the completion scripts for candidates. The help does not list it."""
_FLAGS: Final = {"-h": "help", "--help": "help", "--version": "version"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_closed()
    _encode_anything()
    try:
        code = _run(words)
        sys.stdout.flush()
    except SystemExit as end:  # argparse has printed help
        return end.code if isinstance(end.code, int) else CANNOT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return PIPE_CLOSED
    except OSError as error:
        _drop_output()
        print(f"toolstream: {_reason(error)}", file=sys.stderr)
        return CANNOT
    except ToolstreamError as error:
        print(f"toolstream: {with_flag(str(error))}", file=sys.stderr)
        return CANNOT
    return code


def _reason(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return error.strerror or str(error)
    return f"{error.filename}: {error.strerror}"


def _run(words: Sequence[str]) -> int:
    if len(words) > 1 and words[0] == COMPLETE:
        from toolstream_core.cli.completion import complete

        return complete(words[1:])
    args = parsed(words)
    return COMMANDS[args.command].run(args)


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The command and its arguments. Raises `ToolstreamError`."""
    if not words:
        raise ToolstreamError("missing command. See `toolstream help`")
    name, own = _FLAGS.get(words[0], words[0]), list(words[1:])
    if name.startswith("-"):
        raise ToolstreamError(f"expected a command before {name}. See `toolstream help`")
    if name not in COMMANDS:
        raise ToolstreamError(unknown("command", name, COMMANDS, "`toolstream help`"))
    command, after = COMMANDS[name], []
    if command.takes_command and "--" in own:
        at = own.index("--")
        own, after = own[:at], own[at + 1 :]
    args = argparse.Namespace(command=name, command_line=after)
    return command.parser().parsed(with_new_names(name, own), args, RENAMED.get(name, {}))


def _open_closed() -> None:
    """Discard what is printed to a closed stream; a file that is opened later would get it."""
    number = os.open(os.devnull, os.O_RDWR)
    while number <= _STDERR:
        os.set_inheritable(number, True)  # noqa: FBT003
        number = os.dup(number)
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


def _encode_anything() -> None:
    """Escape characters that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Discard the rest of the output: the reader has closed it, which Python would report at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_PURPOSE: Final = (
    "Inspect how LLM providers stream tool calls, repair streams in flight, inject faults, and record them as tests."
)


def print_help(args: argparse.Namespace) -> int:
    """Print the help of a command, or the list of commands. Raises `ToolstreamError`."""
    if args.name is None:
        print(help_text())
        return OK
    if args.name not in COMMANDS:
        raise ToolstreamError(unknown("command", args.name, COMMANDS, "`toolstream help`"))
    print(COMMANDS[args.name].parser().format_help(), end="")
    return OK


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


def print_version(_args: argparse.Namespace) -> int:
    """Print the version."""
    print(f"toolstream {__version__}")
    return OK


def print_addon_path(_args: argparse.Namespace) -> int:
    """Print the path. Raises `ToolstreamError`."""
    script = addon_script()
    if not script.is_file():
        raise ToolstreamError(f"{script} is missing. Install toolstream again")
    print(script)
    return OK


if __name__ == "__main__":
    sys.exit(main())
