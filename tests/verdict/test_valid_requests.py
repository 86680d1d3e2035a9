"""The verdict on requests that an API refuses, and on a new message of the user."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.verdict.test_judge import USER, A, B, gemini_call, gemini_result, new_part, result, returned
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.requests.conversation import conversation
from toolstream_core.verdict import Outcome, judge
from toolstream_core.verdict.conversations import Conversations, SentResponse

A_, B_ = returned("c1", "ls", '{"p":1}'), returned("c2", "cat", '{"q":"x"}')
ASKED = {"role": "user", "content": "stop"}
TWICE_TYPED = {**returned("c1", "ls", '{"p": 1}'), "type": "functionfunction"}


def said(*calls: Any, role: str = "assistant") -> dict[str, Any]:
    """A message of Chat Completions with calls."""
    return {"role": role, "content": None, "tool_calls": [*calls]}


def said_text() -> dict[str, Any]:
    """A message of the model, which Anthropic joins to the one before."""
    return {"role": "assistant", "content": [{"type": "text", "text": "Working."}]}


def used(id_: str, name: str, arguments: Any) -> dict[str, Any]:
    """A call as an Anthropic client returns it."""
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def blocks(role: str, *parts: Any) -> dict[str, Any]:
    """A message of blocks."""
    return {"role": role, "content": [*parts]}


def answer(id_: str) -> dict[str, Any]:
    """A result as an Anthropic client returns it."""
    return {"type": "tool_result", "tool_use_id": id_, "content": "r"}


BOTH = blocks("user", answer("c1"), answer("c2"))
USED, OTHER = used("c1", "ls", {"p": 1}), used("c2", "cat", {"q": "x"})


@pytest.mark.parametrize(
    ("messages", "outcome", "places"),
    [
        ([said(A_, B_), result("c2"), result("c1")], Outcome.OK, []),
        ([said(A_), result("c1"), said(B_), result("c2")], Outcome.OK, []),
        ([said(A_, B_), result("c1"), result("c2"), ASKED], Outcome.OK, []),
        ([said(A_, B_), result("c1"), ASKED, result("c2")], Outcome.INVALID_REQUEST, [1]),
        ([said(A_), said(B_), result("c1"), result("c2")], Outcome.INVALID_REQUEST, [0]),
        ([result("c1"), said(A_, B_), result("c2")], Outcome.INVALID_REQUEST, [0]),
        ([said(A_, B_, role="assistantassistant"), result("c1"), result("c2")], Outcome.INVALID_REQUEST, [0, 1]),
        ([said(TWICE_TYPED, B_), result("c1"), result("c2")], Outcome.INVALID_REQUEST, [0]),
        ([said(A_), result("c1"), result("c2")], Outcome.INVALID_REQUEST, [1]),
        ([said(A_, B_), result("c1"), {"role": "tool", "content": "r"}], Outcome.INVALID_REQUEST, [1]),
        ([said(A_, B_), result("c1"), result(None)], Outcome.INVALID_REQUEST, [1]),
        ([blocks("assistant", USED, OTHER), said_text(), BOTH], Outcome.OK, []),
        ([said(A_, B_), said_text(), result("c1"), result("c2")], Outcome.INVALID_REQUEST, [0, 1]),
        ([said({**A_, "id": "c1c1c1"}, B_), result("c1c1c1"), result("c2")], Outcome.WRONG_ID, [0]),
        ([result("c1"), result("c2")], Outcome.INVALID_REQUEST, [0, 1]),
        ([said(A_, B_), ASKED], Outcome.MISSING_RESULT, [0, 1]),
        ([ASKED], Outcome.NOT_RETURNED, [0, 1]),
        ([{"role": "assistant", "content": "I will look."}, ASKED], Outcome.NOT_RETURNED, [0, 1]),
        ([{"role": "assistant", "content": "Done."}], Outcome.LOST_CALL, [0, 1]),
        ([blocks("assistant", USED, OTHER), BOTH], Outcome.OK, []),
        ([blocks("assistant", USED, OTHER), *(blocks("user", answer(one)) for one in ("c1", "c2"))], Outcome.OK, []),
        ([blocks("assistant", USED), blocks("assistant", OTHER), BOTH], Outcome.OK, []),
        ([blocks("user", USED, OTHER), BOTH], Outcome.INVALID_REQUEST, [0, 1]),
        ([blocks("assistant", USED, OTHER, answer("c1")), blocks("user", answer("c2"))], Outcome.INVALID_REQUEST, [0]),
        (
            [blocks("user", answer("c1")), blocks("assistant", USED, OTHER), blocks("user", answer("c2"))],
            Outcome.INVALID_REQUEST,
            [0],
        ),
    ],
)  # fmt: skip
def test_requests_that_the_api_refuses(messages: list[Any], outcome: Outcome, places: list[int]) -> None:
    """Calls and results have the right roles, and results directly follow their calls."""
    judged = judge([A, B], new_part({"messages": [USER]}, {"messages": [USER, *messages]}))
    assert (judged.outcome, [one.call for one in judged.problems]) == (outcome, places)
    assert not (judged.may_be_explained and outcome is Outcome.INVALID_REQUEST)


def gemini_stream(model: str) -> bytes:
    """A response of Gemini with a signed call."""
    part = {**gemini_call(), "thoughtSignature": "c2lnbg=="}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    return f"data: {json.dumps({'candidates': [candidate], 'modelVersion': model})}\n\n".encode()


def chat_stream(model: str) -> bytes:
    """A response of Google's Chat Completions with a signed call."""
    entry = {"index": 0, **A_, "extra_content": {"google": {"thought_signature": "c2lnbg=="}}}
    choice = {"index": 0, "delta": {"tool_calls": [entry]}, "finish_reason": "tool_calls"}
    return f"data: {json.dumps({'choices': [choice], 'model': model})}\n\ndata: [DONE]\n\n".encode()


