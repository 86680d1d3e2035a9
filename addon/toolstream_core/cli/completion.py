"""`toolstream completion`: scripts for shells, generated from the table of commands."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolstream_core.cli.commands import COMMANDS
from toolstream_core.cli.completion_scripts import SCRIPTS
from toolstream_core.cli.values import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.cli.commands import Command

_FILES: Final = frozenset({"FILE", "DIR", "PATH", "FLOW", "IN", "OUT", "TOML", "JSON"})
"""Placeholders of values that are files or folders."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What completion knows of an option, or of a positional argument."""

    flags: tuple[str, ...]
    """Empty for a positional argument."""
    help: str
    takes_value: bool
    optional: bool
    """Whether the option may stand without its value."""
    values: tuple[str, ...]
    files: bool


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    print(script(args.shell), end="")
    return 0


def script(shell: str) -> str:
    """The completion script for a shell."""
    names, write = _WRITERS[shell]
    taking = " ".join(name for name, one in COMMANDS.items() if one.takes_command)
    text = SCRIPTS[shell].replace("@NAMES@", names()).replace("@TAKING@", taking)
    return text.replace("@COMMANDS@", "\n".join(line for one in COMMANDS.values() for line in write(one)))


def arguments(command: Command) -> list[Argument]:
    """The arguments of a command, as its parser declares them."""
    shown = (one for one in command.parser()._actions if one.help != argparse.SUPPRESS)  # noqa: SLF001 - no public way
    return [_argument(command, action) for action in shown]


def _argument(command: Command, action: argparse.Action) -> Argument:
    values = action.type.known() if isinstance(action.type, Names) else (action.choices or ())
    if (command.name, action.dest) == ("help", "name"):
        values = COMMANDS
    return Argument(
        flags=tuple(action.option_strings),
        help=action.help or "",
        takes_value=action.nargs != 0,
        optional=action.nargs == "?",
        values=tuple(map(str, values)),
        files=action.metavar in _FILES,
    )


def _split(command: Command) -> tuple[list[Argument], list[Argument]]:
    """Options, and positional arguments."""
    known = arguments(command)
    return [one for one in known if one.flags], [one for one in known if not one.flags]


def _words(values: Sequence[str]) -> str:
    return shlex.quote(" ".join(values))


def _bash(command: Command) -> Iterator[str]:
    options, positional = _split(command)
    for one in options:
        if one.takes_value:
            names = "|".join(f"{command.name}\\ {flag}" for flag in one.flags)
            yield f"    {names}) {f'values={_words(one.values)}' if one.values else 'other=1'} ;;"
    flags = [flag for one in options for flag in one.flags]
    values = [value for one in positional for value in one.values]
    yield f"    {command.name}\\ *) flags={_words(flags)} values={_words(values)} ;;"


def _zsh(command: Command) -> Iterator[str]:
    options, positional = _split(command)
    specs = [spec for one in options for spec in _zsh_specs(one)]
    specs += [f"*:argument:{_zsh_action(positional)}"] if positional else []
    yield f"    {command.name}) _arguments -s {shlex.join(specs)} ;;"


def _zsh_specs(argument: Argument) -> Iterator[str]:
    """An option, once for each of its flags."""
    colons = "::" if argument.optional else ":"
    for flag in argument.flags:
        value = f"{colons}value:{_zsh_action([argument])}" if argument.takes_value else ""
        joined = "=" if value and flag.startswith("--") else ""
        yield f"*{flag}{joined}[{_zsh_text(argument.help)}]{value}"


def _zsh_action(known: Sequence[Argument]) -> str:
    names = shlex.join(value for one in known for value in one.values).replace(":", "\\:")
    actions = [
        *([f"_sequence compadd - {names}"] if names else []),
        *(["_files"] if any(one.files for one in known) else []),
    ]
    return f"{{ {'; '.join(actions)} }}" if actions else " "


def _zsh_text(text: str) -> str:
    for character in "\\[]:":
        text = text.replace(character, f"\\{character}")
    return text


def _fish(command: Command) -> Iterator[str]:
    for one in arguments(command):
        names = "".join(f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}" for flag in one.flags)
        takes = " -r" if one.takes_value and one.flags and not one.optional else ""
        value = f" -a {_fish_text(' '.join(one.values))}" if one.values else ""
        files = " -F" if one.files else " -f"
        is_command = f"-n '__toolstream_is {command.name}'"
        yield f"complete -c toolstream {is_command}{names}{takes}{value}{files} -d {_fish_text(one.help)}"


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _powershell(command: Command) -> Iterator[str]:
    options, positional = _split(command)
    values = [value for one in positional for value in one.values]
    yield f"        '{command.name}' = @{{"
    yield f"            '' = {_powershell_list(values)}"
    for one in options:
        for flag in one.flags:
            yield f"            '{flag}' = {_powershell_list(one.values) if one.takes_value else '$null'}"
    yield "        }"


def _powershell_list(values: Sequence[str]) -> str:
    return "@(" + ", ".join("'" + value.replace("'", "''") + "'" for value in values) + ")"


def _plain_names() -> str:
    return " ".join(COMMANDS)


def _zsh_names() -> str:
    return shlex.join(f"{one.name}:{one.help}" for one in COMMANDS.values())


def _fish_names() -> str:
    return "\n".join(
        f"complete -c toolstream -n __toolstream_begins -f -a {one.name} -d {_fish_text(one.help)}"
        for one in COMMANDS.values()
    )


_WRITERS: Final[dict[str, tuple[Callable[[], str], Callable[[Command], Iterator[str]]]]] = {
    "bash": (_plain_names, _bash),
    "zsh": (_zsh_names, _zsh),
    "fish": (_fish_names, _fish),
    "powershell": (_plain_names, _powershell),
}
