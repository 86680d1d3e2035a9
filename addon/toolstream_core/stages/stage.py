"""What every stage that rewrites a stream is given, and the menders' common part: tell, and mend where asked to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.stages.answer_ids import AnswerIds
from toolstream_core.wire import json_access
from toolstream_core.wire.write import SseWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from toolstream_core.calls import OpenCall
    from toolstream_core.calls.resolver import Heard
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Event, Exchange, Finding, Json, Passed, Severity
    from toolstream_core.stages.promotion import Promotion
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer


def nobody(told: object) -> None:
    """Nobody wants to know."""


class Mended(NamedTuple):
    """One change, for the audit: what an event was and what it became. Several frames are joined, none is `b""`."""

    rows: tuple[str, ...]
    """Names of the defects that demanded it, of the shape, or of the fault."""
    event: int
    before: bytes
    after: bytes
    kind: str = "repair"
    """`repair`, `shape` or `fault`."""


@dataclass
class Context:
    """What is known of a stream that is mended, and who is told of what."""

    exchange: Exchange
    schemas: Mapping[str, Json]
    """The schema of the parameters of each tool offered; empty where there is no request, or none is offered."""
    promote: Callable[[Promotion], list[Frame]] | None = None
    """Makes calls of what was text, in the stream's protocol."""
    id_prefix: str = "call_"
    """How the id of a call begins where one has to be made up."""
    reads_comments: bool = True
    """Whether the protocol's official clients skip SSE comments."""
    repairs: frozenset[str] = frozenset()
    """Codes of the rows whose repair is on."""
    writer: Writer = field(default_factory=SseWriter)
    ids: AnswerIds = field(default_factory=AnswerIds)
    found: Callable[[Finding], None] = nobody
    mended: Callable[[Mended], None] = nobody
    judging: bool = False
    """Whether only what is told counts: what goes on goes nowhere, and need not be written."""

    @property
    def patient(self) -> bool:
        """Whether a frame may wait for the next one without evidence: nobody is waiting for a saved stream."""
        return not isinstance(self.exchange.request, dict)

    def may_be_empty(self, name: str) -> bool:
        """Whether the tool may be called without arguments, or is not known."""
        return not json_access.items(json_access.get(self.schemas.get(name), "required"))

    def takes_none(self, name: str) -> bool:
        """Whether the tool is known to have no parameters at all."""
        return name in self.schemas and not json_access.get(self.schemas[name], "properties")


class Stage:
    """Sees each event of one stream once, in order, and says what goes on in its place."""

    each = False
    """Whether it wants to see events that say nothing of calls, finish, error or end."""

    def __init__(self, context: Context) -> None:
        """One stream, from its start."""
        self._context = context

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """What goes on for `event`, whose fragments are in their calls: its own frame, others, or none yet."""
        raise NotImplementedError

    def minds(self, call: OpenCall) -> bool:
        """Whether events like the one taken last may matter, but for plain text in the midst of `call`'s arguments."""
        del call
        return True

    def takes_any(self, call: OpenCall) -> bool:
        """Whether `went_by` does for events like the one taken last, whatever they say of `call`'s arguments."""
        del call
        return False

    @property
    def minds_text(self) -> bool:
        """Whether events of text like the one taken last may matter, while it holds something."""
        return True

    def went_by(self, call: OpenCall, passed: Passed) -> None:
        """Such events went by, and as the one before them did."""

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """What is still to come at the body's end; `clean` unless the connection broke."""
        del clean
        return ()

    def release(self) -> Iterable[Frame]:
        """Whatever is held back, as it came: after a bug of ours nothing may be lost."""
        return ()

    @property
    def holding(self) -> bool:
        """Whether frames wait; those that say nothing have to queue behind them then."""
        return False


