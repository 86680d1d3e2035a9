"""Options by their old names, which work for one more version."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from toolstream_core.cli.values import CALLS
from toolstream_core.proxy.option_table import LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CAPTURES: Final = {"--capture-when": "--when", "--capture-text": "--text", "--capture-secret": "--secret"}
RENAMED: Final[dict[str, dict[str, str]]] = {
    "inspect": {"--dialect": "--protocol"},
    "extract": {"--only": "--when"},
    "report": {"--finding": "--select"},
    "shrink": {"--finding": "--select", "--state": "--resume"},
    "check": {
        "--faults": "--case",
        "--only": "--case",
        "--json": "--format json --output",
        "--flow": "",
        "--call": CALLS,
    },
    "run": _CAPTURES,
    "serve": {**_CAPTURES, "--log": "--level"},
}
"""For each command its old options, all of which take a value: the new option, or the prefix of an argument."""


def with_new_names(command: str, words: Sequence[str]) -> list[str]:
    """The words with new options for old ones."""
    return list(_replaced(RENAMED.get(command, {}), iter(words)))


def _replaced(renamed: dict[str, str], words: Iterator[str]) -> Iterator[str]:
    for word in words:
        name, joined, value = word.partition("=")
        new = renamed.get(name)
        if new is None:
            yield word
            continue
        values = [value] if joined else list(islice(words, 1))
        if name == "--log" and not {*values} <= {*LEVELS}:  # not a level: the new option of this name
            yield from (name, *values)
        elif new.startswith("--"):
            *before, option = new.split()
            yield from (*before, "=".join([option, *values]))
        else:
            yield from (new + value for value in values)
