"""The error of everything that a user can ask for."""

from __future__ import annotations


class ToolstreamError(ValueError):
    """A request of the user cannot be carried out. The message: what is wrong, and what was expected."""
