"""What the protocols share whose calls are started and ended by events: a start that comes again, a limit that cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.calls.fragments import resolved, said
from tests.protocols.test_block_resolvers import delta, start, stop
from toolstream_core.model import EventContent, Finish, Fragment, Phase
from toolstream_core.protocols.anthropic.resolver import AnthropicCalls
from toolstream_core.protocols.bedrock.resolver import ConverseCalls
from toolstream_core.protocols.cohere.resolver import CohereCalls

if TYPE_CHECKING:
    from toolstream_core.calls.started_calls import StartedCalls

START, END = Fragment(index=0, id="a", name="f", phase=Phase.OPEN), Fragment(index=0, phase=Phase.CLOSE)
each_protocol = pytest.mark.parametrize("calls", [AnthropicCalls, ConverseCalls, CohereCalls])


def limit() -> EventContent:
    """The answer reached its limit."""
    return EventContent(finishes=(Finish(0, "max_tokens"),))


@each_protocol
def test_a_start_that_comes_again_goes_on_with_its_call(calls: type[StartedCalls]) -> None:
    """The same id at the same index, and nothing ended in between."""
    some = calls()
    assert some.take(START, 0) is some.take(START, 1)


@each_protocol
@pytest.mark.parametrize(
    "other", [START._replace(id="b"), START._replace(index=1), START._replace(id="")], ids=["id", "index", "no id"]
)
def test_any_other_start_opens_a_call(calls: type[StartedCalls], other: Fragment) -> None:
    """Also at an index in use."""
    some = calls()
    assert some.take(START, 0) is not some.take(other, 1)


@each_protocol
def test_a_start_behind_the_end_opens_a_call(calls: type[StartedCalls]) -> None:
    """Whatever its id."""
    some = calls()
    first = some.take(START, 0)
    some.take(END, 1)
    assert some.take(START, 2) is not first


@each_protocol
@pytest.mark.parametrize(("text", "cut"), [('{"x"', True), ('{"x":1}', False)])
def test_a_call_that_a_limit_cut_is_not_over_for_its_end(calls: type[StartedCalls], text: str, cut: bool) -> None:
    """The last one, unless its arguments are whole."""
    some = calls()
    call = some.take(START, 0)
    some.take(Fragment(index=0, arguments=text), 1)
    some.take(END, 2)
    some.resolve(limit(), 3)
    assert call is not None
    assert (call.cut, call.over) == (cut, not cut)


@pytest.mark.parametrize(("calls", "cut"), [(AnthropicCalls, True), (ConverseCalls, True), (CohereCalls, False)])
def test_a_call_without_arguments_that_has_ended(calls: type[StartedCalls], cut: bool) -> None:
    """On Cohere's wire it may be of a tool that takes none."""
    some = calls()
    call = some.take(START, 0)
    some.take(END, 1)
    some.resolve(limit(), 2)
    assert call is not None
    assert (call.cut, call.over) == (cut, not cut)


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([delta(5, '{"x"'), delta(5, ":1}")], [("a", "f", '{"x":1}')]),
        ([delta(5, '{"x"'), delta(0, ":1}")], [("a", "f", '{"x":1}')]),
        ([delta(0, ""), delta(5, '{"x":1}'), delta(0, "")], [("a", "f", '{"x":1}')]),
        ([delta(0, '{"y":'), delta(5, '{"x":1}'), delta(0, "2}")], [("a", "f", '{"y":2}'), ("", "", '{"x":1}')]),
    ],
)
def test_they_are_the_calls_unless_it_has_its_own(pieces: list, calls: list) -> None:  # type: ignore[type-arg]
    """Its own came before them."""
    assert said(resolved(AnthropicCalls(), [start(0, "a", "f"), *pieces, stop(0)])) == calls
