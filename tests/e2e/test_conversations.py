"""Conversations of several turns whose answers are mended: a strict server takes every request, and ids stay apart."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.changes import payloads
from tests.e2e.harness.conversations import Called, calls, rejection, request_after
from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.script import event_stream
from tests.invariants.driven import sse
from tests.invariants.healthy import Healthy, streams
from tests.invariants.test_invariants import CANNOT, injected
from tests.tables import INJECTORS

if TYPE_CHECKING:
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

TURNS = 3
PROTOCOLS = ("openai-chat", "openai-responses", "anthropic")
OWN = ("call_a1", "call_b2")
"""How the ids end that the provider has said."""
ABOUT_IDS = (
    "missing-id",
    "empty-id",
    "null-identity",
    "repeated-id",
    "changing-id",
    "duplicate-id",
    "late-id",
    "doubled-call",
    "changing-call-id",
    "rotating-item-id",
    "leaked-hermes",
)
STREAMS = {
    dialect: next(one for one in streams() if (one.dialect, one.name) == (dialect, "fragments of two"))
    for dialect in PROTOCOLS
}
SAID_NOTHING = {"openai-chat": ('""', "null", '"null"'), "openai-responses": ('""',), "anthropic": ('""', '"null"')}
"""What providers put in the place of an id that they have not."""
CALLS = {
    **{
        (dialect, name): injected(healthy, name).body
        for dialect, healthy in STREAMS.items()
        for name in ABOUT_IDS
        if name in INJECTORS[dialect] and (name, healthy.name) not in CANNOT
    },
    **{
        (dialect, f"id {nothing}"): re.sub(rb'"(toolu_)?call_(a1|b2)"', nothing.encode(), healthy.body)
        for dialect, healthy in STREAMS.items()
        for nothing in SAID_NOTHING[dialect]
    },
    ("openai-chat", "ids of odd lengths"): STREAMS["openai-chat"].body.replace(b"call_a1", b"call_a1" * 5),
    ("openai-chat", "id after the first arguments"): STREAMS["openai-chat"]
    .body.replace(b'"id": "call_b2", ', b"")
    .replace(
        b'{"index": 1, "function": {"arguments": ":', b'{"index": 1, "id": "call_b2", "function": {"arguments": ":'
    ),
}
"""Answers with two calls whose ids are not as they should be."""


@pytest.fixture(scope="module")
def repairing(proxies: Proxies) -> Mitmdump:
    """A proxy that mends what is safe to mend, and makes calls of one syntax."""
    return proxies.get(toolstream_repair=["safe", "leaked-hermes"])


@pytest.fixture(scope="module")
def evening(proxies: Proxies) -> Mitmdump:
    """One that puts ids in order too."""
    return proxies.get(toolstream_repair=["safe", "leaked-hermes"], toolstream_shape=["even-ids"])


class Talk:
    """One conversation with a server that gives the same broken answer in each turn."""

    def __init__(self, proxy: Mitmdump, upstream: Upstream, healthy: Healthy, body: bytes, version: str) -> None:
        self._route = route(proxy, upstream)
        self._upstream = upstream
        self._healthy = healthy
        self._body = body
        self._version = version
        self.turns: list[list[Called]] = []
        self.sent: list[bytes] = []
        """The requests as the server got them."""

    def go_on(self) -> None:
        """Ask again, with all calls so far and their results."""
        healthy = self._healthy
        plan = self._upstream.plan(event_stream([self._body]))
        body = request_after(healthy.dialect, healthy.exchange.request, self.turns)
        with client(self._version, self._route) as connection:
            reply = connection.request(healthy.exchange.path, body, plan.headers)
            self.turns.append(calls(healthy.dialect, reply.rest()))
        self.sent.append(plan.request.body)
        assert plan.request.header("content-length") in {"", str(len(plan.request.body))}
        assert rejection(healthy.dialect, plan.request.body) is None


def have_their_own(proxy: Mitmdump, upstream: Upstream, dialect: str, body: bytes) -> bool:
    """Three turns of two conversations at a time, whose answers are equal to the byte."""
    talks = [Talk(proxy, upstream, STREAMS[dialect], body, version) for version in ("h1", "h2")]
    for _ in range(TURNS):
        for talk in talks:
            talk.go_on()
    turns = [said for talk in talks for said in talk.turns]
    made = [call.id for said in turns for call in said if not call.id.endswith(OWN)]
    assert all(len(said) == 2 for said in turns)
    assert len(made) == len(set(made))
    return True


@pytest.mark.parametrize(("dialect", "name"), CALLS)
def test_every_result_has_its_call(repairing: Mitmdump, secure: Upstream, dialect: str, name: str) -> None:
    """As the server sees it, which says the same ids each time."""
    assert have_their_own(repairing, secure, dialect, CALLS[dialect, name])


@pytest.mark.parametrize("name", [name for dialect, name in CALLS if dialect == "openai-chat"])
def test_every_result_has_its_call_with_even_ids(evening: Mitmdump, secure: Upstream, name: str) -> None:
    """The same where ids are made up that are none too bad."""
    assert have_their_own(evening, secure, "openai-chat", CALLS["openai-chat", name])


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("name", ["ids of odd lengths", "id after the first arguments"])
def test_the_provider_gets_its_own_ids_back(evening: Mitmdump, secure: Upstream, name: str, version: str) -> None:
    """Where it has said some that the client was not given."""
    talk = Talk(evening, secure, STREAMS["openai-chat"], CALLS["openai-chat", name], version)
    talk.go_on()
    talk.go_on()
    given, back = talk.turns[0], json.loads(talk.sent[1])["messages"][-3:]
    assert not given[1].id.endswith(OWN)
    assert [call["id"] for call in back[0]["tool_calls"]] == [given[0].id, "call_b2"]
    assert [result["tool_call_id"] for result in back[1:]] == [given[0].id, "call_b2"]
    assert back[2]["content"] == f'done: "{given[1].id}"'


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_the_provider_gets_its_own_function_call_back(proxies: Proxies, secure: Upstream, version: str) -> None:
    """Where the client was told that of a custom tool; a conversation that is another's twin has its own text."""
    proxy = proxies.get(toolstream_repair=["safe", "custom-as-function"])
    for text in ("one", "two"):
        arguments = json.dumps({"patch": f"*** Begin {text}"})
        item = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "apply_patch",
            "arguments": arguments,
            "status": "completed",
        }
        request = {"model": "m", "stream": True, "tools": [{"type": "custom", "name": "apply_patch"}], "input": []}
        head = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}
        end = {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": [item]}}
        body = sse(
            head,
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            end,
        )
        said = _requested(proxy, secure, version, body, request)[1]
        told = next(event["item"] for event in payloads(said) if event["type"] == "response.output_item.done")
        assert (told["type"], told["input"]) == ("custom_tool_call", f"*** Begin {text}")
        result = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "done"}
        sent = _requested(proxy, secure, version, body, {**request, "input": [told, result]})[0]
        assert json.loads(sent)["input"] == [item, {**result, "type": "function_call_output"}]


def _requested(proxy: Mitmdump, upstream: Upstream, version: str, body: bytes, request: object) -> tuple[bytes, bytes]:
    """The request as the server got it, and its answer as the client received it."""
    plan = upstream.plan(event_stream([body]))
    with client(version, route(proxy, upstream)) as connection:
        said = connection.request("/v1/responses", json.dumps(request).encode(), plan.headers).rest()
    return plan.request.body, said
