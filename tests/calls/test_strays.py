"""Fragments under another index than their call's: whose they are shows later."""

from __future__ import annotations

import pytest

from tests.calls.fragments import resolved, said
from tests.calls.test_blocks import delta, start, stop
from toolstream_core.calls import AnthropicCalls
from toolstream_core.calls.strays import MAX_STRAYS


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([delta(5, '{"x"'), delta(5, ":1}")], [("a", "f", '{"x":1}')]),
        ([delta(5, '{"x"'), delta(0, ":1}")], [("a", "f", '{"x":1}')]),
        ([delta(0, ""), delta(5, '{"x":1}'), delta(0, "")], [("a", "f", '{"x":1}')]),
        ([delta(5, '{"x":1}'), delta(0, '{"y":2}')], [("a", "f", '{"y":2}'), ("", "", '{"x":1}')]),
        ([delta(5, '{"x"'), delta(5, ":1}"), delta(0, '{"y":2}')], [("a", "f", '{"y":2}'), ("", "", '{"x":1}')]),
        ([delta(0, '{"y":'), delta(5, '{"x":1}'), delta(0, "2}")], [("a", "f", '{"y":2}'), ("", "", '{"x":1}')]),
    ],
)
def test_they_are_the_calls_unless_it_has_its_own(pieces: list, calls: list) -> None:  # type: ignore[type-arg]
    """Its own begin anew, or came before them."""
    assert said(resolved(AnthropicCalls(), [start(0, "a", "f"), *pieces, stop(0)])) == calls


def test_many_of_them_are_the_calls_for_good() -> None:
    """They are not kept for ever."""
    pieces = [delta(5, "1") for _ in range(MAX_STRAYS)]
    (call,) = resolved(AnthropicCalls(), [start(0, "a", "f"), delta(5, "["), *pieces, delta(0, '{"y":2}')])
    assert call.guessed
