"""What holds for every stream, however broken: each invariant looks at the runs of one case and says what breaks it."""

from __future__ import annotations

import itertools
import re
import traceback
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz import readers
from tests.fuzz.blocks import Block, Cut, cut, parsed
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
    from tests.fuzz.readers import Plain

_BLOCKS = re.compile(rb"^(?:data|event):", re.MULTILINE)
_OBJECTS = re.compile(rb"^\{", re.MULTILINE)
type Invariant = Callable[["Seen"], Iterator[str]]
type Meant = list[tuple[str, str]]
"""Names and arguments of calls."""

WHOLE_CALLS = frozenset(one.name for one in PROTOCOLS if one.call_form is CallForm.WHOLE)
"""Protocols whose calls come whole."""
REPAIRED = frozenset(row.name for row in DEFECTS if row.repair == "safe" and row.code not in LIVE)
"""Rows that a safe repair answers offline."""
_FIELD = re.compile(rb"[\r\n]*(?:(?:data|event|id|retry)[:\r\n]|:)")
"""How an event stream begins, whatever it is said to be."""
SAID_AGAIN = frozenset({"placeholder-arguments", "cumulative-arguments", "replayed-arguments"})
"""Rows where half arguments read as all that came, and only the last of it was meant, or what half of it repeats."""

CALLED_LATE = frozenset({"missing-start", "late-name", "missing-id"})
"""Rows of calls that open later for the client: an entry of nothing goes, an event that nobody knows waits."""


class Seen(Outcome):
    """An outcome, and what plain clients take from its bytes."""

    @cached_property
    def dialect(self) -> str:
        """The protocol that was recognised."""
        return self.off.record.dialect if self.off.record and self.off.record.streamed else ""

    @cached_property
    def framing(self) -> str:
        """The content type that the body has, whatever it is said to be."""
        if self.case.content_type == MESSAGES or (self.case.body.startswith(b"\0\0") and messages(self.case.body)[0]):
            return MESSAGES
        body = self.case.body.removeprefix(b"\xef\xbb\xbf")
        begin = body.lstrip()[:1]
        if begin == b"{" and self.dialect in {"ollama", "openai-realtime"}:
            return "application/x-ndjson"  # whatever a line of it looks like
        if begin == b"[":
            return "application/json"
        lines = self.case.content_type == "application/x-ndjson"
        if lines and not _FIELD.match(body):
            return self.case.content_type
        if not lines and _FIELD.match(body.partition(b"\n")[2]):
            return "text/event-stream"  # whatever its first line looks like
        blocks = not lines and len(_BLOCKS.findall(self.case.body)) >= len(_OBJECTS.findall(self.case.body))
        return "application/x-ndjson" if begin == b"{" and not blocks else "text/event-stream"

    @cached_property
    def raw(self) -> Plain:
        """What a plain client takes from the bytes as they came."""
        return readers.read(self.dialect, self.case.body, self.framing)

    @cached_property
    def raw_closed(self) -> Plain:
        """The same where the last event lacks nothing but its terminator, and is given it."""
        whole = _whole_event(self.raw_cut.tail, self.framing)
        return readers.read(self.dialect, self.case.body + b"\n\n", self.framing) if whole else self.raw

    @cached_property
    def changed(self) -> Plain:
        """What it takes from those that went on."""
        return readers.read(self.dialect, self.on.out, self.framing)

    @cached_property
    def raw_cut(self) -> Cut:
        """The blocks that came."""
        return cut(self.case.body, self.framing)

    @cached_property
    def mended_cut(self) -> Cut:
        """The blocks that went on."""
        return cut(self.on.out, self.framing)

    @cached_property
    def evidence(self) -> Evidence:
        """What the bytes that came say."""
        return Evidence(self.case.body, self.framing)

    @property
    def safe(self) -> bool:
        """Whether the invariants of safe repairs hold."""
        return self.case.safe_only and bool(self.dialect)


def no_exception(seen: Seen) -> Iterator[str]:
    """Nothing raises, no empty chunk is sent, and toolstream forwards streams unchanged if nothing is switched on."""
    yield from _nothing_raised(seen, "off", "on")
    if seen.off.error is None and seen.off.out != seen.case.body:
        yield "off: bytes were changed with nothing switched on"


