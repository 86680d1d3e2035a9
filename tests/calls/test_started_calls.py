"""The shared resolver of protocols with start and end events of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.calls.fragments import call_tuples, resolved
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
    """Return the finish reason of a response at its token limit."""
    return EventContent(finishes=(Finish(0, "max_tokens"),))


@each_protocol
def test_a_repeated_start_continues_its_call(calls: type[StartedCalls]) -> None:
    """A start with the id and index of the open call continues that call."""
    resolver = calls()
    assert resolver.take(START, 0) is resolver.take(START, 1)


@each_protocol
@pytest.mark.parametrize(
    "other", [START._replace(id="b"), START._replace(index=1), START._replace(id="")], ids=["id", "index", "no id"]
)
def test_any_other_start_starts_a_call(calls: type[StartedCalls], other: Fragment) -> None:
    """A start with another id or index starts a call."""
    resolver = calls()
    assert resolver.take(START, 0) is not resolver.take(other, 1)


@each_protocol
def test_a_start_after_the_end_starts_a_call(calls: type[StartedCalls]) -> None:
    """A start after the end of a call starts another call, also with the same id."""
    resolver = calls()
    first = resolver.take(START, 0)
    resolver.take(END, 1)
    assert resolver.take(START, 2) is not first


@each_protocol
@pytest.mark.parametrize(("text", "cut"), [('{"x"', True), ('{"x":1}', False)])
def test_the_last_incomplete_call_is_cut_by_the_limit(calls: type[StartedCalls], text: str, cut: bool) -> None:
    """At the token limit, the last call is cut despite its end event, unless its arguments are complete."""
    resolver = calls()
    call = resolver.take(START, 0)
    resolver.take(Fragment(index=0, arguments=text), 1)
    resolver.take(END, 2)
    resolver.resolve(limit(), 3)
    assert call is not None
    assert (call.cut, call.ended) == (cut, not cut)


@pytest.mark.parametrize(("calls", "cut"), [(AnthropicCalls, True), (ConverseCalls, True), (CohereCalls, False)])
def test_an_ended_call_without_arguments_at_the_limit(calls: type[StartedCalls], cut: bool) -> None:
    """At the token limit, an ended call without arguments is cut, except of Cohere, where it may need none."""
    resolver = calls()
    call = resolver.take(START, 0)
    resolver.take(END, 1)
    resolver.resolve(limit(), 2)
    assert call is not None
    assert (call.cut, call.ended) == (cut, not cut)


@pytest.mark.parametrize(
    ("fragments", "calls"),
    [
        ([delta(5, '{"x"'), delta(5, ":1}")], [("a", "f", '{"x":1}')]),
        ([delta(5, '{"x"'), delta(0, ":1}")], [("a", "f", '{"x":1}')]),
        ([delta(0, ""), delta(5, '{"x":1}'), delta(0, "")], [("a", "f", '{"x":1}')]),
        ([delta(0, '{"y":'), delta(5, '{"x":1}'), delta(0, "2}")], [("a", "f", '{"y":2}'), ("", "", '{"x":1}')]),
    ],
)
def test_deltas_of_an_unknown_index_belong_to_a_call_without_own_deltas(fragments: list, calls: list) -> None:  # type: ignore[type-arg]
    """Deltas of an unknown index belong to the open call, unless it has fragments of its own."""
    assert call_tuples(resolved(AnthropicCalls(), [start(0, "a", "f"), *fragments, stop(0)])) == calls
