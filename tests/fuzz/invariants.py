"""The invariants of every stream, also of malformed ones: each yields the violations in the runs of one case."""

from __future__ import annotations

import itertools
import re
import traceback
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz import readers
from tests.fuzz.blocks import Block, Split, parsed, split_blocks
from tests.fuzz.drive import Outcome
from tests.fuzz.evidence import NOTHING, Evidence, canonical
from tests.fuzz.messages import MESSAGES, messages
from tests.tables import REPAIRED_ONLY
from toolstream_core.defects.defect import LIVE
from toolstream_core.defects.table import DEFECTS
from toolstream_core.model import Kind
from toolstream_core.protocols.protocol import CallForm
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.settings import shape_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fuzz.drive import Run
    from tests.fuzz.readers import ClientReading

_BLOCKS = re.compile(rb"^(?:data|event):", re.MULTILINE)
_OBJECTS = re.compile(rb"^\{", re.MULTILINE)
type Invariant = Callable[["ClientOutcome"], Iterator[str]]
type CallArguments = list[tuple[str, str]]
"""Names and arguments of calls."""

WHOLE_CALLS = frozenset(one.name for one in PROTOCOLS if one.call_form is CallForm.WHOLE)
"""Protocols that send each call complete in one event."""
REPAIRED = frozenset(defect.name for defect in DEFECTS if defect.repair == "safe" and defect.code not in LIVE)
"""Defects that a safe repair fixes without another request."""
_FIELD = re.compile(rb"[\r\n]*(?:(?:data|event|id|retry)[:\r\n]|:)")
"""The first line of an event stream, independent of the content type."""
REPEATED = frozenset({"placeholder-arguments", "cumulative-arguments", "replayed-arguments"})
"""Defects that repeat arguments: of an incomplete call, the resolver returns all text, and the repair the last copy."""

LATE = frozenset({"missing-start", "late-name", "missing-id"})
"""Defects after whose repair a call starts later: entries without content are removed, unknown events are held."""


class ClientOutcome(Outcome):
    """An outcome, and what a plain client reads from its bytes."""

    @cached_property
    def protocol(self) -> str:
        """The protocol that was recognised."""
        return self.off.record.protocol if self.off.record and self.off.record.streamed else ""

    @cached_property
    def framing(self) -> str:
        """The content type of the body, detected from its bytes."""
        if self.case.content_type == MESSAGES or (self.case.body.startswith(b"\0\0") and messages(self.case.body)[0]):
            return MESSAGES
        body = self.case.body.removeprefix(b"\xef\xbb\xbf")
        begin = body.lstrip()[:1]
        if begin == b"{" and self.protocol in {"ollama", "openai-realtime"}:
            return "application/x-ndjson"  # independent of its lines
        if begin == b"[":
            return "application/json"
        lines = self.case.content_type == "application/x-ndjson"
        if lines and not _FIELD.match(body):
            return self.case.content_type
        if not lines and _FIELD.match(body.partition(b"\n")[2]):
            return "text/event-stream"  # independent of its first line
        blocks = not lines and len(_BLOCKS.findall(self.case.body)) >= len(_OBJECTS.findall(self.case.body))
        return "application/x-ndjson" if begin == b"{" and not blocks else "text/event-stream"

    @cached_property
    def raw(self) -> ClientReading:
        """What a plain client reads from the received bytes."""
        return readers.read(self.protocol, self.case.body, self.framing)

    @cached_property
    def raw_terminated(self) -> ClientReading:
        """The same with a terminator added to a last event that lacks only that."""
        complete = _is_complete_event(self.raw_split.tail, self.framing)
        return readers.read(self.protocol, self.case.body + b"\n\n", self.framing) if complete else self.raw

    @cached_property
    def repaired(self) -> ClientReading:
        """What a plain client reads from the forwarded bytes."""
        return readers.read(self.protocol, self.on.out, self.framing)

    @cached_property
    def raw_split(self) -> Split:
        """The received blocks."""
        return split_blocks(self.case.body, self.framing)

    @cached_property
    def repaired_split(self) -> Split:
        """The forwarded blocks."""
        return split_blocks(self.on.out, self.framing)

    @cached_property
    def evidence(self) -> Evidence:
        """The contents of the received bytes."""
        return Evidence(self.case.body, self.framing)

    @property
    def safe(self) -> bool:
        """Whether the invariants of safe repairs apply."""
        return self.case.safe_only and bool(self.protocol)


