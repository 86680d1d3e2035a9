"""The delivery of saved chunks at their times."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from tests.proxy.test_delivery import FakeResponse
from toolstream_core.model import Chunk
from toolstream_core.proxy import delivery as module
from toolstream_core.proxy.delivery import Delivery
from toolstream_core.proxy.flow_facts import Provided
from toolstream_core.transit.actions import Wait

if TYPE_CHECKING:
    from toolstream_core.proxy.live_response import LiveResponse

CHUNKS = (Chunk(100, b"a"), Chunk(700, b"b"))


@pytest.mark.parametrize(("speed", "due"), [(1, [5.1, 5.7]), (2, [5.05, 5.35]), (0, [5, 5])])
def test_saved_chunks_are_sent_at_their_times(monkeypatch: pytest.MonkeyPatch, speed: float, due: list[float]) -> None:
    """Times are divided by the speed, and the speed 0 sends at once; then the response ends."""
    now = 5.0
    monkeypatch.setattr(module, "_now", lambda: now)
    live = FakeResponse()
    delivery = Delivery(cast("LiveResponse", live), saved=Provided(CHUNKS, None), speed=speed)
    delivery.offer_headers()
    assert delivery.next() is None
    delivery.offer(None)
    sent: list[tuple[float, object]] = []
    while (step := delivery.next()) is not None:
        if isinstance(step, Wait):
            now += step.seconds
        else:
            sent.append((now, step))
    assert [chunk for _, chunk in sent] == [b"A", b"B", b"."]
    assert [time for time, _ in sent] == pytest.approx([*due, due[-1]])