def no_exception_however_cut(seen: Seen) -> Iterator[str]:
    """The same for other chunk boundaries, with any log, with and without the fast path: four more runs."""
    yield from _nothing_raised(seen, "silent", "slow", "each", "judged")


def _nothing_raised(seen: Seen, *names: str) -> Iterator[str]:
    for name in names:
        run: Run = getattr(seen, name)
        if run.error is not None:
            yield f"{type(run.error).__name__}: {run.error}: {name}: {_where(run.error)}"
            return
        if run.empty:
            yield f"{name}: an empty piece went on"


def same_for_every_cut(seen: Seen) -> Iterator[str]:
    """Bytes, findings and calls do not depend on chunk boundaries, logs or the fast path."""
    for run in (seen.silent, seen.slow, seen.each):
        if run.out != seen.on.out:
            yield f"other bytes at {_differ(run.out, seen.on.out)}"
        yield from _same(run, seen.on)
    yield from _same(seen.judged, seen.off)


def same_findings_with_repairs(seen: Seen) -> Iterator[str]:
    """Findings do not depend on the selected repairs."""
    yield from _same(seen.on, seen.off)


def _same(one: Run, other: Run) -> Iterator[str]:
    if one.told != other.told:
        names = sorted({item[0] for item in one.told ^ other.told})
        yield f"other findings: {', '.join(names)}: {sorted(map(str, one.told ^ other.told))}"
    if one.calls != other.calls:
        yield f"other calls: {one.calls} and {other.calls}"


def changes_are_reported(seen: Seen) -> Iterator[str]:
    """Each changed block is in the audit, under the name of a finding or a shape."""
    repairs_at_end = seen.on.repairs_at_end
    if seen.on.out != seen.case.body and not repairs_at_end:
        yield f"bytes changed and no change was told, at {_differ(seen.on.out, seen.case.body)}"
    if seen.on.out == seen.case.body and repairs_at_end:
        yield "changes were told and no byte differs"
    for repair in repairs_at_end:
        if not repair.names:
            yield f"a change without a name, of event {repair.event}"
        if repair.kind == "repair":
            for name in set(repair.names) - shape_names() - seen.on.names - _follows(seen):
                yield f"{name} was mended and not told"
    came = {block.lines for block in seen.raw_cut.blocks}
    yield from _not_counted(seen)
    if repairs_at_end:
        after = b"\n".join(repair.after for repair in repairs_at_end)
        for block in seen.mended_cut.blocks:
            if block.lines not in came and not all(line in after for line in block.lines if b":" in line[1:]):
                yield f"a new block that is in no change: {_short(block)}"


def _not_counted(seen: Seen) -> Iterator[str]:
    """The numbers of the events that were replaced, and of those sent, make up for the difference of both streams."""
    before, after = seen.off.record, seen.reread.record
    if before is None or after is None:
        return
    more = sum(len(one.sent) - len(one.replaced) for one in seen.on.repairs_at_end)
    if before.events + more != after.events:
        yield f"{before.events} events became {after.events}, and the changes account for {more}"


def _follows(seen: Seen) -> set[str]:
    """Rows that only what unsafe repairs made is mended for: calls of text, arguments set right, a finish moved."""
    made = {name for name in seen.case.repair if name.startswith("leaked-")}
    half = {"invalid-arguments"} if "cut-off-call" in seen.on.names else set()
    moved = {"missing-done", "missing-type"} if "early-finish" in seen.case.repair else set()
    moved |= {"unclosed-call"} if any("early-finish" in one.names for one in seen.on.repairs_at_end) else set()
    moved |= (
        {"empty-arguments", "missing-done"} if "split-choices" in seen.case.repair else set()
    )  # the finish is theirs
    alone = {"missing-id"} if "safe" not in seen.case.repair and "late-id" in seen.on.names else set()
    of_text = {"missing-done", "missing-finish", "repeated-finish"} if made else alone
    # While the stop of a call waits for the shape, a delta after it still belongs to the call.
    waited = {"unknown-block", "object-arguments"} if "whole-calls" in seen.case.shape else set()
    return half | moved | of_text | waited