def no_exception(outcome: ClientOutcome) -> Iterator[str]:
    """Nothing raises, no empty chunk is sent, and without options toolstream forwards streams unchanged."""
    yield from _nothing_raised(outcome, "off", "on")
    if outcome.off.error is None and outcome.off.out != outcome.case.body:
        yield "off: bytes were changed without options"


def no_exception_however_cut(outcome: ClientOutcome) -> Iterator[str]:
    """The same for other chunk boundaries, with any log, with and without the fast path: four more runs."""
    yield from _nothing_raised(outcome, "unlogged", "slow", "every_event", "off_logged")


def _nothing_raised(outcome: ClientOutcome, *names: str) -> Iterator[str]:
    for name in names:
        run: Run = getattr(outcome, name)
        if run.error is not None:
            yield f"{type(run.error).__name__}: {run.error}: {name}: {_where(run.error)}"
            return
        if run.sent_empty:
            yield f"{name}: an empty chunk was sent"


def same_for_every_cut(outcome: ClientOutcome) -> Iterator[str]:
    """Bytes, findings and calls do not depend on chunk boundaries, logs or the fast path."""
    for run in (outcome.unlogged, outcome.slow, outcome.every_event):
        if run.out != outcome.on.out:
            yield f"other bytes at {_differ(run.out, outcome.on.out)}"
        yield from _same(run, outcome.on)
    yield from _same(outcome.off_logged, outcome.off)


def same_findings_with_repairs(outcome: ClientOutcome) -> Iterator[str]:
    """Findings do not depend on the selected repairs."""
    yield from _same(outcome.on, outcome.off)


def _same(one: Run, other: Run) -> Iterator[str]:
    if one.findings != other.findings:
        names = sorted({item[0] for item in one.findings ^ other.findings})
        yield f"other findings: {', '.join(names)}: {sorted(map(str, one.findings ^ other.findings))}"
    if one.calls != other.calls:
        yield f"other calls: {one.calls} and {other.calls}"


def changes_are_reported(outcome: ClientOutcome) -> Iterator[str]:
    """Each changed block is in the audit log, under the name of a finding or a shape."""
    changes = outcome.on.changes
    if outcome.on.out != outcome.case.body and not changes:
        yield f"bytes changed and no change was reported, at {_differ(outcome.on.out, outcome.case.body)}"
    if outcome.on.out == outcome.case.body and changes:
        yield "changes were reported and no byte differs"
    for change in changes:
        if not change.names:
            yield f"a change without a name, of event {change.event}"
        if change.kind == "repair":
            for name in set(change.names) - shape_names() - outcome.on.finding_names - _follow_up_repairs(outcome):
                yield f"{name} was repaired and not reported"
    received = {block.lines for block in outcome.raw_split.blocks}
    yield from _miscounted(outcome)
    if changes:
        after = b"\n".join(change.after for change in changes)
        for block in outcome.repaired_split.blocks:
            if block.lines not in received and not all(line in after for line in block.lines if b":" in line[1:]):
                yield f"a new block that is in no change: {_short(block)}"


def _miscounted(outcome: ClientOutcome) -> Iterator[str]:
    """Yield a violation if the replaced and sent events of the changes do not account for the number of events."""
    before, after = outcome.off.record, outcome.reread.record
    if before is None or after is None:
        return
    more = sum(len(one.sent) - len(one.replaced) for one in outcome.on.changes)
    if before.events + more != after.events:
        yield f"{before.events} events became {after.events}, and the changes account for {more}"


