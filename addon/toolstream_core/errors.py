"""The error of everything that a user can ask for."""

from __future__ import annotations


class ToolstreamError(ValueError):
    """What was asked cannot be done. The message is one sentence or two: what is wrong, and what was expected."""
