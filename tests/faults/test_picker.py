"""Where a fault acts: by chance, count and target, the same each time."""

from __future__ import annotations

from toolstream_core.calls import OpenCall
from toolstream_core.faults.spec import Budget, Fault, Picker
from toolstream_core.model import Fragment


def calls(count: int) -> list[OpenCall]:
    """So many calls of one answer."""
    made = [OpenCall(Fragment(), position) for position in range(count)]
    for call in made:
        call.name = f"tool{call.position % 2}"
    return made


def drawn(fault: Fault, seed: str = "1", budget: Budget | None = None) -> list[bool]:
    """Which of 40 calls are hit."""
    picker = Picker(fault, seed, budget or Budget(fault.times))
    return [picker.call(call) for call in calls(40)]


def test_the_same_seed_draws_the_same() -> None:
    """Another one draws others."""
    fault = Fault(name="x", p=0.5)
    assert drawn(fault) == drawn(fault)
    assert drawn(fault) != drawn(fault, seed="2")
    assert 5 < sum(drawn(fault)) < 35


def test_never_and_always() -> None:
    """`p=0` is an exact no-op."""
    assert not any(drawn(Fault(name="x", p=0.0)))
    assert all(drawn(Fault(name="x")))


def test_counts() -> None:
    """`times` counts over all streams, `nth` in each one, among the calls that the other targets leave."""
    assert sum(drawn(Fault(name="x", times=3))) == 3
    budget = Budget(3)
    assert [sum(drawn(Fault(name="x", times=3), budget=budget)) for _ in range(2)] == [3, 0]
    assert [at for at, hit in enumerate(drawn(Fault(name="x", nth=2, tool="tool1"))) if hit] == [3]


def test_a_call_is_drawn_once() -> None:
    """However often it is asked for."""
    picker = Picker(Fault(name="x", p=0.5), "1", Budget(None))
    [call] = calls(1)
    assert len({picker.call(call) for _ in range(20)}) == 1
    assert len({picker.stream() for _ in range(20)}) == 1
