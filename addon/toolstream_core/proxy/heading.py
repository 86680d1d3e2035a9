"""What names an answer in the log and in JSON Lines."""

from __future__ import annotations

from typing import NamedTuple


class Heading(NamedTuple):
    """Of one answer of an LLM."""

    number: int
    """Counted from 1 on in one run of the proxy."""
    host: str
    protocol: str
    model: str | None
    """As the request names it."""
