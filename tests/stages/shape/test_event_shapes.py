"""Shapes of the events with calls, and of the chunks of Chat Completions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.invariants.driven import exchange, injected, inspected, payloads, shaped, sse
from tests.invariants.healthy import streams

type Payload = dict[str, Any]

CHAT = exchange("openai-chat")
HEAD = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def chunk(delta: Payload, reason: str | None = None, **more: Any) -> Payload:
    """Return a chunk with one choice."""
    return {**HEAD, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


def fragment(index: int, arguments: str, **identity: Any) -> Payload:
    """Return a chunk with a fragment of a call, and its id, type and name from `identity`."""
    function = (
        {"name": identity.pop("name"), "arguments": arguments} if "name" in identity else {"arguments": arguments}
    )
    return chunk({"tool_calls": [{"index": index, **identity, "function": function}]})


def call(index: int, arguments: str) -> Payload:
    """Return the entry of a complete call."""
    return {"index": index, "id": f"id{index}", "type": "function", "function": {"name": "f", "arguments": arguments}}


OPENING = [fragment(at, "", id=f"id{at}", type="function", name="f") for at in (0, 1)]
ROLE, FINISH = chunk({"role": "assistant", "content": None}), chunk({}, "tool_calls")
TWO = [ROLE, OPENING[0], fragment(0, '{"a":'), fragment(0, "1}"), OPENING[1], fragment(1, '{"b"'), fragment(1, ":2}")]
BOTH = [call(0, '{"a":1}'), call(1, '{"b":2}')]


def test_several_calls_are_joined_to_one_event() -> None:
    """`calls-in-one-event` joins several calls to one event, and does not change the events before and after."""
    out = shaped(sse(*TWO, FINISH, "[DONE]"), CHAT, "calls-in-one-event")
    assert payloads(out) == [ROLE, chunk({"tool_calls": BOTH}), FINISH]


def test_interleaved_calls_are_joined_to_one_event() -> None:
    """`calls-in-one-event` joins the fragments of interleaved calls by their index."""
    order = [OPENING[0], OPENING[1], fragment(1, '{"b"'), fragment(0, '{"a":'), fragment(1, ":2}"), fragment(0, "1}")]
    out = shaped(sse(*order, FINISH, "[DONE]"), CHAT, "calls-in-one-event")
    assert payloads(out) == [chunk({"tool_calls": BOTH}), FINISH]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([*TWO[:4], FINISH], id="a single call"),
        pytest.param([*TWO[:4], chunk({"content": "and"}), OPENING[1], FINISH], id="text between the calls"),
        pytest.param([*TWO[:4], {**OPENING[1], "x": 1}, {**fragment(1, "{}"), "x": 2}, FINISH], id="unknown key"),
        pytest.param([*TWO[:4], chunk({"tool_calls": [{"id": "b", "function": {"arguments": "{}"}}]})], id="no index"),
    ],
)
def test_other_events_with_calls_stay_apart(events: list[Payload]) -> None:
    """Calls are not joined if the order would change, a key would be lost, or a fragment has no known call."""
    body = sse(*events, "[DONE]")
    assert shaped(body, CHAT, "calls-in-one-event") == body


def test_a_truncated_response_loses_nothing() -> None:
    """The held events of a truncated response are sent at the end of the body."""
    out = shaped(sse(*TWO[:-1]), CHAT, "calls-in-one-event")
    assert payloads(out) == [ROLE, chunk({"tool_calls": [BOTH[0], call(1, '{"b"')]})]


@pytest.mark.parametrize("usage", [{}, {"usage": {"total_tokens": 3}}], ids=["alone", "with usage"])
def test_the_finish_reason_joins_the_last_fragment(usage: Payload) -> None:
    """`finish-with-calls` moves the finish reason, with usage in its chunk, to the last fragment."""
    body = sse(*TWO, chunk({}, "tool_calls", **usage), "[DONE]")
    out = shaped(body, CHAT, "finish-with-calls")
    last = chunk({"tool_calls": [{"index": 1, "function": {"arguments": ":2}"}}]}, "tool_calls", **usage)
    assert payloads(out) == [*TWO[:-1], last]
    apart = payloads(shaped(out, CHAT, "finish-apart"))
    assert [{**one, "usage": one.get("usage")} for one in apart] == [
        {**one, "usage": one.get("usage")} for one in payloads(body)
    ]


def test_a_finish_reason_after_text_stays_apart() -> None:
    """`finish-with-calls` does not move a finish reason to an event with text."""
    body = sse(*TWO, chunk({"content": "."}), FINISH, "[DONE]")
    assert shaped(body, CHAT, "finish-with-calls") == body


def test_text_is_sent_before_its_finish_reason() -> None:
    """`finish-apart` sends the text of an event before its finish reason."""
    out = shaped(sse(ROLE, chunk({"content": "Hi"}, "stop"), "[DONE]"), CHAT, "finish-apart")
    assert payloads(out) == [ROLE, chunk({"content": "Hi"}), chunk({}, "stop")]


def test_calls_alternate() -> None:
    """`interleaved` alternates the fragments of two calls, and `sequential` undoes it."""
    out = shaped(sse(*TWO, FINISH, "[DONE]"), CHAT, "interleaved")
    assert payloads(out) == [ROLE, TWO[1], TWO[4], TWO[2], TWO[5], TWO[3], TWO[6], FINISH]
    again = payloads(shaped(out, CHAT, "sequential"))
    places = [one["choices"][0]["delta"]["tool_calls"][0]["index"] for one in again[1:-1]]
    assert places == sorted(places)


def test_events_of_items_alternate() -> None:
    """`interleaved` alternates the events of two items, and numbers them again."""
    [healthy] = [one for one in streams() if (one.protocol, one.name) == ("openai-responses", "fragments of two")]
    out = payloads(shaped(healthy.body, healthy.exchange, "interleaved"))
    received = payloads(healthy.body)
    places = [one["output_index"] for one in out if "output_index" in one]
    assert places[:4] == [0, 1, 0, 1]
    bare = [{key: value for key, value in one.items() if key != "sequence_number"} for one in received]
    assert all({key: value for key, value in one.items() if key != "sequence_number"} in bare for one in out)
    assert len(out) == len(received)
    numbers = [one["sequence_number"] for one in out if "sequence_number" in one]
    assert numbers == sorted(set(numbers))


def test_a_gemini_finish_reason_is_sent_apart() -> None:
    """`finish-apart` moves the finish reason and the usage of a Gemini response to an event after the calls."""
    parts = [{"functionCall": {"name": "f", "args": {"a": 1}}}]
    both = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]}
    usage = {"usageMetadata": {"totalTokenCount": 3}, "responseId": "r"}
    out = payloads(shaped(sse({**both, **usage}), exchange("gemini"), "finish-apart"))
    assert out == [
        {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "responseId": "r"},
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}],
            **usage,
        },
    ]


def test_each_delta_is_full() -> None:
    """`full-deltas` adds the missing role and content to each delta; a content without text is empty."""
    text = chunk({"content": "Hi"})
    out = payloads(shaped(sse(ROLE, text, TWO[1], FINISH, "[DONE]"), CHAT, "full-deltas"))
    usual = {"role": "assistant", "content": ""}
    role, opening = (one["choices"][0]["delta"] for one in TWO[:2])
    deltas = [role, {**usual, "content": "Hi"}, {**usual, **opening}, usual]
    assert [one["choices"][0]["delta"] for one in out] == deltas


def test_the_usage_gets_an_empty_delta() -> None:
    """`usage-with-delta` sends the usage with an empty delta after the finish reason; it is not a defect."""
    usage, last = {"total_tokens": 3}, chunk({"role": "assistant", "content": ""}, usage={"total_tokens": 3})
    body = sse(*TWO, chunk({}, "tool_calls", usage=usage), "[DONE]")
    out = shaped(body, CHAT, "usage-with-delta")
    assert payloads(out) == [*TWO, chunk({}, "tool_calls", usage=None), last]
    apart = sse(*TWO, FINISH, {**HEAD, "choices": [], "usage": usage}, "[DONE]")
    assert payloads(shaped(apart, CHAT, "usage-with-delta")) == [*TWO, FINISH, last]
    assert inspected(out, CHAT).finding_names == inspected(body, CHAT).finding_names
    without = sse(*TWO, FINISH, "[DONE]")
    assert shaped(without, CHAT, "usage-with-delta") == without


def test_a_text_comes_before_the_first_call() -> None:
    """`text-first` adds a text before the first call, unless the provider sent one."""
    body = sse(*TWO, FINISH, "[DONE]")
    out = payloads(shaped(body, CHAT, "text-first"))
    assert out == [ROLE, chunk({"role": "assistant", "content": "One moment."}), *TWO[1:], FINISH]
    with_text = sse(ROLE, chunk({"content": "Hi"}), *TWO[1:], FINISH, "[DONE]")
    assert shaped(with_text, CHAT, "text-first") == with_text


def test_a_chunk_without_choices_comes_first() -> None:
    """`empty-choices` adds a first chunk without choices, as Azure does; it is not a defect."""
    body = sse(*TWO, FINISH, "[DONE]")
    out = shaped(body, CHAT, "empty-choices")
    assert out.endswith(body)
    assert payloads(out)[0]["choices"] == []
    assert inspected(out, CHAT).finding_names == inspected(body, CHAT).finding_names


def test_the_preset_mistral_is_one_event() -> None:
    """The preset `mistral` sends two calls and the finish reason in one chunk, without indexes and types."""
    out = injected(sse(*TWO, FINISH, "[DONE]"), CHAT, "mistral").out
    calls = [{key: value for key, value in one.items() if key not in {"index", "type"}} for one in BOTH]
    assert payloads(out) == [ROLE, chunk({"tool_calls": calls}, "tool_calls")]
