"""Conversations with repaired responses: a strict server accepts every next request, and generated ids are unique."""

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
"""The ends of the provider's ids."""
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
    protocol: next(one for one in streams() if (one.protocol, one.name) == (protocol, "fragments of two"))
    for protocol in PROTOCOLS
}
NO_ID = {"openai-chat": ('""', "null", '"null"'), "openai-responses": ('""',), "anthropic": ('""', '"null"')}
"""Values that providers send in place of an id."""
CALLS = {
    **{
        (protocol, name): injected(healthy, name).body
        for protocol, healthy in STREAMS.items()
        for name in ABOUT_IDS
        if name in INJECTORS[protocol] and (name, healthy.name) not in CANNOT
    },
    **{
        (protocol, f"id {value}"): re.sub(rb'"(toolu_)?call_(a1|b2)"', value.encode(), healthy.body)
        for protocol, healthy in STREAMS.items()
        for value in NO_ID[protocol]
    },
    ("openai-chat", "ids of odd lengths"): STREAMS["openai-chat"].body.replace(b"call_a1", b"call_a1" * 5),
    ("openai-chat", "id after the first arguments"): STREAMS["openai-chat"]
    .body.replace(b'"id": "call_b2", ', b"")
    .replace(
        b'{"index": 1, "function": {"arguments": ":', b'{"index": 1, "id": "call_b2", "function": {"arguments": ":'
    ),
}
"""Responses with two calls whose ids have a defect."""


@pytest.fixture(scope="module")
def repairing(proxies: Proxies) -> Mitmdump:
    """A proxy with safe repairs, which also extracts calls from Hermes markup."""
    return proxies.get(toolstream_repair=["safe", "leaked-hermes"])


@pytest.fixture(scope="module")
def repairing_with_even_ids(proxies: Proxies) -> Mitmdump:
    """A repairing proxy with the shape `even-ids`."""
    return proxies.get(toolstream_repair=["safe", "leaked-hermes"], toolstream_shape=["even-ids"])


class RepeatedConversation:
    """A conversation with a server that sends the same broken response in each turn."""

    def __init__(self, proxy: Mitmdump, upstream: Upstream, healthy: Healthy, body: bytes, version: str) -> None:
        self._route = route(proxy, upstream)
        self._upstream = upstream
        self._healthy = healthy
        self._body = body
        self._version = version
        self.turns: list[list[Called]] = []
        self.sent: list[bytes] = []
        """The requests that the server received."""

    def go_on(self) -> None:
        """Send the next request, with all calls so far and their results."""
        healthy = self._healthy
        plan = self._upstream.plan(event_stream([self._body]))
        body = request_after(healthy.protocol, healthy.exchange.request, self.turns)
        with client(self._version, self._route) as connection:
            reply = connection.request(healthy.exchange.path, body, plan.headers)
            self.turns.append(calls(healthy.protocol, reply.rest()))
        self.sent.append(plan.request.body)
        assert plan.request.header("content-length") in {"", str(len(plan.request.body))}
        assert rejection(healthy.protocol, plan.request.body) is None


def have_unique_ids(proxy: Mitmdump, upstream: Upstream, protocol: str, body: bytes) -> bool:
    """Whether generated ids are unique in three turns of two concurrent conversations with identical responses."""
    conversations = [
        RepeatedConversation(proxy, upstream, STREAMS[protocol], body, version) for version in ("h1", "h2")
    ]
    for _ in range(TURNS):
        for conversation in conversations:
            conversation.go_on()
    turns = [received for conversation in conversations for received in conversation.turns]
    generated = [call.id for received in turns for call in received if not call.id.endswith(OWN)]
    assert all(len(received) == 2 for received in turns)
    assert len(generated) == len(set(generated))
    return True


@pytest.mark.parametrize(("protocol", "name"), CALLS)
def test_a_strict_server_accepts_repaired_ids(repairing: Mitmdump, secure: Upstream, protocol: str, name: str) -> None:
    """Each result belongs to exactly one call, although the server repeats its ids in each turn."""
    assert have_unique_ids(repairing, secure, protocol, CALLS[protocol, name])


@pytest.mark.parametrize("name", [name for protocol, name in CALLS if protocol == "openai-chat"])
def test_a_strict_server_accepts_even_ids(repairing_with_even_ids: Mitmdump, secure: Upstream, name: str) -> None:
    """Each result belongs to exactly one call when `even-ids` replaces valid ids, too."""
    assert have_unique_ids(repairing_with_even_ids, secure, "openai-chat", CALLS["openai-chat", name])


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("name", ["ids of odd lengths", "id after the first arguments"])
def test_the_provider_gets_its_own_ids_back(
    repairing_with_even_ids: Mitmdump, secure: Upstream, name: str, version: str
) -> None:
    """The next request has the provider's ids in place of the generated ids."""
    conversation = RepeatedConversation(
        repairing_with_even_ids, secure, STREAMS["openai-chat"], CALLS["openai-chat", name], version
    )
    conversation.go_on()
    conversation.go_on()
    given, back = conversation.turns[0], json.loads(conversation.sent[1])["messages"][-3:]
    assert not given[1].id.endswith(OWN)
    assert [call["id"] for call in back[0]["tool_calls"]] == [given[0].id, "call_b2"]
    assert [result["tool_call_id"] for result in back[1:]] == [given[0].id, "call_b2"]
    assert back[2]["content"] == f'done: "{given[1].id}"'


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_the_provider_gets_its_own_function_call_back(proxies: Proxies, secure: Upstream, version: str) -> None:
    """The next request has the provider's function call in place of the client's custom tool call, per conversation."""
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
        response = _exchanged(proxy, secure, version, body, request)[1]
        call = next(event["item"] for event in payloads(response) if event["type"] == "response.output_item.done")
        assert (call["type"], call["input"]) == ("custom_tool_call", f"*** Begin {text}")
        result = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "done"}
        sent = _exchanged(proxy, secure, version, body, {**request, "input": [call, result]})[0]
        assert json.loads(sent)["input"] == [item, {**result, "type": "function_call_output"}]


def _exchanged(proxy: Mitmdump, upstream: Upstream, version: str, body: bytes, request: object) -> tuple[bytes, bytes]:
    """The request that the server received, and the response that the client received."""
    plan = upstream.plan(event_stream([body]))
    with client(version, route(proxy, upstream)) as connection:
        response = connection.request("/v1/responses", json.dumps(request).encode(), plan.headers).rest()
    return plan.request.body, response
