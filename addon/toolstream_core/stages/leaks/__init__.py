"""Calls that are written as text: the syntaxes, and the reader that finds them. Knows no protocol."""

from toolstream_core.stages.leaks.scanner import Leaked, Scanner, marks

__all__ = ["Leaked", "Scanner", "marks"]
