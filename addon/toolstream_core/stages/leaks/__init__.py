"""Calls that are written as text: the syntaxes, and the reader that finds them. Knows no protocol."""

from toolstream_core.stages.leaks.scanner import Leaked, Scanner, may_leak

__all__ = ["Leaked", "Scanner", "may_leak"]