def complete_is_true(seen: Seen) -> Iterator[str]:
    """A call is complete only if its arguments are a complete object or the protocol ended it."""
    for run in (seen.off, seen.reread):
        for call in run.record.calls if run.record else ():
            if not call.complete or call.kind is not Kind.FUNCTION:
                continue
            whole = run.record is not None and not run.record.streamed  # all of it came in one JSON text
            closed = seen.evidence.closed or whole or run is not seen.off or seen.dialect in WHOLE_CALLS
            value = parsed(call.arguments)
            said = isinstance(value, dict) and (value or seen.evidence.says_empty)
            if not closed and not said:
                yield f"complete without a word of it: {call.name}({call.arguments})"
            if value is None and call.arguments != "" and not closed:
                yield f"complete and not JSON: {call.name}({call.arguments})"


def nothing_completed(seen: Seen) -> Iterator[str]:
    """A call that is complete after safe repairs was complete before, or its arguments were sent."""
    if not seen.safe or not seen.on.repairs_at_end:
        return
    before = {canonical(call.value) for call in seen.raw.calls.values() if call.value is not None}
    for call in seen.changed.calls.values():
        if call.value is None or not call.name or canonical(call.value) in before:  # without a name nobody can run it
            continue
        if not call.value and seen.evidence.closed and _nothing_said(seen, call.name):
            continue
        if not seen.evidence.proves(call.value):
            yield f"made whole: {call.name}({call.text})"


def _nothing_said(seen: Seen, name: str) -> bool:
    """Whether the raw bytes have a call without arguments: by its index, or, where calls share that, by `off`.

    There the name has what `decorated-name` takes off: it stands around it.
    """
    plain = seen.raw.silent or any(call.text.strip() in NOTHING for call in seen.raw.calls.values())
    return plain or any(name in one and said == "{}" and whole for one, said, whole in seen.off.calls)


def nothing_ended(seen: Seen) -> Iterator[str]:
    """A turn that the provider did not end is not ended, neither by a finish reason nor by a terminal event."""
    if seen.safe and seen.on.repairs_at_end and seen.changed.over and not seen.evidence.closed:
        calls = [call for call in seen.off.calls if not call[2]]
        if calls or not seen.off.calls:
            yield f"ended, and nothing said that it is over: {calls}"


def no_call_lost(seen: Seen) -> Iterator[str]:
    """A call that a plain client has complete from the raw bytes is complete in the repaired bytes."""
    if not seen.safe or not seen.on.repairs_at_end:
        return
    calls = seen.changed.calls.values()
    after = {canonical(call.value) for call in calls if call.value is not None}
    after |= {"{}" for call in calls if call.over and not call.text.strip()}  # clients take nothing at all for it
    # Arguments that were read as nobody's are no call: without a name nobody can run one.
    read = [(name, _value(arguments)) for name, arguments, complete in seen.off.calls if complete and name]
    # The last event, once it is ended, may say another call in the place of one.
    closed = {canonical(call.value) for call in seen.raw_closed.calls.values() if call.value is not None}
    ends = not any("cut-off-call" in one.names for one in seen.on.repairs_at_end)
    for call in seen.raw.calls.values():
        if call.value is None or not call.name or canonical(call.value) in after:
            continue
        if canonical(call.value) not in closed or (call.last and not ends):
            continue
        if any(said == canonical(call.value) and name.startswith(call.name) for name, said in read):
            yield f"lost: {call.name}({call.text})"


def nothing_completed_wrongly(seen: Seen) -> Iterator[str]:
    """A call that the client has complete is an intended one, or the provider sent it so. Needs the intended calls."""
    if not seen.case.intended:
        return
    known = {value for _, value in seen.case.intended} | _complete(seen.raw) | _complete(seen.raw_closed)
    for value in sorted(_complete(seen.changed) - known):
        yield f"completed: {value}"


def no_intended_call_lost(seen: Seen) -> Iterator[str]:
    """An intended call that a plain client has complete from the raw bytes is sent. Needs the intended calls."""
    values = {value for name, value in seen.case.intended if name}
    for value in sorted(values & _complete(seen.raw) - _complete(seen.changed)):
        yield f"lost: {value}"


def _complete(plain: Plain) -> set[str]:
    """The arguments of the calls that a plain client can run; it takes no arguments at all for `{}`."""
    return {
        "{}" if call.value is None else canonical(call.value)
        for call in plain.calls.values()
        if call.name and (call.value is not None or (call.over and not call.text.strip()))
    }


