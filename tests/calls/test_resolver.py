"""What every resolver shares: phantoms fall away, positions are dense, the number of calls is bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.calls.fragments import delta
from tests.counted import functions_called
from tests.invariants.driven import changed
from tests.invariants.healthy import Healthy, streams
from toolstream_core.calls import Calls, OpenCall, resolver
from toolstream_core.calls.json_text import same_arguments
from toolstream_core.calls.open_call import nonblank
from toolstream_core.model import ABSENT, Fragment, Phase
from toolstream_core.protocols.anthropic.resolver import AnthropicCalls
from toolstream_core.protocols.chat.resolver import ChatCalls
from toolstream_core.protocols.gemini.resolver import GeminiCalls
from toolstream_core.protocols.responses.resolver import ResponsesCalls

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("nothing", [ABSENT, None, "", "null", "None", "undefined"])
def test_nothing_is_known(nothing: object) -> None:
    """Absent, null, empty and a stringified null say nothing."""
    assert nonblank(nothing) == ""  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("{}", "{}", True),
        ('{"a": 1}', '{"a":1}', True),
        ('{"a":1,"b":2}', '{"b":2,"a":1}', True),
        ('{"a":1}', '{"a":2}', False),
        ('{"a":1}', '{"a":true}', False),
        ("{", "{", True),
        ("{", "[", False),
    ],
)
def test_same_arguments(one: str, other: str, same: bool) -> None:
    """Equal to the letter or as JSON."""
    assert same_arguments(one, other) is same


def test_positions_are_dense_without_phantoms() -> None:
    """An entry that said nothing leaves no hole."""
    calls = ChatCalls()
    for number, fragment in enumerate([delta(index=0), delta("{}", 1, "a", "f"), delta("{}", 2, "b", "g")]):
        calls.take(fragment, number)
    assert [call.position for call in calls.resolved()] == [0, 1]


def test_a_call_that_says_another_again_is_dropped_beside_others_of_its_id() -> None:
    """Also where the first call of that id is another one."""
    calls = ChatCalls()
    for number, (name, index) in enumerate([("f", 0), ("g", 1), ("g", 2), ("f", 3)]):
        calls.take(delta("{}", index, "a", name), number)
    assert [call.name for call in calls.resolved()] == ["f", "g"]


OPENING: dict[type[Calls], Callable[[int], Fragment]] = {
    ChatCalls: lambda at: delta("{}", at, f"id{at}", "f"),
    ResponsesCalls: lambda at: Fragment(index=at, id=f"id{at}", item_id=f"fc{at}", name="f", phase=Phase.OPEN),
    AnthropicCalls: lambda at: Fragment(index=at, id=f"id{at}", name="f", phase=Phase.OPEN),
    GeminiCalls: lambda at: Fragment(id=f"id{at}", name="f", arguments="{}", phase=Phase.CLOSE),
}


@pytest.mark.parametrize("protocol", OPENING)
def test_calls_are_bounded(protocol: type[Calls], monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that opens calls without end fills no memory; it is noted."""
    monkeypatch.setattr(resolver, "MAX_CALLS", 3)
    calls = protocol()
    sizes = []
    for number in range(50):
        calls.take(OPENING[protocol](number), number)
        sizes.append(_kept(calls))
    assert calls.overflowed
    assert len(calls.resolved()) == 3
    assert len(set(sizes[4:])) == 1


def _kept(value: object) -> int:
    """How many entries the containers in `value` have together."""
    if isinstance(value, dict):
        return len(value) + sum(map(_kept, value.values()))
    if isinstance(value, list):
        return len(value)
    inner = [*getattr(value, "__dict__", ()), *getattr(value, "__slots__", ())]
    return sum(_kept(getattr(value, name)) for name in inner) if not isinstance(value, OpenCall) else 0


GROWING: dict[type[Calls], tuple[Fragment, Fragment]] = {
    ChatCalls: (delta("", 0, "a", "f"), delta("{", 0, "a", "f")),
    ResponsesCalls: (Fragment(index=0, id="a", name="f", phase=Phase.OPEN), Fragment(index=0, arguments="{")),
    AnthropicCalls: (Fragment(index=0, id="a", name="f", phase=Phase.OPEN), Fragment(index=0, arguments="{")),
}


@pytest.mark.parametrize("protocol", GROWING)
def test_a_fragment_costs_the_same_however_long_its_call_is(protocol: type[Calls]) -> None:
    """Counted in functions called, Python's and C's, while a call of very many fragments grows."""
    first, more = GROWING[protocol]
    calls = protocol()
    calls.take(first, 0)
    early = functions_called(lambda: [calls.take(more, 1) for _ in range(512)])
    for _ in range(20_000):
        calls.take(more, 2)
    late = functions_called(lambda: [calls.take(more, 3) for _ in range(512)])
    assert late <= early + 8


def test_whole_fills_only_what_is_not_whole() -> None:
    """What a later phase says does not replace arguments that came whole."""
    calls = ChatCalls()
    calls.take(delta('{"x":1}', 0, "a", "f"), 0)
    calls.take(Fragment(id="a", name="f", arguments='{"x":2}', phase=Phase.WHOLE), 1)
    assert calls.resolved()[0].arguments == '{"x":1}'


@pytest.mark.parametrize("healthy", streams(), ids=str)
def test_calls_beyond_the_bound_pass(healthy: Healthy, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not read, and are no part of the last one that is."""
    monkeypatch.setattr(resolver, "MAX_CALLS", 1)
    went = changed(healthy.body, healthy.exchange)
    assert went.out == healthy.body
    assert len(went.record.calls) == 1
    assert went.record.calls[0].complete