def _follow_up_repairs(outcome: ClientOutcome) -> set[str]:
    """Return defects that are repaired only as a consequence of other repairs, without a finding."""
    from_text = {name for name in outcome.case.repair if name.startswith("leaked-")}
    incomplete = {"invalid-arguments"} if "cut-off-call" in outcome.on.finding_names else set()
    moved = {"missing-done", "missing-type"} if "early-finish" in outcome.case.repair else set()
    moved |= {"unclosed-call"} if any("early-finish" in one.names for one in outcome.on.changes) else set()
    moved |= (
        {"empty-arguments", "missing-done"} if "split-choices" in outcome.case.repair else set()
    )  # the finish reason is in the split choices
    alone = {"missing-id"} if "safe" not in outcome.case.repair and "late-id" in outcome.on.finding_names else set()
    of_text = {"missing-done", "missing-finish", "repeated-finish"} if from_text else alone
    # While the shape holds the stop of a call, a later delta still belongs to the call.
    held = {"unknown-block", "object-arguments"} if "whole-calls" in outcome.case.shape else set()
    return incomplete | moved | of_text | held


def complete_is_true(outcome: ClientOutcome) -> Iterator[str]:
    """A call is complete only if its arguments are a complete object or the protocol ended it."""
    for run in (outcome.off, outcome.reread):
        for call in run.record.calls if run.record else ():
            if not call.complete or call.kind is not Kind.FUNCTION:
                continue
            unstreamed = run.record is not None and not run.record.streamed
            closed = outcome.evidence.closed or unstreamed or run is not outcome.off or outcome.protocol in WHOLE_CALLS
            value = parsed(call.arguments)
            sent = isinstance(value, dict) and (value or outcome.evidence.has_empty)
            if not closed and not sent:
                yield f"complete without evidence: {call.name}({call.arguments})"
            if value is None and call.arguments != "" and not closed:
                yield f"complete and not JSON: {call.name}({call.arguments})"


def nothing_completed(outcome: ClientOutcome) -> Iterator[str]:
    """A call that is complete after safe repairs was complete before, or its arguments were sent."""
    if not outcome.safe or not outcome.on.changes:
        return
    before = {canonical(call.value) for call in outcome.raw.calls.values() if call.value is not None}
    for call in outcome.repaired.calls.values():
        if call.value is None or not call.name or canonical(call.value) in before:  # cannot be run
            continue
        if not call.value and outcome.evidence.closed and _has_no_arguments(outcome, call.name):
            continue
        if not outcome.evidence.proves(call.value):
            yield f"completed without evidence: {call.name}({call.text})"


def _has_no_arguments(outcome: ClientOutcome, name: str) -> bool:
    """Return whether the raw bytes have a call without arguments, for the plain client or in `off`.

    In `off`, the name may still have the decoration that the repair of `decorated-name` removes.
    """
    in_raw = outcome.raw.closed_empty or any(call.text.strip() in NOTHING for call in outcome.raw.calls.values())
    return in_raw or any(
        name in one and arguments == "{}" and complete for one, arguments, complete in outcome.off.calls
    )


def nothing_ended(outcome: ClientOutcome) -> Iterator[str]:
    """A turn that the provider did not end is not ended, neither by a finish reason nor by a terminal event."""
    if outcome.safe and outcome.on.changes and outcome.repaired.finished and not outcome.evidence.closed:
        calls = [call for call in outcome.off.calls if not call[2]]
        if calls or not outcome.off.calls:
            yield f"ended without evidence: {calls}"


def no_call_lost(outcome: ClientOutcome) -> Iterator[str]:
    """A call that a plain client has complete from the raw bytes is complete in the repaired bytes."""
    if not outcome.safe or not outcome.on.changes:
        return
    calls = outcome.repaired.calls.values()
    after = {canonical(call.value) for call in calls if call.value is not None}
    after |= {"{}" for call in calls if call.closed and not call.text.strip()}  # clients read no arguments as {}
    # No client can run a call without a name.
    read = [(name, _value(arguments)) for name, arguments, complete in outcome.off.calls if complete and name]
    # The last event, once terminated, may replace a call.
    closed = {canonical(call.value) for call in outcome.raw_terminated.calls.values() if call.value is not None}
    ends = not any("cut-off-call" in one.names for one in outcome.on.changes)
    for call in outcome.raw.calls.values():
        if call.value is None or not call.name or canonical(call.value) in after:
            continue
        if canonical(call.value) not in closed or (call.only_in_last_event and not ends):
            continue
        if any(arguments == canonical(call.value) and name.startswith(call.name) for name, arguments in read):
            yield f"lost: {call.name}({call.text})"


