"""What can be wrong with a stream: one row a defect, with the words that name it. Knows no stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.model import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable


class Row(NamedTuple):
    """A defect. Its code is never used for another; its name is the bad pattern."""

    code: str
    name: str
    family: str
    severity: Severity
    meaning: str

    def found(self, event: int, message: str, call: int | None = None) -> Finding:
        """This defect, seen at an event and perhaps in a call."""
        return Finding(self.code, self.name, self.severity, event, call, message)


OVERSIZE_FRAME: Final = Row(
    "TS001", "oversize-frame", "framing", Severity.WARNING, "one event is larger than anybody reads"
)
UNPARSABLE_DATA: Final = Row("TS002", "unparsable-data", "framing", Severity.WARNING, "an event's data is no JSON")
UNTERMINATED_EVENT: Final = Row(
    "TS003",
    "unterminated-event",
    "framing",
    Severity.NOTE,
    "the last event lacks the blank line that ends it",
)
UNREADABLE_BODY: Final = Row(
    "TS004", "unreadable-body", "framing", Severity.ERROR, "the body could not be read to its end"
)
TRUNCATED_STREAM: Final = Row(
    "TS301", "truncated-stream", "ending", Severity.ERROR, "the body ended before the answer did"
)
CUT_OFF_CALL: Final = Row("TS302", "cut-off-call", "ending", Severity.ERROR, "a call's arguments are not whole")
UNTERMINATED_BODY: Final = Row(
    "TS303", "unterminated-body", "ending", Severity.ERROR, "the connection broke after everything was said"
)

ROWS: Final = (
    OVERSIZE_FRAME,
    UNPARSABLE_DATA,
    UNTERMINATED_EVENT,
    UNREADABLE_BODY,
    TRUNCATED_STREAM,
    CUT_OFF_CALL,
    UNTERMINATED_BODY,
)

ALL: Final = "all"


class UnknownDefectError(ValueError):
    """A word that names no row; the message says which do."""


def named(words: Iterable[str]) -> frozenset[str]:
    """The codes that `words` mean: codes, names, families, `all`. Raises `UnknownDefectError`."""
    codes: set[str] = set()
    for word in words:
        meant = {row.code for row in ROWS if word in {row.code, row.name, row.family, ALL}}
        if not meant:
            raise UnknownDefectError(f"{word!r} names no defect; known are {_known()}")
        codes |= meant
    return frozenset(codes)


def _known() -> str:
    families = sorted({row.family for row in ROWS})
    return ", ".join([*(f"{row.code} {row.name}" for row in ROWS), *families, ALL])
