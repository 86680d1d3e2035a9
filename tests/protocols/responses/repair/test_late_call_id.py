"""Items that are added without their call_id, which comes with their name."""

from __future__ import annotations

import json

import pytest

from tests.invariants.driven import inspected, repaired, sse
from tests.protocols.responses.events import CREATED, added, closed, completed, delta, done, item
from toolstream_core.model import StreamFacts

EXCHANGE = StreamFacts(path="/v1/responses", content_type="text/event-stream")
WHOLE = '{"a":1}'


@pytest.mark.parametrize("call_id", ["", None])
@pytest.mark.parametrize("name", ["", None])
def test_the_item_is_added_with_it(call_id: str | None, name: str | None) -> None:
    """All events have the id that the provider closes the item with."""
    body = sse(
        CREATED,
        added(call_id=call_id, name=name),
        *(delta(part) for part in (WHOLE[:3], WHOLE[3:])),
        done(WHOLE),
        closed(WHOLE),
        completed(item(WHOLE)),
    )
    went = repaired(body, EXCHANGE)
    assert {"late-name", "missing-id"} <= set(went.finding_names)
    assert inspected(went.out, EXCHANGE).finding_names == []
    items = [json.loads(line[6:]).get("item") for line in went.out.splitlines() if line.startswith(b"data: ")]
    assert [one["call_id"] for one in items if one] == ["call_0", "call_0"]
    assert went.calls == [("f", {"a": 1})]
