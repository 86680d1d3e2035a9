"""The arguments that all calls of a response keep are limited; the rest is forwarded."""

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

LIMIT = 64_000
CALLS = 12
SIZE = 20_000


class ManyCalls(Stream):
    """A stream of many long calls."""

    @property
    def response(self) -> HealthyResponse:
        """Calls that exceed the limit only together."""
        texts = [json.dumps({"city": f"{at} {repeated('over the hills and far away', SIZE)}"}) for at in range(CALLS)]
        calls = tuple(HealthyCall(f"get_{at}", text) for at, text in enumerate(texts))
        return HealthyResponse(model="m", request={}, calls=calls)


STREAMS = [
    ManyCalls(protocol, form, "arguments", 5_000, "words", "compact", "lf")
    for protocol in PROTOCOLS
    for form in FORMS.get(protocol.name, (Form.EVENTS,))
]


def kept_size(root: object) -> int:
    """Return the length of all long texts that an object references."""
    seen: set[int] = set()
    todo, size = [root], 0
    ignored = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, ignored):
            continue
        seen.add(id(one))
        size += len(one) if isinstance(one, str | bytes | bytearray) and len(one) >= 500 else 0
        todo += gc.get_referents(one)
    return size


@pytest.mark.parametrize("settings", [NOTHING, Settings(SAFE)], ids=["read", "safe"])
@pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])
@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_the_arguments_of_many_calls_are_limited(
    stream: ManyCalls, settings: Settings, fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first calls are complete, one finding reports the others, and every byte is forwarded."""
    monkeypatch.setattr(arguments, "MAX_KEPT", LIMIT)
    events = stream.events()
    session = Session(stream.exchange, settings, fast=fast)
    sent = [chunk for event in events[:-1] for chunk in session.feed(event)]
    kept = kept_size(session)
    sent += [*session.feed(events[-1]), *session.end()]
    record = session.record()
    assert record is not None
    assert session.error is None
    assert b"".join(sent) == b"".join(events)
    assert [call.complete for call in record.calls][0 :: CALLS - 1] == [True, False]
    assert sum(len(call.arguments) for call in record.calls) <= LIMIT
    assert kept <= 3 * LIMIT + 3 * max(map(len, events))
    assert [finding.code for finding in record.findings] == [CUT_OFF_CALL.code]
    assert "longer than toolstream keeps" in record.findings[0].message
    assert session.cut_off(record) is None
