"""The completion scripts, with places for the names of commands, for those that take a command, and for arguments."""

from __future__ import annotations

from typing import Final

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
