"""Collects the record of one response as its events arrive."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.defects.framing import UNTERMINATED_EVENT
from toolstream_core.engine.sink import Sink
from toolstream_core.faults.spec import Picker
from toolstream_core.model import (
    Call,
    Change,
    Event,
    EventContent,
    Finding,
    Injected,
    Note,
    Record,
    SkippedRun,
    StreamFacts,
)
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.requests import tools
from toolstream_core.stages import stream_checks
from toolstream_core.wire.frame import Form

MAX_FINDINGS = 1000
"""Findings of one response that are kept."""


class RecordBuilder:
    """Collects the record of one response, and reports to `sinks`."""

    def __init__(
        self,
        protocol: WireProtocol,
        exchange: StreamFacts,
        sinks: Sequence[Sink] = (),
        *,
        streamed: bool = True,
    ) -> None:
        """`exchange.request` has the offered tools, which help to interpret fragments."""
        self._protocol, self._exchange = protocol, exchange
        model = protocol.api.model(exchange.path, exchange.request)
        self._record = Record(exchange.source, protocol.name, exchange.host, model, streamed=streamed)
        self._model: str | None = None
        self.schemas = tools.schemas(exchange.request)
        """The schema of the parameters of each offered tool."""
        self.parameters = tools.parameters(self.schemas)
        self._calls = protocol.calls(self.parameters)
        self._sinks = tuple(sinks)
        self._live = tuple(sink for sink in sinks if sink.live)
        self.each = any(sink.each for sink in self._live)
        is_lines = protocol.api.stream_form is Form.LINES and protocol.name in UNTERMINATED_EVENT.protocols
        self._framing = stream_checks.Framing(self.found, protocol.quiet, is_lines=is_lines)
        self._checks = True
        self.discards = False
        """Whether changes are not kept, because the client does not get them."""
        self.faults: Sequence[Picker] = ()
        """The faults that apply to this response."""
        self._found: set[tuple[str, int, int | None]] = set()
        self.resolved: Sequence[ResolvedFragment] = ()
        """The fragments of the last event, with their calls."""
        self.ended = False
        """Whether a finish reason or the terminal event has arrived."""
        self.changes: list[Change] = []
        """The changes of the last event."""
        self._recovered: list[Call] = []
        for sink in self._sinks:
            sink.begun(self._record)

    @property
    def has_live_sinks(self) -> bool:
        """Whether a sink receives single events."""
        return bool(self._live)

    @property
    def is_complete(self) -> bool:
        """Whether the response has ended, and all calls are complete."""
        return self._record.ended and all(call.complete for call in self._calls.resolved())

    def calls(self) -> list[Call]:
        """The calls so far, with the names of their tools."""
        calls = self._calls.resolved()
        for call in calls:
            call.name = self._protocol.api.tool_name(self._exchange.request, call.name)
        return calls

    def incomplete_calls(self) -> Sequence[OpenCall]:
        """The incomplete calls that no finish reason or error explains; empty after `stop_checks`."""
        if not self._checks:
            return ()
        return stream_checks.cut_off(self._calls.incomplete_calls(), self._record.findings)

    def stop_checks(self) -> None:
        """Do not check the rest of the response."""
        self._checks = False

    def found(self, finding: Finding) -> None:
        """Keep and report a finding; the same one only once."""
        key = (finding.code, finding.event, finding.call)
        if len(self._record.findings) < MAX_FINDINGS and key not in self._found:
            self._found.add(key)
            self._record.findings.append(finding)
            for sink in self._live:
                sink.found(finding)

    def changed(self, changed: Change) -> None:
        """Keep and report a change, if the client gets the result."""
        if self.discards:
            return
        self.changes.append(changed)
        if changed.kind != "fault":
            self._record.changed += 1
            self._record.changes += [name for name in changed.names if name not in self._record.changes]
        for sink in self._live:
            sink.changed(changed)

    def add_note(self, name: str, message: str) -> None:
        """Note a change that is not one of an event, or that was not possible."""
        self._record.notes.append(Note(name, message))

    def add_recovered(self, calls: Sequence[Call]) -> None:
        """Add calls that did not arrive and were inserted."""
        self._recovered += calls

    def __call__(self, event: Event) -> None:
        """Take the next event."""
        record, frame = self._record, event.frame
        record.bytes += len(frame.raw)
        self.resolved = ()
        self.changes = []
        if frame.data is None:
            self._checks = self._checks and not frame.oversize
            self._framing.without_data(frame)
            for sink in self._live:
                sink.without_data(frame)
            return
        content = event.content
        record.events += 1
        self.resolved = self._calls.resolve(content, frame.number)
        if self._model is None:
            self._model = content.model or None
        if content.finishes or content.end or content.error:
            self._note_end(content)
        for sink in self._live:
            sink.resolved(event, content, self.resolved)
        self._framing.with_data(frame, content)

    def quiet(self, first: int, frames: int, size: int) -> None:
        """Count frames without tool calls."""
        self._record.bytes += size
        self._record.events += frames
        for sink in self._live:
            sink.quiet(first, frames, size)

    def on_each_skipped(
        self, number: int, arguments: str, call: OpenCall, change: Change | None, event: Callable[[], Event]
    ) -> None:
        """Report an event that is forwarded unparsed, and its change; `on_skipped` counts both."""
        for sink in self._live:
            sink.on_each_skipped(number, arguments, call, change, event)

    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """Count events that were forwarded unparsed."""
        record = self._record
        record.bytes += passed.size
        record.events += passed.events
        record.changed += passed.events if passed.changed else 0
        call.runs.extend(passed.first, passed.events)
        call.arguments.add_skipped(passed)

    def finished(self, *, broken: str | None = None, unread: str | None = None) -> Record:
        """The record, complete except for the work of timing faults. `unread`: why reading stopped before the end."""
        record = self._record
        if not (broken and record.ended and stream_checks.BY_CLIENT.search(broken)):
            record.broken = broken
        record.model = self._model or record.model
        record.calls = self.calls()
        incomplete = self.incomplete_calls() if record.ended else ()
        findings = [*record.findings, *stream_checks.check(record, unread, incomplete)]
        if record.calls and self.schemas and tools.lists_all(self._exchange.request):
            findings += stream_checks.unknown_tools(record, self.schemas)
        record.findings = findings[:MAX_FINDINGS]
        return record

    def report_end(self) -> None:
        """Report the end of the response to the sinks."""
        record = self._record
        record.calls += self._recovered
        record.faults = [Injected(pick.fault.spec, pick.rolled, pick.touched) for pick in self.faults]
        for sink in self._sinks:
            sink.ended(record)

    def _note_end(self, content: EventContent) -> None:
        record = self._record
        reasons = [finish.reason for finish in content.finishes if finish.reason]
        if reasons or content.end:
            record.finish.extend(reasons)
            record.ended = self.ended = True
        if content.error and record.error is None:
            record.error = content.error
