"""The second request of a repair, and how its calls are inserted into the stream."""

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
from toolstream_core.settings import Settings
from toolstream_core.stages.response_ids import ResponseIds
from toolstream_core.transit.actions import Ask, Send
from toolstream_core.wire.frame import joined

CHAT = "openai-chat"
FINISH = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n'
EXCHANGE = StreamFacts(path="/v1/chat/completions", content_type="text/event-stream", request={"messages": []})
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
COMPLETION = {
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"tool_calls": [CALL]}}],
    "usage": {"n": 3},
}


def second_request() -> Ask:
    """The second request for a response that ends without calls."""
    [ask] = Schedule(EXCHANGE, (), asks=True).feed(FINISH)
    assert isinstance(ask, Ask)
    return ask


def test_the_second_request_has_no_stream() -> None:
    """Options that are only valid with a stream are removed."""
    request = {"model": "m", "stream": True, "stream_options": {"include_usage": True}, "seed": 7}
    assert Api().unstreamed(request) == {"model": "m", "stream": False, "seed": 7}


def test_the_calls_are_inserted_before_the_finish() -> None:
    """The finish is unchanged, and the usage is reported."""
    found = recovered(second_request(), StreamFacts(path=EXCHANGE.path), json.dumps(COMPLETION).encode(), ResponseIds())
    assert joined(found.frames).endswith(FINISH)
    assert found.usage == {"n": 3}
    assert [(call.name, list(call.events)) for call in found.calls] == [("f", [0])]
    record = read_body([joined(found.frames)], EXCHANGE)
    assert record is not None
    assert [(call.id, call.name, call.arguments) for call in record.calls] == [("c1", "f", '{"a":1}')]


@pytest.mark.parametrize("protocol", ["cohere-v2", "bedrock"])
def test_calls_are_inserted_after_the_content_in_every_framing(protocol: str) -> None:
    """Their indexes are new. Cohere counts calls separately from content, and Bedrock counts both."""
    healthy = next(one for one in streams() if str(one) == f"{protocol}, fragments of two")
    faults = ((Fault(name="missing-calls"), Budget(None)),)
    session = Session(healthy.exchange, Settings(faults=faults))
    body = b"".join([*session.feed(healthy.body), *session.end()])
    schedule = Schedule(healthy.exchange, (), asks=True)
    actions = [*schedule.feed(body), *schedule.feed(b"")]
    [ask] = [action for action in actions if isinstance(action, Ask)]
    assert ask.comments == (protocol == "cohere-v2")
    path = healthy.exchange.path.replace("-stream", "")
    sample = MAKERS[protocol]("call_1", "Bern")
    found = recovered(ask, StreamFacts(path=path), sample.unstreamed_response_body, ResponseIds())
    repaired = b"".join(joined(found.frames) if action is ask else action.raw for action in actions)  # type: ignore[union-attr]
    assert strict.calls(protocol, repaired, healthy.exchange) == [("get_weather", {"city": "Bern"})]
    record = read_body([repaired], healthy.exchange)
    assert record is not None
    assert record.findings == []
    assert found.usage == sample.unstreamed_response["usage"]


def test_recovered_calls_have_unique_ids() -> None:
    """Missing and repeated ids are replaced by ids that no other response has."""
    calls = [
        {**CALL, "id": identity, "function": {"name": "f", "arguments": f'{{"a":{at}}}'}}
        for at, identity in enumerate(("", "c1", "c1", "null"))
    ]
    repaired = {**COMPLETION, "choices": [{"index": 0, "message": {"tool_calls": calls}}]}
    responses = []
    for seed in "ab":
        found = recovered(
            second_request(),
            StreamFacts(path=EXCHANGE.path),
            json.dumps(repaired).encode(),
            ResponseIds(seed),
        )
        record = read_body([joined(found.frames)], EXCHANGE)
        assert record is not None
        responses.append([call.id for call in record.calls])
    for ids in responses:
        assert ids[1] == "c1"
        assert len(set(ids)) == len(calls)
    assert len({*responses[0], *responses[1]}) == 2 * len(calls) - 1


@pytest.mark.parametrize(
    ("response", "status", "message"),
    [
        (b'{"choices":[]}', 200, "the response has no calls"),
        (b"<html>", 200, "the response is not JSON"),
        (b"[1]", 200, "the response is not from an LLM"),
        (b'{"error":{"message":"slow down"}}', 200, "the response is an error: slow down"),
        (json.dumps(COMPLETION).encode(), 529, "the response has status 529"),
    ],
)
def test_a_response_without_calls_recovers_nothing(response: bytes, status: int, message: str) -> None:
    """The message has the reason."""
    path = "/" if response == b"[1]" else EXCHANGE.path
    with pytest.raises(NothingRecoveredError, match=message):
        recovered(second_request(), StreamFacts(path=path, status=status), response, ResponseIds())


def test_valid_streams_have_no_second_request() -> None:
    """All actions send received bytes."""
    for healthy in streams():
        schedule = Schedule(healthy.exchange, (), asks=True)
        actions = [*schedule.feed(healthy.body), *schedule.feed(b"")]
        assert {type(action) for action in actions} == {Send}
