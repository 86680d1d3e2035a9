"""Converse streams that end anywhere: nothing raises, nothing is made whole, and what leaves is sound messages."""

from __future__ import annotations

import json

import pytest

from tests.laws.healthy import Healthy, streams
from tests.tables import INJECTORS
from toolstream_core.engine.session import Session
from toolstream_core.faults.picker import Budget
from toolstream_core.faults.spec import Fault
from toolstream_core.settings import SAFE, Settings
from toolstream_core.wire.event_stream import EventStreamFramer

HEALTHY = next(one for one in streams() if str(one) == "bedrock, fragments of two")


def run(body: bytes, wanted: Settings) -> tuple[bytes, list[tuple[str, object]]]:
    """What goes on, and the calls that can be run."""
    line = Session(HEALTHY.exchange, wanted)
    out = b"".join([*line.feed(body), *line.end()])
    assert line.pipeline.error is None
    record = line.record()
    assert record is not None
    return out, [(call.name, json.loads(call.arguments)) for call in record.calls if call.complete]


@pytest.mark.parametrize("name", INJECTORS["bedrock"])
def test_a_broken_stream_may_end_anywhere(name: str) -> None:
    """After each message, and within each: a call that is whole behind repairs was whole before."""
    broken, _ = run(HEALTHY.body, Settings(faults=((Fault(name=name), Budget(None)),)))
    frames = Healthy(HEALTHY.dialect, name, broken).frames
    for count in range(1, len(frames) + 1):
        for cut in (0, 5):
            body = b"".join(frames[:count])[: -cut or None]
            out, before = run(body, Settings(SAFE))
            framer = EventStreamFramer()
            came = [*framer.feed(out), *framer.feed(b"")]
            assert not any(frame.oversize for frame in came)
            assert out.endswith(frames[count - 1][:-5]) or not cut
            if name != "decorated-name":
                assert [one for one in run(out, Settings())[1] if one not in before] == []