def nothing_completed_wrongly(outcome: ClientOutcome) -> Iterator[str]:
    """A call that is complete for the client is an intended call or was sent so. Needs the intended calls."""
    if not outcome.case.intended:
        return
    known = {value for _, value in outcome.case.intended} | _complete(outcome.raw) | _complete(outcome.raw_terminated)
    for value in sorted(_complete(outcome.repaired) - known):
        yield f"completed: {value}"


def no_intended_call_lost(outcome: ClientOutcome) -> Iterator[str]:
    """An intended call that a plain client has complete from the raw bytes is sent. Needs the intended calls."""
    values = {value for name, value in outcome.case.intended if name}
    for value in sorted(values & _complete(outcome.raw) - _complete(outcome.repaired)):
        yield f"lost: {value}"


def _complete(without: ClientReading) -> set[str]:
    """Return the arguments of the calls that a plain client can run; it reads no arguments as `{}`."""
    return {
        "{}" if call.value is None else canonical(call.value)
        for call in without.calls.values()
        if call.name and (call.value is not None or (call.closed and not call.text.strip()))
    }


def calls_mean_the_same(outcome: ClientOutcome) -> Iterator[str]:
    """The calls of the repaired bytes are those of the raw bytes."""
    if not outcome.safe or not outcome.on.changes or outcome.on.finding_names & REPAIRED_ONLY:
        return
    if "data-after-end" in {name for change in outcome.on.changes for name in change.names}:
        return  # the repair drops data that no client reads
    before, after = _intended(outcome.off), _intended(outcome.reread)
    if any("cut-off-call" in one.names for one in outcome.on.changes):
        before, after = _without_withheld(before, after)
    if outcome.on.finding_names & LATE:
        before, after = sorted(before), sorted(after)
    if after not in (before, [*outcome.case.intended]) and not (_is_last_copy(outcome) or _is_split_call(outcome)):
        yield f"calls {before} became {after}"


def _without_withheld(before: CallArguments, after: CallArguments) -> tuple[CallArguments, CallArguments]:
    """Return both without incomplete calls that are only in the withheld terminal event."""
    return [one for one in before if one[1] != "incomplete" or one in after], after


def incomplete_calls_mean_the_same(outcome: ClientOutcome) -> Iterator[str]:
    """Incomplete calls of the repaired bytes are those of the raw bytes."""
    if not outcome.safe or not outcome.on.changes or _intended(outcome.off) != _intended(outcome.reread):
        return
    before, after = (sorted(_incomplete(run)) for run in (outcome.off, outcome.reread))
    if any(
        "cut-off-call" in one.names for one in outcome.on.changes
    ):  # calls that are only in the terminal event are withheld with it
        before = sorted(one if one in after else "" for one in before)
    if _is_last_copy(outcome):
        return
    dropped = "data-after-end" in {name for change in outcome.on.changes for name in change.names}
    intended = REPAIRED_ONLY - {"trailing-garbage"}
    if before != after and not dropped and not outcome.on.finding_names & intended:
        yield f"incomplete calls {before} became {after}"


def _is_last_copy(outcome: ClientOutcome) -> bool:
    """Return whether each call is unchanged, or has the last copy of its repeated arguments."""
    before, after = outcome.off.calls, outcome.reread.calls
    if not outcome.on.finding_names & REPEATED or len(before) != len(after):
        return False
    return all(
        one[0] == other[0] and (one == other or (not one[2] and other[1] != "" and _ends_with(one[1], other[1])))
        for one, other in zip(before, after, strict=True)
    )


def _ends_with(text: str, last: str) -> bool:
    """Return whether the text ends with `last`, or with `last` and a beginning of it."""
    return any(text.endswith(last + last[:size]) for size in range(len(last)))


