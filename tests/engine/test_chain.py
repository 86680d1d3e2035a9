"""Stages one behind the other."""

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


class Keeps(Stage):
    """Holds one frame, and fails at another."""

    def __init__(self, fails_at: bytes = b"") -> None:
        """No stream is known."""
        super().__init__(Context(StreamFacts(), {}))
        self.held: list[Frame] = []
        self._fails_at = fails_at

    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """One behind."""
        del resolved
        if event.frame.raw == self._fails_at:
            raise ValueError("a bug")
        before, self.held = self.held, [event.frame]
        return before

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """The one that is held."""
        del clean
        return self.release()

    def release(self) -> Iterable[Frame]:
        """The one that is held."""
        before, self.held = self.held, []
        return before

    @property
    def holding(self) -> bool:
        """Whether one is held."""
        return bool(self.held)


class KeepsAll(Keeps):
    """Holds all frames, but for a last one that lacks its end if that is not to wait."""

    def __init__(self, *, last_waits: bool) -> None:
        """No stream is known."""
        super().__init__()
        self._last_waits = last_waits

    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """Nothing, or the last one."""
        del resolved
        passes = event.frame.trailing and not self._last_waits
        self.held += [] if passes else [event.frame]
        return [event.frame] if passes else []


class Passes(Stage):
    """Lets everything pass."""

    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """As it is."""
        del resolved
        return (event.frame,)


class PassesUnseen(Passes):
    """The same, and nothing in the middle of a call concerns it."""

    indifferent = True


class PassesWhole(Passes):
    """The same, and it says what need not be shown."""

    def __init__(self) -> None:
        """Nothing has to be shown."""
        super().__init__(Context(StreamFacts(), {}))
        self.skipped: list[int] = []

    def needs_every_event(self, call: OpenCall) -> bool:
        """Only those of a call without a name."""
        return not call.name

    def accepts_any(self, call: OpenCall) -> bool:
        """Those of a call with an id."""
        return bool(call.id)

    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """Counts them."""
        del call
        self.skipped.append(passed.events)


def silent(frame: Frame) -> EventContent:
    """Nothing is ever said."""
    del frame
    return NOTHING


def chained(*stages: Stage) -> Chain:
    """Stages of a stream without calls."""
    return Chain(stages, silent, RecordBuilder(CHAT, StreamFacts()))


def through(*stages: Stage) -> tuple[list[bytes], Chain]:
    """What goes on of five frames."""
    chain = chained(*stages)
    out = [
        frame.raw for raw in (b"1", b"2", b"3", b"4", b"5") for frame in chain.take(Event(Frame(raw, 0, raw), silent))
    ]
    return out + [frame.raw for frame in chain.end(clean=True)], chain


def test_order() -> None:
    """What each stage holds comes in order, at the end too."""
    out, chain = through(Keeps(), Keeps(), Keeps())
    assert out == [b"1", b"2", b"3", b"4", b"5"]
    assert not chain.holding


def test_one_stage_that_has_to_see_every_event_is_enough() -> None:
    """A stage that says nothing of it has to see each; one that nothing concerns is not asked."""
    call = OpenCall(Fragment(), 0)
    whole, unseen, seen = PassesWhole(), PassesUnseen(Context(StreamFacts(), {})), Passes(Context(StreamFacts(), {}))
    asked, with_another = through(whole, unseen)[1], through(whole, seen)[1]
    assert asked.needs_every_event(call)
    assert not asked.accepts_any(call)
    call.name = call.id = "f"
    assert not asked.needs_every_event(call)
    assert asked.accepts_any(call)
    assert with_another.needs_every_event(call)
    assert not with_another.accepts_any(call)
    asked.on_skipped(call, SkippedRun(0, 3, 30, "abc", "c", changed=False, counter=None))
    assert whole.skipped == [3]


def test_a_chain_holds_what_any_stage_holds() -> None:
    """Stages that cannot hold anything are not asked."""
    keeps = Keeps()
    chain = through(Passes(Context(StreamFacts(), {})), keeps)[1]
    assert list(map(id, chain.holders)) == [id(keeps)]
    chain.take(Event(Frame(b"6", 0, b"6"), silent))
    assert chain.holding


def test_a_last_event_without_its_end_overtakes_nothing_that_a_stage_holds() -> None:
    """What is behind it is joined to it."""
    stages = [KeepsAll(last_waits=False), KeepsAll(last_waits=True)]
    chain = chained(*stages)
    for raw in (b"1", b"2", b"3"):
        assert not chain.take(Event(Frame(raw, 0, raw, trailing=raw == b"3"), silent))
    assert [frame.raw for frame in chain.end(clean=True)] == [b"1", b"2", b"3"]


def test_a_stage_that_raises_loses_nothing() -> None:
    """Whichever of them, wherever."""
    for place in range(3):
        for fails_at in (b"1", b"2", b"3", b"4", b"5"):
            stages = [Keeps(fails_at if at == place else b"") for at in range(3)]
            out, chain = through(*stages)
            assert out == [b"1", b"2", b"3", b"4", b"5"], (place, fails_at)
            if place == 0 or fails_at == b"1":
                assert isinstance(chain.error, ValueError)


NEVER = 10_000
STREAMS = {str(one): one for one in streams()}
FAILING = [
    (name, injector)
    for name in ("openai-chat, fragments of two", "openai-responses, fragments of two", "anthropic, fragments of two")
    for injector in sorted(INJECTORS[name.partition(",")[0]])
]
"""Every plant, whether its repair lets events wait or not."""


def numbered(body: bytes) -> list[bytes]:
    """The events of a stream, each with its number in it."""
    blocks = [block + b"\n\n" for block in body.split(b"\n\n") if block]
    return [block.replace(b"data: {", b'data: {"at":%d,' % at, 1) for at, block in enumerate(blocks, 1)]


def numbers(
    monkeypatch: pytest.MonkeyPatch, events: list[bytes], exchange: StreamFacts, fails: int
) -> tuple[list[int], bool]:
    """The events of a stream that go on, by their numbers, where the mender fails at its nth change; if it does."""
    left = [fails]

    def audit(self: Reporter, event: int, before: Iterable[Frame], after: Iterable[Frame]) -> None:
        left[0] -= 1
        if not left[0]:
            raise RuntimeError("a bug of ours")

    monkeypatch.setattr(Reporter, "audit", audit)
    line = Session(exchange, Settings(SAFE))
    out = b"".join(piece for event in events for piece in line.feed(event))
    out += b"".join(line.end())
    assert (line.error is not None) == (left[0] <= 0)
    gone = [int(number) for number in re.findall(rb'"at":(\d+)', out)]
    return gone, line.error is not None


@pytest.mark.parametrize(("name", "injector"), FAILING)
def test_a_mender_that_fails_loses_nothing_and_says_nothing_twice(
    monkeypatch: pytest.MonkeyPatch, name: str, injector: str
) -> None:
    """Each event that the repair does not drop goes once, in order: mended, or from there on as it came."""
    healthy = STREAMS[name]
    events = numbered(injected(healthy.body, healthy.exchange, injector).out)
    kept, failed = numbers(monkeypatch, events, healthy.exchange, NEVER)
    assert not failed
    for fails in range(1, 6):
        gone, failed = numbers(monkeypatch, events, healthy.exchange, fails)
        assert set(kept) <= set(gone)
        if failed:
            # What is made anew may carry the first event's own fields.
            assert [number for number in gone if number > 1] == sorted({number for number in gone if number > 1})
