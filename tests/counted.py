"""How many functions are called: a measure of work that no machine's speed changes."""

from __future__ import annotations

from cProfile import Profile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def functions_called(work: Callable[[], object], *, builtins: bool = True) -> int:
    """Python's, a generator that goes on among them; and C's, unless `builtins` is false."""
    profile = Profile(builtins=builtins)
    profile.enable()
    try:
        work()
    finally:
        profile.disable()
    # What ends the counting is counted itself.
    return sum(entry.callcount for entry in profile.getstats() if "lsprof" not in str(entry.code))