def _is_split_call(outcome: ClientOutcome) -> bool:
    """Return whether the calls differ only where a fragment is complete by itself but the joined fragments are not.

    For a plain client, equal joined text is no difference.
    """
    one, other = (sorted(call.text for call in without.calls.values()) for without in (outcome.raw, outcome.repaired))
    if one == other:
        return True
    complete = {canonical(call.value) for call in outcome.repaired.calls.values() if call.value is not None}
    pairs = list(zip(_intended(outcome.off), _intended(outcome.reread), strict=False))
    same = len(outcome.off.calls) == len(outcome.reread.calls)
    return same and all(
        left == right or (left[0] == right[0] and left[1] == "incomplete" and right[1] not in complete)
        for left, right in pairs
    )


def _incomplete(run: Run) -> list[str]:
    """Return the arguments of incomplete calls; `null` counts as empty."""
    texts = [one for _, one, complete in run.calls if not complete]
    return ["" if not one.replace("null", "").strip() else one.replace('"{}"', "{}") for one in texts]


def _intended(run: Run) -> CallArguments:
    """Return the names of all calls, and the arguments of complete calls.

    Incomplete calls and calls without a name have no order: an event is held until its call is known.
    """
    runs = [(name, _value(arguments)) for name, arguments, complete in run.calls if name and complete]
    others = [call for call in run.calls if not (call[0] and call[2])]
    return runs + sorted((name, _value(text) if complete else "incomplete") for name, text, complete in others)


def text_is_sent(outcome: ClientOutcome) -> Iterator[str]:
    """Every text delta is sent once, in order."""
    if not outcome.safe or not outcome.on.changes:
        return
    for channel in outcome.raw_terminated.text.keys() | outcome.repaired.text.keys():
        text, after = outcome.raw.text.get(channel, ""), outcome.repaired.text.get(channel, "")
        expected = {text, outcome.raw_terminated.text.get(channel, "")}
        if "unstreamed-calls" in outcome.on.finding_names:  # the repair sends the text of a message as a delta
            expected |= {one + text for one in expected for text in outcome.evidence.messages}
        if "foreign-delta" in outcome.on.finding_names:  # whitespace inside a block is dropped
            after, expected = _without_whitespace(after), {_without_whitespace(one) for one in expected}
        if after not in expected:
            what = "lost" if len(after) < len(text) else "added" if len(after) > len(text) else "moved"
            yield f"{what}: {channel}: {text!r} became {after!r}"


def text_stays_before_calls(outcome: ClientOutcome) -> Iterator[str]:
    """Text that was received before a call is not sent after it.

    The position of a call is its header: clients ignore arguments before it.
    """
    if not outcome.safe or not outcome.on.changes or len(outcome.raw.calls) != len(outcome.repaired.calls):
        return
    if any(call.mixed for call in outcome.raw.calls.values()):  # their order is unknown
        return
    names, repaired_names = ({one.name for one in calls.calls.values()} for calls in (outcome.raw, outcome.repaired))
    for one, other in zip(outcome.raw.calls.values(), outcome.repaired.calls.values(), strict=True):
        if one.name != other.name and (other.name in names or one.name in repaired_names):  # another call
            continue
        for channel, length in one.text_before.items():
            if one.name and other.text_before_header.get(channel, 0) < length:  # clients ignore a call without a name
                yield f"text of {channel} moved after {other.name}"


