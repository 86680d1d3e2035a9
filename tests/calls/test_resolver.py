"""The shared parts of all resolvers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.calls.fragments import delta
from tests.counted import functions_called
from tests.invariants.driven import repaired
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
def test_blank_values(nothing: object) -> None:
    """Absent, null, empty and stringified null values are blank."""
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
    """Arguments are the same if they are equal as text or as JSON."""
    assert same_arguments(one, other) is same


def test_positions_have_no_gaps() -> None:
    """An entry without content leaves no gap in the positions."""
    calls = ChatCalls()
    for number, fragment in enumerate([delta(index=0), delta("{}", 1, "a", "f"), delta("{}", 2, "b", "g")]):
        calls.take(fragment, number)
    assert [call.position for call in calls.resolved()] == [0, 1]


def test_repeated_calls_of_a_shared_id_are_dropped() -> None:
    """A call that repeats any earlier call of its id is dropped."""
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
def test_the_number_of_calls_is_limited(protocol: type[Calls], monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream with too many calls keeps a limited number of them and is marked as overflowed."""
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
    """Return the number of entries in all containers of `value`."""
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
def test_a_fragment_costs_the_same_in_a_long_call(protocol: type[Calls]) -> None:
    """A fragment costs the same number of function calls in a short and in a long call."""
    first, more = GROWING[protocol]
    calls = protocol()
    calls.take(first, 0)
    early = functions_called(lambda: [calls.take(more, 1) for _ in range(512)])
    for _ in range(20_000):
        calls.take(more, 2)
    late = functions_called(lambda: [calls.take(more, 3) for _ in range(512)])
    assert late <= early + 8


def test_a_later_copy_does_not_replace_complete_arguments() -> None:
    """Arguments of a later complete copy do not replace complete arguments."""
    calls = ChatCalls()
    calls.take(delta('{"x":1}', 0, "a", "f"), 0)
    calls.take(Fragment(id="a", name="f", arguments='{"x":2}', phase=Phase.WHOLE), 1)
    assert calls.resolved()[0].arguments == '{"x":1}'


@pytest.mark.parametrize("healthy", streams(), ids=str)
def test_calls_beyond_the_limit_are_forwarded(healthy: Healthy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls beyond the limit are forwarded unchanged, and are not added to the last call."""
    monkeypatch.setattr(resolver, "MAX_CALLS", 1)
    outcome = repaired(healthy.body, healthy.exchange)
    assert outcome.out == healthy.body
    assert len(outcome.record.calls) == 1
    assert outcome.record.calls[0].complete
