"""Stages one behind the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.chain import Chain
from toolstream_core.defects.stage import Context, Stage
from toolstream_core.model import SILENCE, Event, Exchange, Said
from toolstream_core.wire.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard


class Keeps(Stage):
    """Holds one frame, and fails at another."""

    def __init__(self, fails_at: bytes = b"") -> None:
        """No stream is known."""
        super().__init__(Context(Exchange(), {}))
        self.held: list[Frame] = []
        self._fails_at = fails_at

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """One behind."""
        del heard
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


def silent(frame: Frame) -> Said:
    """Nothing is ever said."""
    del frame
    return SILENCE


def through(*stages: Stage) -> tuple[list[bytes], Chain]:
    """What goes on of five frames."""
    chain = Chain([(stage, lambda event: ()) for stage in stages], silent)  # noqa: ARG005
    out = [
        frame.raw for raw in (b"1", b"2", b"3", b"4", b"5") for frame in chain.take(Event(Frame(raw, 0, raw), silent))
    ]
    return out + [frame.raw for frame in chain.end(clean=True)], chain


def test_order() -> None:
    """What each stage holds comes in order, at the end too."""
    out, chain = through(Keeps(), Keeps(), Keeps())
    assert out == [b"1", b"2", b"3", b"4", b"5"]
    assert not chain.holding


def test_a_stage_that_raises_loses_nothing() -> None:
    """Whichever of them, wherever."""
    for place in range(3):
        for fails_at in (b"1", b"2", b"3", b"4", b"5"):
            stages = [Keeps(fails_at if at == place else b"") for at in range(3)]
            out, chain = through(*stages)
            assert out == [b"1", b"2", b"3", b"4", b"5"], (place, fails_at)
            if place == 0 or fails_at == b"1":
                assert isinstance(chain.error, ValueError)
