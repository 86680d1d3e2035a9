"""`toolstream completion`: scripts for shells, generated from the table of commands."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolstream_core.cli.arguments import Names
from toolstream_core.cli.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.cli.commands import Command


_BASH: Final = r"""# bash completion for toolstream: source <(toolstream completion bash)
_toolstream() {
  local words line=${COMP_LINE:0:COMP_POINT} i
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local last=$((${#words[@]} - 1))
  local whole=${words[last]} command=${words[1]} option=${words[last - 1]} flags= values= other=
  local word=$whole
  if [[ $word == --*=* ]]; then
    option=${word%%=*} word=${word#*=}
  fi
  case "$command $option" in
@COMMANDS@
  esac
  COMPREPLY=()
  ((last == 1)) && values='@NAMES@ --help --version' flags=
  if [[ " @TAKING@ " == *" $command "* ]]; then
    for ((i = 2; i < last; i++)); do
      [[ ${words[i]} == -- ]] || continue
      ((i == last - 1)) && COMPREPLY=($(compgen -c -- "$word"))
      return
    done
  fi
  [[ -n $other ]] && return
  if [[ $word == -* && -n $flags ]]; then
    values=$flags
  fi
  local list=
  [[ $word == *,* ]] && list=${word%,*},
  # readline replaces what follows the last of the word breaks
  local before=${whole%"$word"}$list breaks=
  [[ $COMP_WORDBREAKS == *:* ]] && breaks=:
  [[ $COMP_WORDBREAKS == *=* ]] && breaks+==
  local kept=
  [[ -n $breaks && $whole == *[$breaks]* ]] && kept=${whole%"${whole##*[$breaks]}"}
  local value
  for value in $(compgen -W "$values" -- "${word#"$list"}"); do
    value=$before$value
    COMPREPLY+=("${value#"$kept"}")
  done
}
complete -o bashdefault -o default -F _toolstream toolstream
"""

_ZSH: Final = r"""#compdef toolstream
# zsh completion for toolstream: source <(toolstream completion zsh), after compinit
_toolstream() {
  if (( CURRENT == 2 )); then
    local -a commands=(@NAMES@)
    _describe command commands
    return
  fi
  local at=${words[(i)--]}
  if [[ " @TAKING@ " == *" $words[2] "* ]] && (( at < CURRENT )); then
    words=("${(@)words[at + 1, -1]}")
    (( CURRENT -= at ))
    _normal
    return
  fi
  words=("${(@)words[2, -1]}")
  (( CURRENT-- ))
  case "$words[1]" in
@COMMANDS@
  esac
}
if [[ "${funcstack[1]}" == _toolstream ]]; then
  _toolstream "$@"
else
  compdef _toolstream toolstream
fi
"""

_FISH: Final = r"""# fish completion for toolstream: toolstream completion fish | source
function __toolstream_begins
    test (count (commandline -opc)) -eq 1
end
function __toolstream_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv; and not contains -- -- $words
end
complete -c toolstream -f
complete -c toolstream -n 'contains -- -- (commandline -opc)' -F
@NAMES@
@COMMANDS@
"""

_POWERSHELL: Final = r"""# PowerShell completion for toolstream:
#     toolstream completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName toolstream -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $known = [ordered]@{
@COMMANDS@
    }
    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { $_.ToString() })
    if ($words.Count -le 1) {
        $values = @($known.Keys)
    } else {
        $command = $words[1]
        $option = $words[-1]
        if (-not $known.Contains($command)) { return }
        if ((' @TAKING@ '.Contains(" $command ")) -and ($words -contains '--')) { return }
        $options = $known[$command]
        if ($option.StartsWith('-') -and $options.ContainsKey($option) -and ($null -ne $options[$option])) {
            $values = $options[$option]
        } elseif ($wordToComplete.StartsWith('-')) {
            $values = @($options.Keys | Where-Object { $_ -ne '' } | Sort-Object)
        } else {
            $values = $options['']
        }
    }
    $values | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }
}
"""

SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH, "powershell": _POWERSHELL}


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
