"""Variables of this process's environment, set for a while and put back."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Environment:
    """Sets variables; `restore` puts each back that still has, or has again, what was set here."""

    def __init__(self, variables: Mapping[str, str], removed: Iterable[str]) -> None:
        """Nothing changes before `set`."""
        self._variables = dict(variables)
        self._removed = tuple(removed)
        self._before: dict[str, str | None] = {}
        self._opener: Any = None

    def set(self) -> None:
        """Set them, and remember what was there."""
        names = (*self._variables, *self._removed)
        self._before = {name: os.environ.get(name) for name in names}
        os.environ.update(self._variables)
        for name in self._removed:
            os.environ.pop(name, None)
        self._opener = _swap_opener(None)

    def restore(self, *, everything: bool = True) -> None:
        """Put back what was there; without `everything`, only what still is as it was set here."""
        for name, value in self._before.items():
            if not everything and os.environ.get(name) != self._variables.get(name):
                continue
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if everything:
            _swap_opener(self._opener)


def _swap_opener(opener: Any) -> Any:
    """Give `urlopen` another opener, and get the one it had: it keeps the proxies that it found when it was first used.

    Python has a function to set it, and none to ask for it.
    """
    module = sys.modules.get("urllib.request")
    if module is None:
        return None
    before = vars(module).get("_opener")
    module.install_opener(opener)
    return before