def calls_mean_the_same(seen: Seen) -> Iterator[str]:
    """The calls of the repaired bytes are those of the raw bytes."""
    if not seen.safe or not seen.on.repairs_at_end or seen.on.names & REPAIRED_ONLY:
        return
    if "data-after-end" in {name for repair in seen.on.repairs_at_end for name in repair.names}:
        return  # what no client reads is dropped
    before, after = _intended(seen.off), _intended(seen.reread)
    if any("cut-off-call" in one.names for one in seen.on.repairs_at_end):
        before, after = _beside_the_end(before, after)
    if seen.on.names & CALLED_LATE:
        before, after = sorted(before), sorted(after)
    if after not in (before, [*seen.case.intended]) and not (_said_last(seen) or _by_parts(seen)):
        yield f"calls {before} became {after}"


def _beside_the_end(before: Meant, after: Meant) -> tuple[Meant, Meant]:
    """Without half calls that only the event says by which the answer ends: it is kept back because of them."""
    return [one for one in before if one[1] != "not whole" or one in after], after


def incomplete_calls_mean_the_same(seen: Seen) -> Iterator[str]:
    """Incomplete calls are the same, too."""
    if not seen.safe or not seen.on.repairs_at_end or _intended(seen.off) != _intended(seen.reread):
        return
    before, after = (sorted(_halves(run)) for run in (seen.off, seen.reread))
    if any(
        "cut-off-call" in one.names for one in seen.on.repairs_at_end
    ):  # what only the end says is kept back with it
        before = sorted(one if one in after else "" for one in before)
    if _said_last(seen):
        return
    dropped = "data-after-end" in {name for repair in seen.on.repairs_at_end for name in repair.names}
    intended = REPAIRED_ONLY - {"trailing-garbage"}
    if before != after and not dropped and not seen.on.names & intended:
        yield f"half calls {before} became {after}"


def _said_last(seen: Seen) -> bool:
    """Whether each call is as before, or what was said of its arguments last, where they were said again and again."""
    before, after = seen.off.calls, seen.reread.calls
    if not seen.on.names & SAID_AGAIN or len(before) != len(after):
        return False
    return all(
        one[0] == other[0] and (one == other or (not one[2] and other[1] != "" and _ends_with(one[1], other[1])))
        for one, other in zip(before, after, strict=True)
    )


def _ends_with(text: str, last: str) -> bool:
    """Whether the last that a text says is this, or the begin of this behind it."""
    return any(text.endswith(last + last[:size]) for size in range(len(last)))


def _by_parts(seen: Seen) -> bool:
    """Whether the calls differ only where one part is whole by itself, and whoever joins the parts has none.

    Nothing differs for those to whom the parts, joined, are the same text.
    """
    one, other = (sorted(call.text for call in plain.calls.values()) for plain in (seen.raw, seen.changed))
    if one == other:
        return True
    whole = {canonical(call.value) for call in seen.changed.calls.values() if call.value is not None}
    pairs = list(zip(_intended(seen.off), _intended(seen.reread), strict=False))
    same = len(seen.off.calls) == len(seen.reread.calls)
    return same and all(
        left == right or (left[0] == right[0] and left[1] == "not whole" and right[1] not in whole)
        for left, right in pairs
    )


def _halves(run: Run) -> list[str]:
    """Arguments that are not whole; `null` says nothing."""
    halves = [one for _, one, complete in run.calls if not complete]
    return ["" if not one.replace("null", "").strip() else one.replace('"{}"', "{}") for one in halves]


def _intended(run: Run) -> Meant:
    """Names, and the arguments of those calls that are whole.

    Calls that cannot be run, half ones and those without a name, have no order: where nobody knows yet whose an event
    is, it waits.
    """
    runs = [(name, _value(arguments)) for name, arguments, complete in run.calls if name and complete]
    others = [call for call in run.calls if not (call[0] and call[2])]
    return runs + sorted((name, _value(said) if complete else "not whole") for name, said, complete in others)


def text_is_sent(seen: Seen) -> Iterator[str]:
    """Every text delta is sent once, in order."""
    if not seen.safe or not seen.on.repairs_at_end:
        return
    for channel in seen.raw_closed.text.keys() | seen.changed.text.keys():
        text, after = seen.raw.text.get(channel, ""), seen.changed.text.get(channel, "")
        expected = {text, seen.raw_closed.text.get(channel, "")}
        if "unstreamed-calls" in seen.on.names:  # what only a message says is a delta then
            expected |= {one + said for one in expected for said in seen.evidence.messages}
        if "foreign-delta" in seen.on.names:  # white space within a call's block goes: APIs refuse a block of it
            after, expected = _solid(after), {_solid(one) for one in expected}
        if after not in expected:
            what = "lost" if len(after) < len(text) else "added" if len(after) > len(text) else "moved"
            yield f"{what}: {channel}: {text!r} became {after!r}"


