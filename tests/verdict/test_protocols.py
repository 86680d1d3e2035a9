"""The verdict in every protocol on clients that return everything, lose arguments, or mix up results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.healthy import Healthy, streams
from toolstream_core.engine.session import read_body
from toolstream_core.model.record import runs_on_client
from toolstream_core.protocols.requests import match_key
from toolstream_core.verdict.conversations import Conversations, Judged, SentResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.model import Call

type Json = Any

WITHOUT_IDS = {"gemini", "ollama"}


def returned_messages(
    protocol: str, calls: Sequence[Call], arguments: Sequence[str], results: Sequence[str]
) -> list[Json]:
    """The messages with these calls and arguments, and results with these ids."""
    pairs = list(zip(calls, arguments, strict=True))
    objects = [(call, json.loads(text)) for call, text in pairs]
    if protocol == "openai-responses":
        kinds = {"function": ("function_call", "arguments"), "custom": ("custom_tool_call", "input")}
        items: list[Json] = [
            {"type": kinds[call.kind][0], "call_id": call.id, "name": call.name, kinds[call.kind][1]: text}
            for call, text in pairs
        ]
        return items + [{"type": "function_call_output", "call_id": one, "output": "r"} for one in results]
    if protocol == "anthropic":
        blocks = [{"type": "tool_use", "id": call.id, "name": call.name, "input": value} for call, value in objects]
        responses = [{"type": "tool_result", "tool_use_id": one, "content": "r"} for one in results]
        return [{"role": "assistant", "content": blocks}, {"role": "user", "content": responses}]
    if protocol == "bedrock":
        uses = [{"toolUse": {"toolUseId": call.id, "name": call.name, "input": value}} for call, value in objects]
        back = [{"toolResult": {"toolUseId": one, "content": [{"text": "r"}]}} for one in results]
        return [{"role": "assistant", "content": uses}, {"role": "user", "content": back}]
    if protocol == "gemini":
        parts = [{"functionCall": {"name": call.name, "args": value}} for call, value in objects]
        named = [{"functionResponse": {"name": call.name, "response": {"r": 1}}} for call, _ in pairs]
        return [{"role": "model", "parts": parts}, {"role": "user", "parts": named}]
    if protocol == "ollama":
        bare = [{"function": {"name": call.name, "arguments": value}} for call, value in objects]
        tool = [{"role": "tool", "tool_name": call.name, "content": "r"} for call, _ in pairs]
        return [{"role": "assistant", "tool_calls": bare}, *tool]
    entries = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}} for call, text in pairs
    ]
    return [
        {"role": "assistant", "tool_calls": entries},
        *({"role": "tool", "tool_call_id": one, "content": "r"} for one in results),
    ]


def judged(healthy: Healthy, arguments: str | None, results: str | None = None) -> str | None:
    """The verdict on a client that returns these arguments for every call, and this id with every result."""
    record = read_body([healthy.body], healthy.exchange)
    assert record is not None
    calls = [call for call in record.calls if runs_on_client(call) and call.choice == 0]
    request, path = dict(healthy.exchange.request), healthy.exchange.path
    key = {"openai-responses": "input", "gemini": "contents"}.get(healthy.protocol, "messages")
    first = [{"role": "user", "parts": [{"text": "go"}]}] if key == "contents" else [{"role": "user", "content": "go"}]
    texts = [call.arguments or "{}" if arguments is None else arguments for call in calls]
    returned = returned_messages(
        healthy.protocol, calls, texts, [call.id if results is None else results for call in calls]
    )
    verdicts: list[Judged[SentResponse]] = []
    conversations = Conversations[SentResponse](verdicts.append)
    reader = match_key.reader_of(path, request)
    conversations.request("first", "", reader.conversation({**request, key: first}))
    conversations.response("first", SentResponse(calls=record.calls))
    conversations.request("next", "", reader.conversation({**request, key: [*first, *returned]}))
    return verdicts[0].verdict.outcome.value if verdicts else None


WITH_CALLS = [
    healthy
    for healthy in streams()
    if (record := read_body([healthy.body], healthy.exchange)) is not None
    and any(runs_on_client(call) and call.kind == "function" for call in record.calls)
    and not any(call.kind == "custom" for call in record.calls)
]


@pytest.mark.parametrize("healthy", WITH_CALLS, ids=str)
def test_a_client_that_returns_everything_is_ok(healthy: Healthy) -> None:
    """This holds for every valid stream."""
    assert judged(healthy, None) == "ok"


@pytest.mark.parametrize("healthy", WITH_CALLS, ids=str)
def test_wrong_arguments_and_ids(healthy: Healthy) -> None:
    """A result with an unknown id is wrong if the protocol has ids."""
    assert judged(healthy, '{"odd":1}') == "wrong-arguments"
    if healthy.protocol not in WITHOUT_IDS:
        assert judged(healthy, None, "call_of_nobody") == "wrong-id"


def test_lost_arguments_in_every_protocol() -> None:
    """Every protocol has a stream with calls."""
    first = {healthy.protocol: healthy for healthy in reversed(WITH_CALLS)}
    assert set(first) == {healthy.protocol for healthy in streams()}
    assert {judged(healthy, "{}") for healthy in first.values()} == {"returned-without-arguments"}