@pytest.mark.parametrize(
    ("model", "signed", "prompted", "outcome"),
    [
        ("gemini-3-pro-preview", True, False, Outcome.OK),
        ("gemini-3-pro-preview", False, False, Outcome.INVALID_REQUEST),
        ("gemini-3-pro-preview", False, True, Outcome.OK),
        ("gemini-2.5-flash", False, False, Outcome.OK),
    ],
)
def test_gemini_3_requires_its_signatures(model: str, *, signed: bool, prompted: bool, outcome: Outcome) -> None:
    """In the current turn: https://ai.google.dev/gemini-api/docs/thought-signatures."""
    signature = {"thoughtSignature": "c2lnbg=="} if signed else {}
    contents = [
        {"role": "model", "parts": [{**gemini_call(), **signature}]},
        {"role": "user", "parts": [gemini_result()]},
        *([{"role": "user", "parts": [{"text": "go on"}]}] if prompted else []),
    ]
    record = read_body([gemini_stream(model)], StreamFacts(path=":streamGenerateContent"))
    assert record is not None
    assert judge(record.calls, conversation({"contents": contents})).outcome is outcome
    extra = {"extra_content": {"google": {"thought_signature": "c2lnbg=="}}} if signed else {}
    messages = [said({**A_, **extra}), result("c1"), *([ASKED] if prompted else [])]
    wrapped = {"model": model, "project": "p", "request": {"contents": contents}}
    assert conversation(wrapped) == conversation({"contents": contents})
    record = read_body([chat_stream(model)], StreamFacts(path="/v1/chat/completions"))
    assert record is not None
    assert judge(record.calls, conversation({"messages": messages})).outcome is outcome


def thinking_stream(reasoning: str) -> bytes:
    """A response with a call, after reasoning or without it."""
    deltas = [{"reasoning_content": reasoning}, {"tool_calls": [{"index": 0, **A_}]}]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    return b"".join(f"data: {json.dumps({'choices': [one]})}\n\n".encode() for one in choices) + b"data: [DONE]\n\n"


THINKS, DENIES = ({"thinking": {"type": kind}} for kind in ("enabled", "disabled"))


