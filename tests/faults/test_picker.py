"""Which calls get a fault: by probability, count and target, repeatably."""

from __future__ import annotations

from toolstream_core.calls import OpenCall
from toolstream_core.faults.spec import Budget, Fault, Picker
from toolstream_core.model import Fragment


def calls(count: int) -> list[OpenCall]:
    """Calls of a response."""
    made = [OpenCall(Fragment(), position) for position in range(count)]
    for call in made:
        call.name = f"tool{call.position % 2}"
    return made


def hit_calls(fault: Fault, seed: str = "1", budget: Budget | None = None) -> list[bool]:
    """Which of 40 calls get the fault."""
    picker = Picker(fault, seed, budget or Budget(fault.times))
    return [picker.call(call) for call in calls(40)]


def test_the_seed_decides() -> None:
    """Another seed selects other calls."""
    fault = Fault(name="x", p=0.5)
    assert hit_calls(fault) == hit_calls(fault)
    assert hit_calls(fault) != hit_calls(fault, seed="2")
    assert 5 < sum(hit_calls(fault)) < 35


def test_never_and_always() -> None:
    """With `p=0` no call is selected."""
    assert not any(hit_calls(Fault(name="x", p=0.0)))
    assert all(hit_calls(Fault(name="x")))


def test_counts() -> None:
    """`times` counts over all streams, and `nth` counts in each stream the calls that match the other targets."""
    assert sum(hit_calls(Fault(name="x", times=3))) == 3
    budget = Budget(3)
    assert [sum(hit_calls(Fault(name="x", times=3), budget=budget)) for _ in range(2)] == [3, 0]
    assert [at for at, hit in enumerate(hit_calls(Fault(name="x", nth=2, tool="tool1"))) if hit] == [3]


def test_a_call_is_decided_once() -> None:
    """Every later question gets the same result."""
    picker = Picker(Fault(name="x", p=0.5), "1", Budget(None))
    [call] = calls(1)
    assert len({picker.call(call) for _ in range(20)}) == 1
    assert len({picker.stream() for _ in range(20)}) == 1
