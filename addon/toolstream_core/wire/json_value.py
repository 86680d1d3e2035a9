"""Foreign JSON values: absent, null and there are three things."""

from __future__ import annotations

import enum
from typing import Any, Final, Never

type Json = Any
"""Foreign JSON, looked at through `wire.json_access` only."""


class Absent(frozenset[Never], enum.Enum):
    """The type of `ABSENT`, so that `Seen` narrows under `is`.

    An empty set, so that absent is as false as null and empty: `if fragment.id` means "there is one".
    """

    ABSENT = ()

    def __repr__(self) -> str:
        """Read as the bare name in reports and assertion diffs."""
        return "ABSENT"


ABSENT: Final = Absent.ABSENT

type Seen[T] = T | Absent | None
"""A value as the wire has it: absent, JSON null, or there. The three are never collapsed here."""
