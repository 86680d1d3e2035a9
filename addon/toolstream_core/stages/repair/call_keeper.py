"""Sees to it that no repair loses a call, in any protocol that says calls piece by piece."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, override

from toolstream_core.calls.plain_calls import PlainCalls, lacking
from toolstream_core.model import Event
from toolstream_core.stages.promotion import Promotion
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.stages.stage import Counts, HoldsBesideText, SkippableWhole
from toolstream_core.stages.wrapper import Wrapper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.calls.plain_call import Said
    from toolstream_core.model import Call, EventContent, SkippedRun
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

# A repairer puts a piece that does not say whose it is into the call that it most likely belongs to. Where streams are
# broken in several ways at once, what comes later may show that the piece was another's, and the client has it already.
# Then the call that a client without any repair would have is said once more, before the finish or the end.

UNREAD: Final = 256
"""Events that were changed and are kept to be read at the end; of more of them the first are read as they go."""

SHORT: Final = 1024
"""Characters of a text that may be kept so."""

LONG: Final = 16 * 1024
"""Bytes of an event that is not kept so, nor are those before it."""


class CallKeeper(Wrapper[Repairer], HoldsBesideText, SkippableWhole):
    """A repairer, with an eye on what a plain client has of the calls before it and behind it."""

    def __init__(
        self,
        context: Context,
        inner: Repairer,
        read: Callable[[Frame], EventContent],
        read_calls: Callable[[], Sequence[Call]],
    ) -> None:
        """`read` is the protocol's reader; `read_calls` gives the calls as they are read so far."""
        super().__init__(context, inner)
        self._read = read
        self._read_calls = read_calls
        self._beside_text = inner if isinstance(inner, HoldsBesideText) else None
        self._skippable_whole = inner if isinstance(inner, SkippableWhole) else None
        self._came = PlainCalls()
        self._sent: PlainCalls | None = None
        """Another stream than what came, from the first event on that was changed."""
        self._unread: deque[Frame | str] = deque()
        """What was sent and not read yet: events, and texts that followed them."""
        self._waiting: set[int] = set()
        """Numbers of events of calls that have not gone on; some never will."""
        self._over = False
        """Whether a finish, an error or the end came."""
        self._ended = False
        """Whether an event came that says nothing but the end: nobody reads what follows."""
        self._like: Event | None = None
        """The last event that said something of a call."""
        self._made = 0

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        gone = list(self._inner.take(event, resolved))
        content = event.content
        if self._sent is None and (len(gone) != 1 or gone[0] is not event.frame):
            self._sent = self._came.copy()
        if content.fragments and not (self._ended or event.frame.trailing):
            self._came.take(content, event.frame.number)
            self._like = event
        elif content.begins:
            self._came.leave(content.begins)
        if content.finishes or content.end or content.error is not None:
            self._over = self._over or _closes(content)
            self._ended = self._ended or (content.end and not content.finishes)
        if self._sent is None:
            return gone
        if self._waiting or len(gone) != 1 or gone[0].number != event.frame.number:
            self._note_waiting(event, gone)
        long = event.frame.raw[LONG:]
        if self._over or long or len(self._unread) > UNREAD:
            return self._followed(self._sent, gone, last=False, leave=0 if long else UNREAD)
        self._unread += gone
        return gone

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        gone = list(self._inner.end(clean=clean))
        if gone and self._sent is None:
            self._sent = self._came.copy()
        return gone if self._sent is None else self._followed(self._sent, gone, last=True)

    @property
    @override
    def needs_text(self) -> bool:
        return self._beside_text is None or self._beside_text.needs_text

    @override
    def accepts_any(self, call: OpenCall) -> bool:
        return self._skippable_whole is not None and self._skippable_whole.accepts_any(call)

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        super().on_skipped(call, passed)
        text = passed.text or "".join(passed.pieces)
        self._came.on_skipped(text)
        if self._sent is not None:
            self._unread.append(text)
            self._take_unread(self._sent, leave=UNREAD if len(text) <= SHORT else 0)

    def _note_waiting(self, event: Event, gone: list[Frame]) -> None:
        """Note which events that say something of a call have not gone on."""
        if event.content.fragments and len(self._waiting) < UNREAD:
            self._waiting.add(event.frame.number)
        self._waiting.difference_update([frame.number for frame in gone])

    def _followed(self, sent: PlainCalls, gone: list[Frame], *, last: bool, leave: int = UNREAD) -> list[Frame]:
        """What goes on, with calls that are said again before what says that the answer is over, or at the `last`."""
        self._unread += gone
        self._take_unread(sent, leave=leave)
        if not (self._over or last):
            return gone
        for at, frame in enumerate(gone):
            event = Event(frame, self._read)
            if _closes(event.content):
                return [*gone[:at], *self._again(sent, event, at_end=last or event.content.end), *gone[at + 1 :]]
        if not last:
            return gone
        whole = len(gone) - 1 if gone and gone[-1].trailing else len(gone)
        return [*gone[:whole], *self._again(sent, at_end=True), *gone[whole:]]

    def _take_unread(self, sent: PlainCalls, *, leave: int = 0) -> None:
        """Take what was sent since it was read last, but for as many events as may be left."""
        while len(self._unread) > leave:
            one = self._unread.popleft()
            if isinstance(one, str):
                sent.on_skipped(one)
            else:
                content = self._read(one)
                sent.leave(content.begins)
                sent.take(content)

    def _again(self, sent: PlainCalls, closing: Event | None = None, *, at_end: bool) -> list[Frame]:
        """Calls that a client would have if nothing had been repaired, and has not; then the event that `closes`."""
        frames = [] if closing is None else [closing.frame]
        like = self._like
        if like is None or not self._inner.reporter.mended:
            return frames
        self._take_unread(sent)
        lost = lacking(self._came, sent, self._read_calls, None if at_end else self._waiting)
        if not lost:
            return frames
        out = self._made_of(lost, sent, like, closing)
        number = (closing or like).frame.number
        self._inner.audit(number, frames, out)
        sent.others += lost
        return out

    def _made_of(self, lost: list[Said], sent: PlainCalls, like: Event, closing: Event | None) -> list[Frame]:
        context = self._context
        finish = closing if closing is not None and closing.content.finishes else None
        place = max(self._came.top, sent.top) + 1 + self._made
        self._made += len(lost)
        out: list[Frame] = []
        for at, one in enumerate(lost, place):
            calls = [(context.ids.make(context.id_prefix), one)]
            promotion = Promotion(finish or like, calls, at, at, context.writer, one.choice)
            make = context.promote if finish is not None and one is lost[-1] else context.say
            out += make(promotion) if make is not None else []
        return out if finish is not None or closing is None else [*out, closing.frame]


class CountingCallKeeper(CallKeeper, Counts):
    """The same for a repairer that goes by the numbers of events."""

    @override
    def on_quiet(self, raw: bytes, end: int) -> None:
        if isinstance(self._inner, Counts):
            self._inner.on_quiet(raw, end)


def kept(
    context: Context,
    inner: Repairer,
    read: Callable[[Frame], EventContent],
    read_calls: Callable[[], Sequence[Call]],
) -> CallKeeper:
    """A repairer of which no call gets lost; parameters as for `CallKeeper`."""
    keeper = CountingCallKeeper if isinstance(inner, Counts) else CallKeeper
    return keeper(context, inner, read, read_calls)


def _closes(content: EventContent) -> bool:
    """Whether clients may go when they have read it."""
    return content.end or content.error is not None or any(finish.reason for finish in content.finishes)