class Audited(Stage):
    """A shape or a fault, with a record of what it changes."""

    def __init__(self, context: Context, inner: Stage, kind: str, name: str) -> None:
        """`kind` and `name` as in `Mended`."""
        super().__init__(context)
        self._inner = inner
        self._kind = kind
        self._name = name
        self._held: list[Frame] = []
        self._last: list[Frame] = []
        """The body's last event, which lacks its end, and what is held comes before it."""
        self.each = inner.each

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        frames = self._apart(self._inner.take(event, heard))
        if not self._held and len(frames) == 1 and frames[0] is event.frame:
            return frames
        self._held.append(event.frame)
        if event.frame.trailing and self._inner.holding:
            self._last = frames
        elif frames or not self._inner.holding:
            self._told(event.frame.number, frames)
        return frames

    def minds(self, call: OpenCall) -> bool:
        """As `Stage.minds`."""
        return bool(self._held) or self._inner.minds(call)

    def went_by(self, call: OpenCall, passed: Passed) -> None:
        """As `Stage.went_by`."""
        self._inner.went_by(call, passed)

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        frames = list(self._inner.end(clean=clean))
        if frames or self._held:
            self._told((frames or self._held)[-1].number, [*frames, *self._last])
        return frames

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`."""
        return self._inner.release()

    @property
    def holding(self) -> bool:
        """As `Stage.holding`."""
        return self._inner.holding

    def _apart(self, frames: Iterable[Frame]) -> list[Frame]:
        """Frames of which none is joined to the one behind it, where they stand for an event that lacks its end."""
        out = list(frames)
        return [*map(self._context.writer.ended, out[:-1]), *out[-1:]]

    def _told(self, number: int, frames: list[Frame]) -> None:
        before, self._held = self._held, []
        change = Mended((self._name,), number, _joined(before), _joined(frames), self._kind)
        if change.before != change.after:
            self._context.mended(change)


class Mender(Stage):
    """Tells what is wrong with a stream, and mends what it was asked to mend.

    One code path for check and repair: `tell` says whether the defect's repair is on, so nothing is rewritten
    that is no finding. A frame that needs nothing goes on as the same object.
    """

    def __init__(self, context: Context) -> None:
        """As `Stage`."""
        super().__init__(context)
        self._told: set[tuple[str, int | None]] = set()
        self._why: list[str] = []
        self._reasons: tuple[str, ...] = ()
        """Why an event was last rewritten: those after it may have to follow suit."""
        self._before: list[Frame] = []
        self._after: list[Frame] = []
        """Events since one that may still change, and what has gone on for them."""

    def tell(
        self,
        row: Row,
        event: int,
        message: str,
        call: OpenCall | None = None,
        *,
        severity: Severity | None = None,
    ) -> bool:
        """Tell a defect, once for each call; whether it is to be mended here, each time it shows."""
        key = (row.code, id(call) if call is not None else None)
        if key not in self._told:
            self._told.add(key)
            self._context.found(row.found(event, message, call.position if call else None, severity=severity))
        return self.mends(row)

    def mends(self, row: Row) -> bool:
        """Whether a row's repair is on, where the defect itself is told when the answer is over."""
        if row.code not in self._context.repairs:
            return False
        if row.name not in self._why:
            self._why.append(row.name)
        return True

    def because(self, row: Row) -> None:
        """Name the defect that demands a change, where another one's repair makes it."""
        if row.name not in self._why:
            self._why.append(row.name)

    def on(self, row: Row) -> bool:
        """Whether a row's repair is switched on."""
        return row.code in self._context.repairs

    def went(self, frame: Frame | None, out: list[Frame], *, waits: bool = False) -> None:
        """Audit what went on for an event, or for the body's end; one that `waits` for the next is not changed yet."""
        if not (waits or self._before) and len(out) == 1 and out[0] is frame:
            return
        if frame is not None:
            self._before.append(frame)
        self._after += out
        if waits:
            return
        before, after = self._before, self._after
        self._before, self._after = [], []
        if before != after:
            self.audit((before or after)[0].number, before, after)

    def audit(self, event: int, before: Iterable[Frame], after: Iterable[Frame]) -> None:
        """Keep what the rewriting of an event was for; called once for each rewritten event."""
        names = self._reasons = tuple(self._why) or self._reasons
        self._why = []
        self._context.mended(Mended(names, event, _joined(before), _joined(after)))


def _joined(frames: Iterable[Frame]) -> bytes:
    return b"".join(frame.raw for frame in frames)
