"""What passed in one run of the proxy, counted; and the lines that tell it at one glance."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.report.layout import counted
from toolstream_core.report.verdict import as_flags

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_REVERSE: Final = (
    "some clients never use a proxy for servers of this machine (Go, for example); if --base-url does not help, run "
    'mitmdump --mode reverse:http://127.0.0.1:PORT -s "$(toolstream addon-path)", with PORT of the server, and set '
    "the client's base URL to http://127.0.0.1:8080"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """What passed."""

    requests: int
    """To LLMs."""
    others: int
    """Requests to anything else."""
    refused: int
    """Requests to LLMs that were answered with an HTTP error."""
    websockets: int
    """Connections to LLMs as WebSockets; each may have had many answers."""
    unopened: int
    """WebSockets to LLMs that were refused with an HTTP error."""
    answers: int
    """Of LLMs, also those that were not whole."""
    calls: int
    findings: Mapping[str, int]
    """By the defect's name."""
    changes: Mapping[str, int]
    """Answers that were rewritten, by the name of the repair or shape."""
    faults: Mapping[str, int]
    """Answers that were broken on purpose, by the fault's specification; 0 where it found nothing to act on."""
    verdicts: Mapping[str, int]
    advice: Mapping[str, str]
    """For verdicts, an option under which the client would have understood."""
    unreached: Mapping[str, str]
    """Why there was no connection to a server, by its host and port."""
    captured: Sequence[Path]

    def lines(self) -> Iterator[str]:
        """What is told of it at the end of a run."""
        yield ", ".join(self._counts())
        yield from self._connections()
        if self.findings:
            yield f"findings: {_listed(self.findings)}"
        if self.changes:
            yield f"responses changed: {_listed(self.changes)}"
        if acted := {spec: count for spec, count in self.faults.items() if count}:
            yield f"injected: {_listed(acted)}"
        if idle := [spec for spec, count in self.faults.items() if not count]:
            yield f"injected nothing (no matching event): {', '.join(idle)}"
        if self.verdicts:
            yield f"verdicts: {_listed(self.verdicts, self.advice)}"
        if self.captured:
            folders = dict.fromkeys(str(path.parent) for path in self.captured)
            yield f"captured: {counted(len(self.captured), 'flow')} in {', '.join(folders)}"

    def _connections(self) -> Iterator[str]:
        """WebSockets, and why there may have been no request or response."""
        if self.websockets:
            yield f"{counted(self.websockets, 'WebSocket')} to an LLM"
        if self.unopened:
            yield f"{counted(self.unopened, 'WebSocket')} to an LLM rejected with an HTTP error"
        if self.unreached and not self.answers:
            yield from (f"could not connect to {server}: {error}" for server, error in self.unreached.items())
        elif not self.requests and not self.websockets and not self.unopened:
            yield "no LLM request seen; use --base-url for clients that ignore proxy variables"
            yield _REVERSE

    def _counts(self) -> Iterator[str]:
        yield counted(self.requests, "request")
        if self.refused:
            yield f"{self.refused} rejected with an HTTP error"
        yield counted(self.answers, "response")
        yield f"{counted(self.calls, 'call')} sent"
        if self.others:
            yield counted(self.others, "other request")


def passed_of(told: Mapping[str, Any]) -> Passed:
    """Read what the proxy tells at its end."""
    chosen = {one.name: told[one.name] for one in fields(Passed)}
    return Passed(**{**chosen, "captured": [Path(path) for path in told["captured"]]})


def _listed(counts: Mapping[str, int], advice: Mapping[str, str] | None = None) -> str:
    """Names and numbers, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    helped = {name: f" → {as_flags(option)}" for name, option in (advice or {}).items()}
    return ", ".join(f"{name} {count}{helped.get(name, '')}" for name, count in ordered)
