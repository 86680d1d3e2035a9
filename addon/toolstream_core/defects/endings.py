"""How a stream is framed and how it stops: what is wrong with either. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import ABSENT, Finding, Kind, Severity

if TYPE_CHECKING:
    from toolstream_core.model import Said
    from toolstream_core.record import Record
    from toolstream_core.wire.frame import Frame

_NO_JSON = frozenset({b"[DONE]", b""})


class Framing:
    """Collects what is wrong with the frames themselves, each kind told once."""

    def __init__(self) -> None:
        """Start empty."""
        self.findings: list[Finding] = []
        self._told: set[str] = set()

    def without_data(self, frame: Frame) -> None:
        """Look at a frame that carries nothing to read."""
        if frame.oversize:
            self._tell(
                Finding(
                    "TS001",
                    "oversize-frame",
                    Severity.WARNING,
                    frame.number,
                    None,
                    "a frame over the size cap went through unread",
                )
            )

    def with_data(self, frame: Frame, said: Said) -> None:
        """Look at a frame that was read."""
        if frame.json is ABSENT and not said.error and (frame.data or b"").strip() not in _NO_JSON:
            self._tell(
                Finding(
                    "TS002",
                    "unparsable-data",
                    Severity.WARNING,
                    frame.number,
                    None,
                    "the data of this event is no JSON",
                )
            )
        if frame.trailing:
            self._tell(
                Finding(
                    "TS003",
                    "unterminated-event",
                    Severity.NOTE,
                    frame.number,
                    None,
                    "the last event lacks its terminator; a reader that keeps to the standard drops it",
                )
            )

    def _tell(self, finding: Finding) -> None:
        if finding.name not in self._told:
            self._told.add(finding.name)
            self.findings.append(finding)


def check(record: Record, unread: str | None) -> list[Finding]:
    """What is wrong with how the answer stopped."""
    last = max(record.events - 1, 0)
    findings = []
    if unread:
        findings.append(
            Finding("TS004", "unreadable-body", Severity.ERROR, last, None, f"reading stopped here: {unread}")
        )
    if not (record.ended or record.error or unread):
        how = f"the connection broke ({record.broken})" if record.broken else "the body ended"
        message = f"{how} before the answer was finished"
        findings.append(Finding("TS301", "truncated-stream", Severity.ERROR, last, None, message))
    elif record.broken:
        message = f"everything was said, then the connection broke ({record.broken})"
        findings.append(Finding("TS303", "unterminated-body", Severity.ERROR, last, None, message))
    for position, call in enumerate(record.calls):
        if not call.complete and call.kind is not Kind.SERVER and not unread:
            findings.append(
                Finding(
                    "TS302",
                    "cut-off-call",
                    Severity.ERROR,
                    max(call.events, default=last),
                    position,
                    f"the arguments of {call.name or 'a call'} are not whole",
                )
            )
    return findings

