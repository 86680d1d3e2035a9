"""Items that are added without call_id and name."""

from __future__ import annotations

import pytest

from tests.invariants.driven import inspected, payloads, repaired, sse
from tests.protocols.responses.events import CREATED, added, closed, completed, delta, done, item
from toolstream_core.model import StreamFacts

EXCHANGE = StreamFacts(path="/v1/responses", content_type="text/event-stream")
ARGUMENTS = '{"a":1}'


@pytest.mark.parametrize("call_id", ["", None])
@pytest.mark.parametrize("name", ["", None])
def test_the_item_is_added_with_its_call_id(call_id: str | None, name: str | None) -> None:
    """All events of an item get the call_id and name of the closed item."""
    body = sse(
        CREATED,
        added(call_id=call_id, name=name),
        *(delta(part) for part in (ARGUMENTS[:3], ARGUMENTS[3:])),
        done(ARGUMENTS),
        closed(ARGUMENTS),
        completed(item(ARGUMENTS)),
    )
    outcome = repaired(body, EXCHANGE)
    assert {"late-name", "missing-id"} <= set(outcome.finding_names)
    assert inspected(outcome.out, EXCHANGE).finding_names == []
    items = [one.get("item") for one in payloads(outcome.out)]
    assert [one["call_id"] for one in items if one] == ["call_0", "call_0"]
    assert outcome.calls == [("f", {"a": 1})]