def text_stays_before_calls(seen: Seen) -> Iterator[str]:
    """Text that was received before a call is not sent after it.

    Arguments before what opens a call say nothing of its place: no client has it before.
    """
    if not seen.safe or not seen.on.repairs_at_end or len(seen.raw.calls) != len(seen.changed.calls):
        return
    if any(call.mixed for call in seen.raw.calls.values()):  # which of them came before a text, nobody can say
        return
    names, mended = ({one.name for one in calls.calls.values()} for calls in (seen.raw, seen.changed))
    for one, other in zip(seen.raw.calls.values(), seen.changed.calls.values(), strict=True):
        if one.name != other.name and (other.name in names or one.name in mended):  # another call
            continue
        for channel, length in one.after.items():
            if (
                one.name and other.header_after.get(channel, 0) < length
            ):  # one without a name no client takes for a call
                yield f"text of {channel} went behind {other.name}"


def nothing_joins_a_cut_frame(seen: Seen) -> Iterator[str]:
    """A block that was not received is a complete event; a truncated last one is unchanged or dropped."""
    if not seen.dialect or seen.on.out == seen.case.body:
        return
    came = {block.lines for block in seen.raw_cut.blocks}
    data = {block.data for block in seen.raw_cut.blocks}
    ended = cut(seen.raw_cut.tail + b"\n\n", "text/event-stream").blocks  # the last event may have come so, unended
    others = {_names(block) for block in (*seen.raw_cut.blocks, *ended)}
    for block in seen.mended_cut.blocks:
        if seen.framing == MESSAGES and not (block.name or block.lines in came):
            yield f"a message whose checksum is wrong: {_short(block)}"
        if block.lines in came or block.data is None or block.data in data:
            continue
        element = block.data.strip(b"[], \r\n") if seen.framing == "application/json" else block.data
        if block.data.strip() != b"[DONE]" and not isinstance(parsed(element), dict):
            yield f"no event: {_short(block)}"
        if len(_names(block)) > 1 and _names(block) not in others:
            yield f"two in one: {_short(block)}"
    tail = seen.mended_cut.tail.strip(b"\r\n")
    whole = _whole_event(seen.raw_cut.tail, seen.framing) and _whole_event(tail, seen.framing)
    if tail and seen.safe and not whole and tail not in seen.raw_cut.tail and seen.framing != "application/json":
        yield f"a tail that did not come: {tail[:200]!r}"


def _names(block: Block) -> tuple[bytes, ...]:
    """Its event lines: with several, two events are in it. Shapes change the space behind the colon."""
    fields = (line.partition(b":") for line in block.lines)
    return tuple(value.strip() for field, _, value in fields if field == b"event")


def _whole_event(tail: bytes, framing: str) -> bool:
    """Whether a tail is an event but for what ends it: a blank line, or, where each line is one, its line feed."""
    if framing == "application/x-ndjson":
        return isinstance(parsed(tail), dict)
    if framing != "text/event-stream":
        return False
    blocks = cut(tail + b"\n\n", "text/event-stream").blocks
    return len(blocks) == 1 and (blocks[0].data == b"[DONE]" or isinstance(blocks[0].payload, dict))


def repaired_stays(seen: Seen) -> Iterator[str]:
    """Repairing a repaired stream changes nothing if every finding can be repaired."""
    if not seen.safe or not seen.on.repairs_at_end or seen.on.names - REPAIRED:
        return
    if seen.again.out != seen.on.out:
        yield f"changed again for {sorted({name for repair in seen.again.repairs_at_end for name in repair.names})}"


def _where(error: BaseException) -> str:
    return " < ".join(
        f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)[:-4:-1]
    )


def _solid(text: str) -> str:
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
"""What invariants guard against that costs users most: streams that break any of a group are counted."""

OF_AN_END = (
    "nothing-completed",
    "nothing-ended",
    "no-call-lost",
    "text-is-sent",
    "text-stays-before-calls",
    "nothing-joins-a-cut-frame",
    "complete-is-true",
)
"""Invariants that hold wherever a response ends."""
