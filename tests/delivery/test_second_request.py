"""What is asked again, and how its calls go into the stream."""

from __future__ import annotations

import json

import pytest

from tests.e2e.harness.samples import MAKERS
from tests.invariants import strict
from tests.invariants.healthy import streams
from toolstream_core.delivery.schedule import Schedule
from toolstream_core.delivery.second_request import NothingRecoveredError, recovered
from toolstream_core.engine.session import Session, read_body
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.api import Api
from toolstream_core.protocols.registry import named
from toolstream_core.settings import Settings
from toolstream_core.stages.response_ids import ResponseIds
from toolstream_core.transit.actions import Ask, Send
from toolstream_core.wire.frame import joined

CHAT = "openai-chat"
FINISH = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n'
EXCHANGE = StreamFacts(path="/v1/chat/completions", content_type="text/event-stream", request={"messages": []})
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
WHOLE = {"object": "chat.completion", "choices": [{"index": 0, "message": {"tool_calls": [CALL]}}], "usage": {"n": 3}}


def asked() -> Ask:
    """What a finish without calls makes."""
    [ask] = Schedule(EXCHANGE, (), asks=True).feed(FINISH)
    assert isinstance(ask, Ask)
    return ask


def test_the_request_is_the_same_but_for_its_stream() -> None:
    """Nothing that only a stream may have."""
    request = {"model": "m", "stream": True, "stream_options": {"include_usage": True}, "seed": 7}
    assert Api().unstreamed(request) == {"model": "m", "stream": False, "seed": 7}


def test_the_calls_come_before_the_finish() -> None:
    """Which stays as it came; the usage is told."""
    got = recovered(asked(), StreamFacts(path=EXCHANGE.path), named(CHAT), json.dumps(WHOLE).encode(), ResponseIds())
    assert joined(got.frames).endswith(FINISH)
    assert got.usage == {"n": 3}
    assert [(call.name, list(call.events)) for call in got.calls] == [("f", [0])]
    record = read_body([joined(got.frames)], EXCHANGE)
    assert record is not None
    assert [(call.id, call.name, call.arguments) for call in record.calls] == [("c1", "f", '{"a":1}')]


@pytest.mark.parametrize("dialect", ["cohere-v2", "bedrock"])
def test_calls_come_in_every_framing_behind_what_was_said(dialect: str) -> None:
    """Each at an index of its own: Cohere counts calls apart from content, Bedrock with it."""
    healthy = next(one for one in streams() if str(one) == f"{dialect}, fragments of two")
    faults = ((Fault(name="missing-calls"), Budget(None)),)
    session = Session(healthy.exchange, Settings(faults=faults))
    body = b"".join([*session.feed(healthy.body), *session.end()])
    schedule = Schedule(healthy.exchange, (), asks=True)
    actions = [*schedule.feed(body), *schedule.feed(b"")]
    [ask] = [action for action in actions if isinstance(action, Ask)]
    assert ask.comments == (dialect == "cohere-v2")
    path = healthy.exchange.path.replace("-stream", "")
    sample = MAKERS[dialect]("call_1", "Bern")
    got = recovered(ask, StreamFacts(path=path), named(dialect), sample.unstreamed_response_body, ResponseIds())
    whole = b"".join(joined(got.frames) if action is ask else action.raw for action in actions)  # type: ignore[union-attr]
    assert strict.calls(dialect, whole, healthy.exchange) == [("get_weather", {"city": "Bern"})]
    record = read_body([whole], healthy.exchange)
    assert record is not None
    assert record.findings == []
    assert got.usage == sample.unstreamed_response["usage"]


def test_calls_are_told_apart() -> None:
    """Those without an id of their own, or with another call's, get one that no other answer has."""
    said = [
        {**CALL, "id": identity, "function": {"name": "f", "arguments": f'{{"a":{at}}}'}}
        for at, identity in enumerate(("", "c1", "c1", "null"))
    ]
    whole = {**WHOLE, "choices": [{"index": 0, "message": {"tool_calls": said}}]}
    responses = []
    for seed in "ab":
        got = recovered(
            asked(), StreamFacts(path=EXCHANGE.path), named(CHAT), json.dumps(whole).encode(), ResponseIds(seed)
        )
        record = read_body([joined(got.frames)], EXCHANGE)
        assert record is not None
        responses.append([call.id for call in record.calls])
    for ids in responses:
        assert ids[1] == "c1"
        assert len(set(ids)) == len(said)
    assert len({*responses[0], *responses[1]}) == 2 * len(said) - 1


@pytest.mark.parametrize(
    ("response", "status", "why"),
    [
        (b'{"choices":[]}', 200, "the response has no calls"),
        (b"<html>", 200, "the response is not JSON"),
        (b"[1]", 200, "the response is not from an LLM"),
        (b'{"error":{"message":"slow down"}}', 200, "the response is an error: slow down"),
        (json.dumps(WHOLE).encode(), 529, "the response has status 529"),
    ],
)
def test_nothing_is_made_up(response: bytes, status: int, why: str) -> None:
    """An answer without calls is none, and it is said why."""
    path = "/" if response == b"[1]" else EXCHANGE.path
    with pytest.raises(NothingRecoveredError, match=why):
        recovered(asked(), StreamFacts(path=path, status=status), named(CHAT), response, ResponseIds())


def test_healthy_streams_are_never_asked_for_again() -> None:
    """Whatever they say."""
    for healthy in streams():
        schedule = Schedule(healthy.exchange, (), asks=True)
        actions = [*schedule.feed(healthy.body), *schedule.feed(b"")]
        assert {type(action) for action in actions} == {Send}
