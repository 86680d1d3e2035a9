"""Completion: a script for each shell, and the candidates for which these scripts ask `toolstream __complete`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from toolstream_core.cli.arguments import FAULT, Names
from toolstream_core.cli.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_BASH: Final = r"""# bash completion for toolstream: source <(toolstream completion bash)
_toolstream() {
  local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT} words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local last=$((${#words[@]} - 1))
  local word=${words[last]}
  if [[ ${words[last - 1]} == -- ]]; then
    COMPREPLY=($(compgen -c -- "$word"))
    return
  fi
  IFS=$'\n'
  COMPREPLY=($(toolstream __complete "${words[@]:1}" 2>/dev/null | cut -f 1))
  # readline replaces what follows the last of the word breaks
  COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*[$COMP_WORDBREAKS]}"}"}")
  [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}
complete -o bashdefault -o default -F _toolstream toolstream
"""

_ZSH: Final = r"""#compdef toolstream
# zsh completion for toolstream: source <(toolstream completion zsh), after compinit
_toolstream() {
  local at=${words[(i)--]}
  if (( at < CURRENT )); then
    words=("${(@)words[at + 1, -1]}")
    (( CURRENT -= at ))
    _normal
    return
  fi
  local -a found
  found=(${(f)"$(toolstream __complete "${(@Q)words[2, CURRENT - 1]}" "$PREFIX" 2>/dev/null)"})
  found=("${(@)${(@)found//:/\\:}//$'\t'/:}")
  local -a end
  [[ ${found[1]} == *=:* ]] && end=(-S '')
  (( $#found )) && _describe argument found "${end[@]}" || _files
}
if [[ "${funcstack[1]}" == _toolstream ]]; then
  _toolstream "$@"
else
  compdef _toolstream toolstream
fi
"""

_FISH: Final = r"""# fish completion for toolstream: toolstream completion fish | source
function __toolstream
    set -l words (commandline -opc)
    if contains -- -- $words
        complete -C (commandline -cp | string replace -r '^.*? -- ' '')
    else
        toolstream __complete $words[2..] (commandline -ct) 2>/dev/null | string match -r '.+'
        or __fish_complete_path (commandline -ct)
    end
end
complete -c toolstream -f -a '(__toolstream)'
"""

_POWERSHELL: Final = r"""# PowerShell completion for toolstream:
#     toolstream completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName toolstream -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
    # PowerShell before 7.3 leaves out an empty argument
    $word = if ($wordToComplete) { $wordToComplete } else { '""' }
    toolstream __complete @words $word | ForEach-Object {
        $value = ($_ -split "`t")[0]
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $_)
    }
}
"""

SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH, "powershell": _POWERSHELL}


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    print(SCRIPTS[args.shell], end="")
    return 0


def complete(words: Sequence[str]) -> int:
    """Print a line for each candidate: value, tab, help. Without a candidate, the shell completes files."""
    *before, begun = words
    begun = begun.strip("\"'")
    for value, text in _candidates(before, begun):
        if value.startswith(begun):
            print(value, text, sep="\t")
    return 0


def _candidates(before: Sequence[str], begun: str) -> Iterable[tuple[str, str]]:
    """The possible next words after `before`, each with its help."""
    if not before:
        commands = ((one.name, one.help) for one in COMMANDS.values())
        return [*commands, ("--help", "list all commands"), ("--version", "print the version")]
    if before[0] not in COMMANDS or "--" in before:
        return ()
    if begun.startswith("demo:"):
        from toolstream_core.saved import demo

        return ((f"{demo.PREFIX}{name}", "a packaged flow") for name in demo.names())
    return _arguments(COMMANDS[before[0]].parser()._actions, before[-1], begun)  # noqa: SLF001 - no public way


def _arguments(actions: Sequence[argparse.Action], option: str, begun: str) -> Iterable[tuple[str, str]]:
    flags = {flag: one for one in actions if one.help != argparse.SUPPRESS for flag in one.option_strings}
    start, value = "", begun
    if "=" in begun and begun.partition("=")[0] in flags:
        option, value = begun.split("=", 1)
        start = f"{option}="
    action = flags.get(option)
    if action is not None and (start or action.nargs is None):
        valued = [action]
    elif begun.startswith("-"):
        return ((flag, one.help or "") for flag, one in flags.items())
    else:
        valued = [one for one in actions if not one.option_strings]
    fault, colon, keys = value.partition(":")
    if colon and any(one.type is FAULT for one in valued):
        from toolstream_core.faults.spec import KEYS
        from toolstream_core.transit.definitions import keys_of

        start += f"{fault}:{keys[: keys.rfind(',') + 1]}"
        return ((f"{start}{key}=", "") for key in (*keys_of(fault), *KEYS))
    start += value[: value.rfind(",") + 1]
    return ((f"{start}{name}", one.help or "") for one in valued for name in _values(one))


def _values(action: argparse.Action) -> Iterable[object]:
    return action.type.known() if isinstance(action.type, Names) else action.choices or ()
