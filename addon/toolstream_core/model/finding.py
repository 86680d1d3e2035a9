"""What is wrong with a stream."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Severity(enum.StrEnum):
    """How bad a finding is. Only errors and warnings count for exit codes."""

    ERROR = "error"
    """No correct reader can get the calls right from this."""
    WARNING = "warning"
    """Outside the protocol's letter; a careful reader has to guess."""
    NOTE = "note"
    """Lawful or tolerated, but known to break clients."""


class Finding(NamedTuple):
    """Something wrong with a stream, where it shows."""

    code: str
    name: str
    severity: Severity
    event: int
    call: int | None
    message: str
    repair: str | None = None
