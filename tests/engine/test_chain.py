"""Chains of stages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.invariants.driven import injected
from tests.invariants.healthy import streams
from tests.tables import INJECTORS
from toolstream_core.calls import OpenCall
from toolstream_core.engine.chain import Chain
from toolstream_core.engine.record_builder import RecordBuilder
from toolstream_core.engine.session import Session
from toolstream_core.model import NOTHING, Event, EventContent, Fragment, SkippedRun, StreamFacts
from toolstream_core.protocols.chat import CHAT
from toolstream_core.settings import SAFE, Settings
from toolstream_core.stages.context import Context
from toolstream_core.stages.repair.repairer import Reporter
from toolstream_core.stages.stage import Stage
from toolstream_core.wire.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment


class HoldsOne(Stage):
    """Holds the last frame, and fails at a frame with a certain content."""

    def __init__(self, fails_at: bytes = b"") -> None:
        """Create the stage with an empty context."""
        super().__init__(Context(StreamFacts(), {}))
        self.held: list[Frame] = []
        self._fails_at = fails_at

    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """Return the frame before."""
        del resolved
        if event.frame.raw == self._fails_at:
            raise ValueError("a bug")
        before, self.held = self.held, [event.frame]
        return before

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """Return the held frame."""
        del clean
        return self.release()

    def release(self) -> Iterable[Frame]:
        """Return the held frame."""
        before, self.held = self.held, []
        return before

    @property
    def holding(self) -> bool:
        """Whether a frame is held."""
        return bool(self.held)


class HoldsAll(HoldsOne):
    """Holds all frames, except an unterminated last frame unless `holds_last`."""

    def __init__(self, *, holds_last: bool) -> None:
        """Create the stage with an empty context."""
        super().__init__()
        self._holds_last = holds_last

    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """Return only an unterminated last frame."""
        del resolved
        passes = event.frame.trailing and not self._holds_last
        self.held += [] if passes else [event.frame]
        return [event.frame] if passes else []


class Forwards(Stage):
    """Forwards every frame."""

    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """Return the frame."""
        del resolved
        return (event.frame,)


class ForwardsIndifferent(Forwards):
    """Forwards every frame, and needs no frames inside calls."""

    skips_calls = True


class ForwardsSkipped(Forwards):
    """Forwards every frame, and needs only some of the frames inside calls."""

    def __init__(self) -> None:
        """Create the stage with an empty context."""
        super().__init__(Context(StreamFacts(), {}))
        self.skipped: list[int] = []

    def needs_every_event(self, call: OpenCall) -> bool:
        """Need events of a call without a name."""
        return not call.name

    def accepts_any(self, call: OpenCall) -> bool:
        """Accept skipped events of a call with an id."""
        return bool(call.id)

    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """Keep the number of skipped events."""
        del call
        self.skipped.append(passed.events)


def read_nothing(frame: Frame) -> EventContent:
    """Return empty content."""
    del frame
    return NOTHING


def chain_of(*stages: Stage) -> Chain:
    """Return a chain of these stages for a stream without calls."""
    return Chain(stages, read_nothing, RecordBuilder(CHAT, StreamFacts()))


def run(*stages: Stage) -> tuple[list[bytes], Chain]:
    """Run five frames through the stages; return the forwarded frames and the chain."""
    chain = chain_of(*stages)
    out = [
        frame.raw
        for raw in (b"1", b"2", b"3", b"4", b"5")
        for frame in chain.take(Event(Frame(raw, 0, raw), read_nothing))
    ]
    return out + [frame.raw for frame in chain.end(clean=True)], chain


def test_held_frames_keep_their_order() -> None:
    """The frames that several stages hold are forwarded in order, also at the end."""
    out, chain = run(HoldsOne(), HoldsOne(), HoldsOne())
    assert out == [b"1", b"2", b"3", b"4", b"5"]
    assert not chain.holding


def test_a_chain_needs_every_event_if_a_stage_does() -> None:
    """A chain needs every event if one stage does; indifferent stages are not asked."""
    call = OpenCall(Fragment(), 0)
    partial, skips_calls, full = (
        ForwardsSkipped(),
        ForwardsIndifferent(Context(StreamFacts(), {})),
        Forwards(Context(StreamFacts(), {})),
    )
    chain, chain_with_full = run(partial, skips_calls)[1], run(partial, full)[1]
    assert chain.needs_every_event(call)
    assert not chain.accepts_any(call)
    call.name = call.id = "f"
    assert not chain.needs_every_event(call)
    assert chain.accepts_any(call)
    assert chain_with_full.needs_every_event(call)
    assert not chain_with_full.accepts_any(call)
    chain.on_skipped(call, SkippedRun(0, 3, 30, "abc", "c", changed=False, counter=None))
    assert partial.skipped == [3]


def test_a_chain_holds_frames_if_a_stage_does() -> None:
    """A chain holds frames if one of its stages does; stages that never hold frames are not asked."""
    holder = HoldsOne()
    chain = run(Forwards(Context(StreamFacts(), {})), holder)[1]
    assert list(map(id, chain.holders)) == [id(holder)]
    chain.take(Event(Frame(b"6", 0, b"6"), read_nothing))
    assert chain.holding


def test_an_unterminated_last_event_does_not_overtake_held_frames() -> None:
    """An unterminated last event is forwarded after all held frames."""
    stages = [HoldsAll(holds_last=False), HoldsAll(holds_last=True)]
    chain = chain_of(*stages)
    for raw in (b"1", b"2", b"3"):
        assert not chain.take(Event(Frame(raw, 0, raw, trailing=raw == b"3"), read_nothing))
    assert [frame.raw for frame in chain.end(clean=True)] == [b"1", b"2", b"3"]


def test_a_stage_that_raises_loses_nothing() -> None:
    """If a stage raises at any frame, no frame is lost and the order is kept."""
    for place in range(3):
        for fails_at in (b"1", b"2", b"3", b"4", b"5"):
            stages = [HoldsOne(fails_at if at == place else b"") for at in range(3)]
            out, chain = run(*stages)
            assert out == [b"1", b"2", b"3", b"4", b"5"], (place, fails_at)
            if place == 0 or fails_at == b"1":
                assert isinstance(chain.error, ValueError)


NEVER = 10_000
STREAMS = {str(one): one for one in streams()}
FAILING = [
    (name, defect)
    for name in ("openai-chat, fragments of two", "openai-responses, fragments of two", "anthropic, fragments of two")
    for defect in sorted(INJECTORS[name.partition(",")[0]])
]
"""Every injectable defect, with a stream."""


def numbered(body: bytes) -> list[bytes]:
    """Return the events of a stream, each with its number added."""
    blocks = [block + b"\n\n" for block in body.split(b"\n\n") if block]
    return [block.replace(b"data: {", b'data: {"at":%d,' % at, 1) for at, block in enumerate(blocks, 1)]


def forwarded_numbers(
    monkeypatch: pytest.MonkeyPatch, events: list[bytes], exchange: StreamFacts, fails: int
) -> tuple[list[int], bool]:
    """Return the numbers of the forwarded events if the repair raises at its nth change, and whether it did."""
    remaining = [fails]

    def audit(self: Reporter, event: int, before: Iterable[Frame], after: Iterable[Frame]) -> None:
        remaining[0] -= 1
        if not remaining[0]:
            raise RuntimeError("a bug")

    monkeypatch.setattr(Reporter, "audit", audit)
    session = Session(exchange, Settings(SAFE))
    out = b"".join(chunk for event in events for chunk in session.feed(event))
    out += b"".join(session.end())
    assert (session.error is not None) == (remaining[0] <= 0)
    forwarded = [int(number) for number in re.findall(rb'"at":(\d+)', out)]
    return forwarded, session.error is not None


@pytest.mark.parametrize(("name", "defect"), FAILING)
def test_a_repair_that_raises_loses_and_repeats_no_event(
    monkeypatch: pytest.MonkeyPatch, name: str, defect: str
) -> None:
    """If a repair raises, each event is sent once and in order: repaired before the error, and unchanged after it."""
    healthy = STREAMS[name]
    events = numbered(injected(healthy.body, healthy.exchange, defect).out)
    kept, failed = forwarded_numbers(monkeypatch, events, healthy.exchange, NEVER)
    assert not failed
    for fails in range(1, 6):
        forwarded, failed = forwarded_numbers(monkeypatch, events, healthy.exchange, fails)
        assert set(kept) <= set(forwarded)
        if failed:
            # Added events may have the fields of the first event.
            assert [number for number in forwarded if number > 1] == sorted(
                {number for number in forwarded if number > 1}
            )
