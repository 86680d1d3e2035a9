"""What holds for Responses as an event stream holds for it message by message, by the same laws."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, override

import pytest

from tests.laws import strict
from tests.laws.healthy import Healthy, streams
from tests.laws.test_laws import BY_NAME, CANNOT, CHANGES_CALLS, REPAIRED, run, told
from tests.tables import INJECTORS, SHAPES
from toolstream_core.defects.row import LIVE, Safety
from toolstream_core.faults.picker import Budget
from toolstream_core.faults.spec import Fault
from toolstream_core.settings import NOTHING, Settings
from toolstream_core.wire.form import CONTENT_TYPES, Form
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from toolstream_core.model import Exchange

OF_EVENT_STREAMS = {"comment-as-data", "empty-data", "unterminated-event", "missing-event-name"}
"""Defects around the events, which messages do not have."""
FORMS = {"comments", "crlf", "no-space", "bom", "event-ids"}
"""Shapes of the event stream around the events."""


class Messages(Healthy):
    """A healthy stream whose events came as messages."""

    @property
    @override
    def exchange(self) -> Exchange:
        return replace(super().exchange, content_type=CONTENT_TYPES[Form.LINES])


SOCKETS = [
    Messages(one.dialect, one.name, b"".join(f.data + b"\n" for f in SseFramer().feed(one.body) if f.data))
    for one in streams()
    if one.dialect == "openai-responses"
]


def calls(lines: bytes, healthy: Healthy) -> list[tuple[str, object]]:
    """As the strictest client reads them."""
    events = b"".join(
        b"event: " + json.loads(line)["type"].encode() + b"\ndata: " + line + b"\n\n" for line in lines.splitlines()
    )
    return strict.calls(healthy.dialect, events, Healthy(*healthy).exchange)


@pytest.mark.parametrize("size", [0, 1, 100])
@pytest.mark.parametrize("healthy", SOCKETS, ids=str)
def test_healthy_messages_pass_repairs_unchanged(healthy: Messages, size: int) -> None:
    """And nothing is found in them."""
    out, record = run(healthy.body, healthy, REPAIRED, size)
    assert out == healthy.body
    assert told(record) == set()


@pytest.mark.parametrize("name", [one for one in INJECTORS["openai-responses"] if one not in OF_EVENT_STREAMS])
def test_what_is_planted_is_told_and_mended(name: str) -> None:
    """In every stream in which it can be, as in an event stream; with and without the fast path."""
    row = BY_NAME[name]
    planted = 0
    for healthy in SOCKETS:
        if (name, healthy.name) in CANNOT:
            continue
        body, record = run(healthy.body, healthy, Settings(faults=((Fault(name=name), Budget(None)),)))
        if not record.faults[0].changes:
            continue
        _, seen = run(body, healthy, NOTHING)
        if name not in told(seen):
            assert name == "lost-arguments", "nothing else needs what the tool requires"
            continue
        planted += 1
        if row.repair is Safety.SAFE and row.code not in LIVE and name not in CHANGES_CALLS:
            out, _ = run(body, healthy, REPAIRED)
            assert calls(out, healthy) == calls(healthy.body, healthy)
            assert run(out, healthy, REPAIRED)[0] == out
            assert run(body, healthy, REPAIRED, fast=False)[0] == out
    assert planted or name in {"custom-as-function", "reused-index"}


@pytest.mark.parametrize("shape", SHAPES["openai-responses"])
def test_shapes_say_the_same(shape: str) -> None:
    """Those of the event stream itself have nothing to change."""
    for healthy in SOCKETS:
        out, _ = run(healthy.body, healthy, Settings(shapes=(shape,)))
        assert calls(out, healthy) == calls(healthy.body, healthy)
        assert shape not in FORMS or out == healthy.body
