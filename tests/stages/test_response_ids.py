"""Made-up ids: one of a kind in each answer, the same for the same file."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from toolstream_core.engine.session import Session, read_body
from toolstream_core.model import StreamFacts
from toolstream_core.settings import SAFE, Settings
from toolstream_core.stages.response_ids import MAX_IDS, Ids, Own, ResponseIds

HERE = "https://a.example:443/v1/chat/completions"


def test_no_two_answers_have_an_id_in_common() -> None:
    """Nor two runs, nor two ids of one answer."""
    runs = [Ids(), Ids()]
    responses = [run.for_response(HERE) for run in runs for _ in range(50)]
    made = [response.make(prefix) for response in responses for prefix in ("call_", "toolu_", "fc_") for _ in range(4)]
    assert len({one.partition("_")[2] for one in made}) == len(made) == 1200


def test_the_same_seed_gives_the_same_ids() -> None:
    """A saved stream is mended to the same bytes each time."""
    first, second, other = ResponseIds("a"), ResponseIds("a"), ResponseIds("b")
    assert [first.make("call_") for _ in range(3)] == [second.make("call_") for _ in range(3)]
    assert other.make("call_") != ResponseIds("a").make("call_")
    assert len(ResponseIds("a").make("call_", 60)) == 60


@pytest.mark.parametrize("nothing", ["", "null"])
def test_nothing_stands_behind_an_id_for_which_none_came(nothing: str) -> None:
    """An id that says nothing is none."""
    ids = Ids()
    response = ids.for_response(HERE)
    response.stands_for(response.make("call_"), nothing, "f")
    assert not ids


def test_an_id_that_was_made_up_twice_stands_for_the_providers() -> None:
    """Two stages may each put an id of their own in the place of the one before it."""
    ids = Ids()
    response = ids.for_response(HERE)
    first, second, third, fourth = (response.make("call_") for _ in range(4))
    response.stands_for(first, "own", "f")
    response.stands_for(second, first, "f")
    assert ids.own(second, HERE) == Own("own", "f", HERE)
    response.stands_for(fourth, third, "f")
    assert ids.own(fourth, HERE) is None


def test_an_id_belongs_to_its_upstream() -> None:
    """And to the endpoints below it."""
    ids = Ids()
    response = ids.for_response(HERE)
    made = response.make("call_")
    response.stands_for(made, "own", "f")
    assert ids.own(made, HERE)
    assert ids.own(made, f"{HERE}/count")
    for other in (HERE.replace("443", "444"), HERE.replace("https", "http"), HERE.replace("/v1", "/v2"), f"{HERE}2"):
        assert ids.own(made, other) is None


def test_what_the_provider_says_itself_is_its_own() -> None:
    """Such an entry is taken out."""
    ids = Ids()
    response = ids.for_response(HERE)
    made = response.make("call_")
    response.stands_for(made, "own", "f")
    ids.for_response(HERE).note_given(["other", made])
    assert not ids


def test_ids_are_not_kept_for_ever() -> None:
    """The oldest are forgotten first."""
    ids = Ids()
    for number in range(MAX_IDS + 5):
        ids.remember(f"call_{number}", Own("x", "f", HERE))
    assert len(ids) == MAX_IDS
    assert ids.own("call_4", HERE) is None
    assert ids.own("call_5", HERE)


def entry(**said: Any) -> dict[str, Any]:
    """A Chat Completions chunk with one entry."""
    return {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **said}]}, "finish_reason": None}]}


def item(kind: str, call_id: str | None, arguments: str) -> dict[str, Any]:
    """A Responses event that says an item."""
    said = {"type": "function_call", "id": "fc_1", "name": "f", "arguments": arguments}
    named = said if call_id is None else {**said, "call_id": call_id}
    return {"type": f"response.output_item.{kind}", "output_index": 0, "item": named}


CHAT = [
    entry(type="function", function={"name": "f", "arguments": '{"a"'}),
    entry(id="own", function={"arguments": ":1}"}),
]
DELTA = {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0, "delta": '{"a":1}'}
RESPONSES = [item("added", None, ""), DELTA, item("done", "own", '{"a":1}')]


@pytest.mark.parametrize(("path", "payloads"), [("/v1/chat/completions", CHAT), ("/v1/responses", RESPONSES)])
def test_an_id_that_comes_late_stands_behind_the_made_up_one(path: str, payloads: list[dict[str, Any]]) -> None:
    """The client had to have one before."""
    ids = Ids()
    body = Session(StreamFacts(path=path, content_type="text/event-stream"), Settings(SAFE), ids=ids.for_response(HERE))
    out = b"".join(body.feed(b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in payloads)))
    made = set(re.findall(r"call_[0-9a-f]{24}", out.decode()))
    assert len(made) == 1
    assert ids.own(made.pop(), HERE) == Own("own", "f", HERE)
    assert b'"own"' not in out


def test_calls_of_a_final_message_are_told_apart() -> None:
    """Two that share an id are two calls; the first keeps it."""
    said = [
        {"id": "own", "type": "function", "function": {"name": "f", "arguments": f'{{"a":{at}}}'}} for at in range(2)
    ]
    choice = {"index": 0, "delta": {}, "message": {"tool_calls": said}, "finish_reason": "tool_calls"}
    exchange = StreamFacts(path="/v1/chat/completions", content_type="text/event-stream")
    body = Session(exchange, Settings(SAFE))
    out = [*body.feed(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\ndata: [DONE]\n\n"), *body.end()]
    record = read_body(out, exchange)
    assert record is not None
    assert [(call.arguments, call.id == "own") for call in record.calls] == [('{"a":0}', True), ('{"a":1}', False)]
    assert all(call.id for call in record.calls)
