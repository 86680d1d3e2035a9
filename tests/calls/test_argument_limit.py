"""All calls of one response keep only so much of their arguments, and the rest passes."""

from __future__ import annotations

import gc
import json
import types

import pytest

from tests.fuzz.cuts import FORMS, Stream, repeated
from toolstream_core.calls import arguments
from toolstream_core.defects.finish import CUT_OFF_CALL
from toolstream_core.engine.session import Session
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.protocols.writing import HealthyCall, HealthyResponse
from toolstream_core.settings import NOTHING, SAFE, Settings
from toolstream_core.wire.frame import Form

KEPT = 64_000
CALLS = 12
SIZE = 20_000


class Many(Stream):
    """A stream of many long calls."""

    @property
    def response(self) -> HealthyResponse:
        """Each call by itself may be kept, all of them may not."""
        said = [json.dumps({"city": f"{at} {repeated('over the hills and far away', SIZE)}"}) for at in range(CALLS)]
        calls = tuple(HealthyCall(f"get_{at}", text) for at, text in enumerate(said))
        return HealthyResponse(model="m", request={}, calls=calls)


STREAMS = [
    Many(protocol, form, "arguments", 5_000, "words", "compact", "lf")
    for protocol in PROTOCOLS
    for form in FORMS.get(protocol.name, (Form.EVENTS,))
]


def held(root: object) -> int:
    """Characters and bytes of all long texts that an object holds."""
    seen: set[int] = set()
    todo, size = [root], 0
    passed_over = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, passed_over):
            continue
        seen.add(id(one))
        size += len(one) if isinstance(one, str | bytes | bytearray) and len(one) >= 500 else 0
        todo += gc.get_referents(one)
    return size


@pytest.mark.parametrize("settings", [NOTHING, Settings(SAFE)], ids=["read", "safe"])
@pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])
@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_long_calls_together_are_bounded(
    stream: Many, settings: Settings, fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ones are read, one finding tells of the others, and every byte passes."""
    monkeypatch.setattr(arguments, "MAX_KEPT", KEPT)
    events = stream.events()
    session = Session(stream.exchange, settings, fast=fast)
    sent = [piece for event in events[:-1] for piece in session.feed(event)]
    kept = held(session)
    sent += [*session.feed(events[-1]), *session.end()]
    record = session.record()
    assert record is not None
    assert session.error is None
    assert b"".join(sent) == b"".join(events)
    assert [call.complete for call in record.calls][0 :: CALLS - 1] == [True, False]
    assert sum(len(call.arguments) for call in record.calls) <= KEPT
    assert kept <= 3 * KEPT + 3 * max(map(len, events))
    assert [finding.code for finding in record.findings] == [CUT_OFF_CALL.code]
    assert "longer than toolstream keeps" in record.findings[0].message
    assert session.cut_off(record) is None
