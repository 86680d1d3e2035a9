"""Sockets through a real proxy: captured, served from what was captured, and captured again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import openai
import pytest

from tests.e2e.harness.socket_server import Planned, SocketServer
from tests.e2e.harness.socket_talk import talk
from tests.sockets import conversation
from tests.sockets.test_saved import apart
from toolstream_core.fixtures import Fixture, load
from toolstream_core.testing import ProxySession, Setup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from toolstream_core.sockets.saved import SavedMessage

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def session() -> Iterator[ProxySession]:
    """One proxy for all tests here."""
    with ProxySession() as shared:
        yield shared


def requests(messages: Sequence[SavedMessage]) -> list[dict[str, Any]]:
    """What the client of a socket asks for."""
    said = [json.loads(one.data) for one in messages if one.from_client]
    return [one for one in said if one["type"] == "response.create"]


def answers_of(messages: Sequence[SavedMessage]) -> list[list[str]]:
    """What its provider says to each request."""
    return [[one.data.decode() for one in answer.messages] for answer in apart(messages)]


def url(session: ProxySession) -> str:
    """Where the session is a Responses socket."""
    return f"ws://127.0.0.1:{session.port}/v1/responses"


def told(fixtures: Sequence[Fixture]) -> list[tuple[Any, ...]]:
    """What two captures of the same have in common."""
    return [(one.request, [chunk.data for chunk in one.chunks], one.broken, one.asked) for one in fixtures]


def captured(folder: Path) -> list[Fixture]:
    """The captures in a folder, in the order of their requests."""
    return sorted(load(folder), key=lambda one: json.dumps(one.request))


def test_what_was_captured_is_served_and_captured_again_as_it_was(session: ProxySession, tmp_path: Path) -> None:
    """Two answers on one socket, and two lanes at once, with and without compression; each message as it came."""
    sockets = [conversation.two_answers(), conversation.two_lanes()]
    first, second = tmp_path / "first", tmp_path / "second"
    session.reset(Setup(network="loopback", options={"toolstream_capture": str(first)}))
    with SocketServer() as server:
        plans = [server.plan(Planned(answers_of(one), together=at)) for at, one in enumerate(sockets, 1)]
        answered = [
            talk(f"ws://127.0.0.1:{server.port}{plan.path}/v1/responses", requests(one), 2, proxy=session.proxy_url)
            for plan, one in zip(plans, sockets, strict=True)
        ]
    session.reset(Setup(flows=(first,), strict=True, options={"toolstream_capture": str(second)}))
    for compression in ("deflate", None):
        served = [talk(url(session), requests(one), 2, compression=compression) for one in sockets]
        for one, other in zip(served, answered, strict=True):
            assert sorted(one) == sorted(other)
        assert served[0] == answered[0]
    assert {one.answer for one in session.exchanges() if one.request.protocol} == {"exact"}
    session.reset(Setup())
    before, after = captured(first), captured(second)
    assert told(after)[::2] == told(after)[1::2] == told(before)
    assert [one.record.findings for one in after] == [[]] * 8


def test_an_sdk_reads_made_calls_over_a_socket(session: ProxySession) -> None:
    """After a warm-up; what it brings back is understood."""
    session.reset(Setup(calls=('get_weather {"city": "Oslo"}',)))
    client = openai.OpenAI(api_key="sk-test", base_url=session.base_url("openai-responses"))
    asked: Any = {"model": "gpt-5", "tools": conversation.TOOLS, "input": [{"role": "user", "content": "hi"}]}
    with client.responses.connect() as connection:
        connection.response.create(**asked, generate=False)
        warm = completed(connection)
        assert warm.output == []
        connection.response.create(**asked, previous_response_id=warm.id)
        [call] = completed(connection).output
        assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Oslo"})
        brought = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        connection.response.create(**{**asked, "input": [brought]})
        assert completed(connection).output_text
    exchanges = [one for one in session.exchanges() if one.request.protocol]
    assert [one.request["input"] for one in exchanges] == [asked["input"], asked["input"], [brought]]
    assert [len(one.calls) for one in exchanges] == [0, 1, 0]
    assert exchanges[1].verdict is not None
    assert exchanges[1].verdict.understood


def completed(connection: Any) -> Any:
    """The response that comes next, when it is whole."""
    for event in connection:
        assert event.type != "error", event
        if event.type == "response.completed":
            return event.response
    raise AssertionError


def test_faults_and_repairs_act_on_what_is_served(session: ProxySession, tmp_path: Path) -> None:
    """An answer over HTTP serves a socket too, whole or streamed; what was not recorded is an error message."""
    asked = conversation.request()
    body = {key: value for key, value in asked.items() if key != "type"}
    session.reset(Setup(calls=('get_weather {"city": "Oslo"}',), options={"toolstream_capture": str(tmp_path)}))
    client = openai.OpenAI(api_key="sk-test", base_url=session.base_url("openai-responses"))
    client.responses.create(**body)
    with client.responses.stream(**body, metadata={"of": "stream"}) as stream:
        stream.until_done()
    session.reset(Setup(flows=(tmp_path,), strict=True))
    plain = talk(url(session), [asked], 1)
    assert [json.loads(one)["type"] for one in (plain[0], plain[-1])] == ["response.created", "response.completed"]
    [refused] = talk(url(session), [conversation.request(model="other", stream_id="a")], 1)
    said = json.loads(refused)
    assert (said["type"], said["status"], said["stream_id"]) == ("error", 404, "a")
    assert "no saved answer" in said["error"]["message"]
