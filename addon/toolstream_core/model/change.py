"""What was rewritten, for the audit."""

from typing import NamedTuple


class Change(NamedTuple):
    """One change, for the audit: what an event was and what it became. Several frames are joined, none is `b""`."""

    rows: tuple[str, ...]
    """Names of the defects that demanded it, of the shape, or of the fault."""
    event: int
    before: bytes
    after: bytes
    kind: str = "repair"
    """`repair`, `shape` or `fault`."""