def nothing_joins_a_cut_frame(outcome: ClientOutcome) -> Iterator[str]:
    """A block that was not received is a complete event; a truncated last one is unchanged or dropped."""
    if not outcome.protocol or outcome.on.out == outcome.case.body:
        return
    received = {block.lines for block in outcome.raw_split.blocks}
    data = {block.data for block in outcome.raw_split.blocks}
    ended = split_blocks(outcome.raw_split.tail + b"\n\n", "text/event-stream").blocks  # unterminated
    others = {_event_names(block) for block in (*outcome.raw_split.blocks, *ended)}
    for block in outcome.repaired_split.blocks:
        if outcome.framing == MESSAGES and not (block.name or block.lines in received):
            yield f"a message whose checksum is wrong: {_short(block)}"
        if block.lines in received or block.data is None or block.data in data:
            continue
        element = block.data.strip(b"[], \r\n") if outcome.framing == "application/json" else block.data
        if block.data.strip() != b"[DONE]" and not isinstance(parsed(element), dict):
            yield f"no event: {_short(block)}"
        if len(_event_names(block)) > 1 and _event_names(block) not in others:
            yield f"two in one: {_short(block)}"
    tail = outcome.repaired_split.tail.strip(b"\r\n")
    complete = _is_complete_event(outcome.raw_split.tail, outcome.framing) and _is_complete_event(tail, outcome.framing)
    if (
        tail
        and outcome.safe
        and not complete
        and tail not in outcome.raw_split.tail
        and outcome.framing != "application/json"
    ):
        yield f"a tail that was not received: {tail[:200]!r}"


def _event_names(block: Block) -> tuple[bytes, ...]:
    """Return the values of the `event` lines, without spaces; several mean that two events were joined."""
    fields = (line.partition(b":") for line in block.lines)
    return tuple(value.strip() for field, _, value in fields if field == b"event")


def _is_complete_event(tail: bytes, framing: str) -> bool:
    """Return whether a tail is an event that lacks only its blank line or line feed."""
    if framing == "application/x-ndjson":
        return isinstance(parsed(tail), dict)
    if framing != "text/event-stream":
        return False
    blocks = split_blocks(tail + b"\n\n", "text/event-stream").blocks
    return len(blocks) == 1 and (blocks[0].data == b"[DONE]" or isinstance(blocks[0].payload, dict))


def repaired_stays(outcome: ClientOutcome) -> Iterator[str]:
    """Repairing a repaired stream changes nothing if every finding can be repaired."""
    if not outcome.safe or not outcome.on.changes or outcome.on.finding_names - REPAIRED:
        return
    if outcome.again.out != outcome.on.out:
        yield f"changed again for {sorted({name for change in outcome.again.changes for name in change.names})}"


def _where(error: BaseException) -> str:
    return " < ".join(
        f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)[:-4:-1]
    )


def _without_whitespace(text: str) -> str:
    return "".join(text.split())


def _value(arguments: str) -> str:
    value = parsed(arguments)
    return canonical(value) if value is not None else arguments


def _differ(one: bytes, other: bytes) -> str:
    at = next((at for at, pair in enumerate(itertools.zip_longest(one, other)) if pair[0] != pair[1]), 0)
    begin = max(0, at - 40)
    return f"{at}: {one[begin : at + 60]!r} and {other[begin : at + 60]!r}"


def _short(block: Block) -> str:
    return repr(b" | ".join(block.lines)[:300])


INVARIANTS: dict[str, Invariant] = {
    invariant.__name__.replace("_", "-"): invariant
    for invariant in (
        no_exception,
        no_exception_however_cut,
        nothing_completed,
        nothing_ended,
        nothing_completed_wrongly,
        no_call_lost,
        no_intended_call_lost,
        text_is_sent,
        text_stays_before_calls,
        nothing_joins_a_cut_frame,
        complete_is_true,
        calls_mean_the_same,
        incomplete_calls_mean_the_same,
        changes_are_reported,
        same_for_every_cut,
        same_findings_with_repairs,
        repaired_stays,
    )
}

HARMS: dict[str, frozenset[str]] = {
    "exceptions": frozenset({"no-exception", "no-exception-however-cut"}),
    "calls completed that were not": frozenset(
        {"nothing-completed", "nothing-ended", "nothing-completed-wrongly", "complete-is-true"}
    ),
    "calls or text lost": frozenset({"no-call-lost", "no-intended-call-lost", "text-is-sent"}),
}
"""The most costly violations for users, as groups of invariants; streams that violate any of a group are counted."""

END_INVARIANTS = (
    "nothing-completed",
    "nothing-ended",
    "no-call-lost",
    "text-is-sent",
    "text-stays-before-calls",
    "nothing-joins-a-cut-frame",
    "complete-is-true",
)
"""Invariants that hold wherever a response ends."""
