"""Added ids: unique in each response, and reproducible for a saved stream."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from toolstream_core.engine.session import Session, read_body
from toolstream_core.model import StreamFacts
from toolstream_core.settings import SAFE, Settings
from toolstream_core.stages.response_ids import MAX_IDS, Ids, ProviderId, ResponseIds

HERE = "https://a.example:443/v1/chat/completions"


def test_added_ids_are_unique() -> None:
    """No two added ids are equal, in one response, in several responses and in several runs."""
    runs = [Ids(), Ids()]
    responses = [run.for_response(HERE) for run in runs for _ in range(50)]
    added = [response.make(prefix) for response in responses for prefix in ("call_", "toolu_", "fc_") for _ in range(4)]
    assert len({one.partition("_")[2] for one in added}) == len(added) == 1200


def test_the_same_seed_gives_the_same_ids() -> None:
    """The same seed gives the same ids, and another seed gives other ids."""
    first, second, other = ResponseIds("a"), ResponseIds("a"), ResponseIds("b")
    assert [first.make("call_") for _ in range(3)] == [second.make("call_") for _ in range(3)]
    assert other.make("call_") != ResponseIds("a").make("call_")
    assert len(ResponseIds("a").make("call_", 60)) == 60


@pytest.mark.parametrize("blank", ["", "null"])
def test_an_added_id_for_a_blank_id_is_not_mapped(blank: str) -> None:
    """An added id for an empty or `null` id has no original id."""
    ids = Ids()
    response = ids.for_response(HERE)
    response.map_to(response.make("call_"), blank, "f")
    assert not ids


def test_an_id_replaced_twice_maps_to_the_provider_s_id() -> None:
    """An id that two stages replaced maps to the id of the provider."""
    ids = Ids()
    response = ids.for_response(HERE)
    first, second, third, fourth = (response.make("call_") for _ in range(4))
    response.map_to(first, "own", "f")
    response.map_to(second, first, "f")
    assert ids.own(second, HERE) == ProviderId("own", "f", HERE)
    response.map_to(fourth, third, "f")
    assert ids.own(fourth, HERE) is None


def test_an_id_belongs_to_its_upstream() -> None:
    """An added id is known for its upstream and the endpoints below it, and not for other upstreams."""
    ids = Ids()
    response = ids.for_response(HERE)
    added = response.make("call_")
    response.map_to(added, "own", "f")
    assert ids.own(added, HERE)
    assert ids.own(added, f"{HERE}/count")
    for other in (HERE.replace("443", "444"), HERE.replace("https", "http"), HERE.replace("/v1", "/v2"), f"{HERE}2"):
        assert ids.own(added, other) is None


def test_an_id_of_the_provider_is_not_mapped() -> None:
    """An added id that the provider itself uses is removed from the map."""
    ids = Ids()
    response = ids.for_response(HERE)
    added = response.make("call_")
    response.map_to(added, "own", "f")
    ids.for_response(HERE).note_given(["other", added])
    assert not ids


def test_the_number_of_ids_is_limited() -> None:
    """The number of ids is limited, and the oldest are forgotten first."""
    ids = Ids()
    for number in range(MAX_IDS + 5):
        ids.remember(f"call_{number}", ProviderId("x", "f", HERE))
    assert len(ids) == MAX_IDS
    assert ids.own("call_4", HERE) is None
    assert ids.own("call_5", HERE)


def entry(**fields: Any) -> dict[str, Any]:
    """Return a Chat Completions chunk with one entry."""
    return {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **fields}]}, "finish_reason": None}]}


def item(kind: str, call_id: str | None, arguments: str) -> dict[str, Any]:
    """Return a Responses event with an item."""
    content = {"type": "function_call", "id": "fc_1", "name": "f", "arguments": arguments}
    named = content if call_id is None else {**content, "call_id": call_id}
    return {"type": f"response.output_item.{kind}", "output_index": 0, "item": named}


CHAT = [
    entry(type="function", function={"name": "f", "arguments": '{"a"'}),
    entry(id="own", function={"arguments": ":1}"}),
]
DELTA = {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0, "delta": '{"a":1}'}
RESPONSES = [item("added", None, ""), DELTA, item("done", "own", '{"a":1}')]


@pytest.mark.parametrize(("path", "payloads"), [("/v1/chat/completions", CHAT), ("/v1/responses", RESPONSES)])
def test_an_added_id_maps_to_the_late_id(path: str, payloads: list[dict[str, Any]]) -> None:
    """An id that was added before the provider's late id maps to that id."""
    ids = Ids()
    session = Session(
        StreamFacts(path=path, content_type="text/event-stream"), Settings(SAFE), ids=ids.for_response(HERE)
    )
    out = b"".join(session.feed(b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in payloads)))
    added = set(re.findall(r"call_[0-9a-f]{24}", out.decode()))
    assert len(added) == 1
    assert ids.own(added.pop(), HERE) == ProviderId("own", "f", HERE)
    assert b'"own"' not in out


def test_calls_with_one_id_in_a_message_are_kept_apart() -> None:
    """Of two calls with one id in a final message, the second gets another id."""
    calls = [
        {"id": "own", "type": "function", "function": {"name": "f", "arguments": f'{{"a":{at}}}'}} for at in range(2)
    ]
    choice = {"index": 0, "delta": {}, "message": {"tool_calls": calls}, "finish_reason": "tool_calls"}
    exchange = StreamFacts(path="/v1/chat/completions", content_type="text/event-stream")
    session = Session(exchange, Settings(SAFE))
    out = [
        *session.feed(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\ndata: [DONE]\n\n"),
        *session.end(),
    ]
    record = read_body(out, exchange)
    assert record is not None
    assert [(call.arguments, call.id == "own") for call in record.calls] == [('{"a":0}', True), ('{"a":1}', False)]
    assert all(call.id for call in record.calls)
