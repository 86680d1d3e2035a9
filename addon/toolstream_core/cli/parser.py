"""The argument parser of a command: one prefix for errors, suggestions for unknown names, one epilog."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final, NoReturn, override

from toolstream_core.errors import ToolstreamError
from toolstream_core.suggest import nearest, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXIT_CODES: Final = {
    0: "success",
    1: "findings of severity error or warning, failed cases, or nothing to do",
    2: "usage error, or input that cannot be read",
    130: "interrupted",
}
RUN_EXIT_CODES: Final = {
    2: "usage error, input that cannot be read, or the proxy cannot start",
    126: "CMD cannot be run",
    127: "CMD was not found",
    130: EXIT_CODES[130],
}


def _listed(codes: Mapping[int, str]) -> str:
    return "; ".join(f"{code} {meaning}" for code, meaning in codes.items())


EPILOG: Final = f"Exit codes: {_listed(EXIT_CODES)}."
RUN_EPILOG: Final = f"Exit code: that of CMD, or {_listed(RUN_EXIT_CODES)}."


class Parser(argparse.ArgumentParser):
    """A parser that raises `ToolstreamError`."""

    def __init__(self, name: str, **settings: Any) -> None:
        """The parser of the command `name`."""
        super().__init__(prog=f"toolstream {name}", allow_abbrev=False, **settings)
        self.name = name

    def parsed(self, words: Sequence[str], args: argparse.Namespace, renamed: Sequence[str] = ()) -> argparse.Namespace:
        """The arguments in `words`, options and others in any order. `renamed` are old options of the command."""
        args, left = self.parse_known_intermixed_args(words, args)
        if left and left[0].startswith("-"):
            option = left[0].partition("=")[0]
            known = [flag for flag in self._option_string_actions if flag.startswith("--")]
            near = nearest(option, [*known, *renamed])
            hint = f"; did you mean {near}?" if near else "."
            raise ToolstreamError(f"unknown option {option}{hint} See `toolstream help {self.name}`")
        if left:
            raise ToolstreamError(f"unexpected argument {left[0]!r}. See `toolstream help {self.name}`")
        return args

    @override
    def error(self, message: str) -> NoReturn:
        text = message.removeprefix("argument ").replace("the following arguments are required:", "missing argument:")
        hint = "" if "See `" in text or "Expected" in text else f". See `toolstream help {self.name}`"
        raise ToolstreamError(text + hint)

    @override
    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, unknown("value", str(value), map(str, action.choices)))
