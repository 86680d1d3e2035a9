"""The error of all commands."""

from __future__ import annotations


class UsageError(ValueError):
    """A command that cannot be carried out as given; the message says what was expected."""