@pytest.mark.parametrize(
    ("request_", "reasoning", "returned_with", "prompted", "outcome"),
    [
        ({"model": "deepseek-reasoner"}, "Hm.", {}, False, Outcome.INVALID_REQUEST),
        ({"model": "deepseek-reasoner"}, "Hm.", {"reasoning_content": "Hm."}, False, Outcome.OK),
        ({"model": "deepseek-reasoner"}, "Hm.", {"reasoning_content": ""}, False, Outcome.OK),
        ({"model": "deepseek-reasoner"}, "Hm.", {}, True, Outcome.OK),
        ({"model": "deepseek-reasoner"}, "", {}, False, Outcome.OK),
        ({"model": "deepseek-chat"}, "Hm.", {}, False, Outcome.OK),
        ({"model": "deepseek-chat", **THINKS}, "Hm.", {}, False, Outcome.INVALID_REQUEST),
        ({"model": "kimi-k2.5"}, "Hm.", {}, False, Outcome.INVALID_REQUEST),
        ({"model": "kimi-k2.5", **DENIES}, "Hm.", {}, False, Outcome.OK),
        ({"model": "vendor/kimi-k2.5", **THINKS}, "Hm.", {}, False, Outcome.OK),
    ],
)
def test_thinking_models_require_their_reasoning(
    request_: dict[str, Any], reasoning: str, returned_with: dict[str, str], *, prompted: bool, outcome: Outcome
) -> None:
    """DeepSeek and Moonshot refuse calls of the current turn without it."""
    body = thinking_stream(reasoning)
    messages = [USER, {**said(A_), **returned_with}, result("c1"), *([ASKED] if prompted else [])]
    first, second = (
        StreamFacts(path="/v1/chat/completions", request={**request_, "messages": some}) for some in ([USER], messages)
    )
    record = read_body([body], first)
    assert record is not None
    found: list[Outcome] = []
    conversations = Conversations[SentResponse](lambda judged: found.append(judged.verdict.outcome))
    conversations.llm_request("a", first)
    conversations.response("a", SentResponse.of(record, first.request, body))
    conversations.llm_request("b", second)
    assert found == [outcome]


REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
ITEM, OTHER_ITEM = (
    {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": call.name, "arguments": call.arguments}
    for id_, call in (("c1", A), ("c2", B))
)
OUTPUT, OTHER_OUTPUT = ({"type": "function_call_output", "call_id": id_, "output": "r"} for id_ in ("c1", "c2"))


@pytest.mark.parametrize(
    ("model", "items", "places"),
    [
        ("gpt-5", [REASONING, ITEM, OTHER_ITEM, OUTPUT, OTHER_OUTPUT], []),
        ("gpt-5", [REASONING, ITEM, OUTPUT, OTHER_ITEM, OTHER_OUTPUT], []),
        ("gpt-5", [ITEM, OTHER_ITEM, OUTPUT, OTHER_OUTPUT], [0]),
        ("gpt-5", [{**ITEM, "id": None}, {**OTHER_ITEM, "id": None}, OUTPUT, OTHER_OUTPUT], []),
        ("qwen3", [ITEM, OTHER_ITEM, OUTPUT, OTHER_OUTPUT], []),
    ],
)
def test_responses_require_the_reasoning_of_items_with_ids(model: str, items: list[Any], places: list[int]) -> None:
    """OpenAI refuses a call with the id of its item and without the reasoning before it."""
    verdicts = []
    conversations = Conversations[SentResponse](lambda judged: verdicts.append(judged.verdict))
    conversations.request("a", "", conversation({"model": model, "input": [USER]}))
    conversations.response("a", SentResponse(calls=[A, B], reasoned=True))
    conversations.request("b", "", conversation({"model": model, "input": [USER, *items]}))
    assert [(one.outcome, one.call) for one in verdicts[0].problems] == [(Outcome.INVALID_REQUEST, at) for at in places]


def test_a_response_that_the_user_interrupted_has_one_verdict() -> None:
    """The client disconnected during it: a later message of the user shows nothing more."""
    found: list[Outcome] = []
    conversations = Conversations[SentResponse](lambda judged: found.append(judged.verdict.outcome))
    conversations.request("a", "", conversation({"messages": [USER]}))
    conversations.response("a", SentResponse(calls=[A]), left=True)
    conversations.request("b", "", conversation({"messages": [USER, ASKED]}))
    assert found == [Outcome.ABORTED]
