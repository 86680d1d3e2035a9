"""The rest of a call whose beginning was in an unreadable event."""

from __future__ import annotations

import pytest

from tests.invariants.driven import repaired
from tests.invariants.healthy import WEATHER, Calls, Healthy, streams, with_calls

BEGINNING, REST = '{"city":', '{"a":1}}'
STREAMS = [
    one
    for one in streams()
    if one.name == "fragments" and one.protocol in {"openai-chat", "anthropic", "gemini-interactions", "cohere-v2"}
]


@pytest.mark.parametrize("healthy", STREAMS, ids=str)
def test_a_rest_that_looks_like_an_object_with_garbage_stays(healthy: Healthy) -> None:
    """The bracket after the object is not removed: the client would get other, complete arguments."""
    frames = list(with_calls(healthy, Calls(WEATHER._replace(fragments=(BEGINNING, REST)))).frames)
    at = next(at for at, frame in enumerate(frames) if b'{\\"city\\":' in frame)
    frames[at] = frames[at].replace(b"}\n", b"\n")
    outcome = repaired(b"".join(frames), healthy.exchange)
    assert {"unparsable-data", "trailing-garbage"} <= {*outcome.finding_names}
    assert b'{\\"a\\":1}}' in outcome.out
