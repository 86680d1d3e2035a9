"""Early and repeated finish reasons of Chat Completions, and changing chunk ids."""

from __future__ import annotations

import pytest

from tests.invariants.driven import exchange, inspected, payloads, repaired, sse
from tests.protocols.chat.repair.test_end_of_stream import UNKNOWN, arguments, chunk, finishes, header, more
from toolstream_core.engine.session import Session
from toolstream_core.settings import SAFE, Settings

CHAT = exchange("openai-chat")
FINISH = chunk({}, "tool_calls")
TOTAL = {"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": {"total_tokens": 3}}


@pytest.mark.parametrize(
    "between", [[], [TOTAL], [": keep-alive"], [chunk({})]], ids=["at once", "total", "data", "no"]
)
def test_a_finish_reason_inside_arguments_is_moved_after_them(between: list[object]) -> None:
    """A finish reason inside arguments is moved after them, also with other events in between."""
    body = sse(header(), more('{"city"'), FINISH, *between, more(':"Oslo"}'), "[DONE]")  # type: ignore[arg-type]
    out = repaired(body, CHAT).out
    choices = [payload["choices"][0] for payload in payloads(out) if payload["choices"]]
    assert arguments(out) == {0: '{"city":"Oslo"}'}
    assert finishes(out) == ["tool_calls"]
    assert choices[-1]["finish_reason"] == "tool_calls"


def test_only_the_last_of_many_finish_reasons_is_kept() -> None:
    """If every chunk of a call has a finish reason, only the last is kept."""
    body = sse(
        {**header(), "choices": [{**header()["choices"][0], "finish_reason": "tool_calls"}]},
        {**more('{"city"'), "choices": [{**more('{"city"')["choices"][0], "finish_reason": "tool_calls"}]},
        {**more(':"Oslo"}'), "choices": [{**more(':"Oslo"}')["choices"][0], "finish_reason": "tool_calls"}]},
        "[DONE]",
    )
    out = repaired(body, CHAT).out
    assert arguments(out) == {0: '{"city":"Oslo"}'}
    assert [one["choices"][0]["finish_reason"] for one in payloads(out)] == [None, None, "tool_calls"]


def test_a_finish_reason_after_complete_calls_is_sent_at_once() -> None:
    """A finish reason after complete calls is not held; after an incomplete call, it becomes `length` at the end."""
    session = Session(CHAT, Settings(SAFE))
    complete = sse(header(), more('{"city":"Oslo"}'), FINISH)
    assert b"".join(session.feed(complete)) == complete
    assert finishes(repaired(sse(header(), more('{"city"'), FINISH, "[DONE]"), CHAT).out) == ["length"]


def test_finish_reasons_in_headers_add_no_arguments() -> None:
    """No `{}` is added to calls whose headers have a finish reason and whose arguments follow."""
    opening = [
        {**one, "choices": [{**one["choices"][0], "finish_reason": "stop"}]} for one in (header(), header(index=1))
    ]
    body = sse(*opening, more('{"city":"Oslo"}'), more('{"city":"Rome"}', 1), FINISH, "[DONE]")
    assert arguments(repaired(body, CHAT).out) == {0: '{"city":"Oslo"}', 1: '{"city":"Rome"}'}


def test_a_second_finish_reason_is_moved_after_the_arguments() -> None:
    """A second finish reason before the arguments adds no `{}`, if the first was no reason of calls."""
    odd = {**header(), "choices": [{**header()["choices"][0], "finish_reason": "<|tool|>"}]}
    assert arguments(repaired(sse(odd, FINISH, more('{"city":"Oslo"}')), CHAT).out) == {0: '{"city":"Oslo"}'}


def test_no_arguments_are_added_if_foreign_fragments_were_received() -> None:
    """No `{}` is added to a call without arguments if foreign fragments may be its arguments."""
    lost = {**more('{"city":"Oslo"}'), "choices": [{**more('{"city":"Oslo"}')["choices"][0], "index": 1}]}
    body = sse(header(), lost, FINISH, "[DONE]")
    assert b'"{}"' in repaired(sse(header(), FINISH, "[DONE]"), UNKNOWN).out
    assert b'"{}"' not in repaired(body, UNKNOWN).out


def test_a_header_after_the_finish_reason_is_sent_before_the_arguments() -> None:
    """A header after the finish reason is sent before the arguments of its call."""
    body = sse(more('{"city":"Oslo"}'), FINISH, header(), "[DONE]")
    out = repaired(body, CHAT).out
    (first, *_) = payloads(out)
    (entry,) = first["choices"][0]["delta"]["tool_calls"]
    assert (entry["id"], entry["function"]["name"]) == ("call_0", "get_weather")
    assert arguments(out) == {0: '{"city":"Oslo"}'}
    assert finishes(out) == ["tool_calls"]


def test_a_very_late_name_is_kept() -> None:
    """A name that follows after the header was sent without it is kept."""
    fragments = [more(f'{{"city":"{"x" * 8}')] + [more("x") for _ in range(80)]
    body = sse(*fragments, more('"}'), FINISH, header(), "[DONE]")
    out = repaired(body, CHAT).out
    entries = [entry for one in payloads(out) for entry in one["choices"][0]["delta"].get("tool_calls", [])]
    assert [entry["function"]["name"] for entry in entries if "name" in entry.get("function", {})] == ["get_weather"]


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
def test_the_finish_reason_of_calls_is_kept_after_an_earlier_one(reason: str) -> None:
    """A finish reason before any call is kept, and the finish reason of the calls is not dropped as a repetition."""
    body = sse(chunk({"content": "Hm."}, "stop"), header(), more('{"city":"Oslo"}'), chunk({}, reason), "[DONE]")
    assert finishes(repaired(body, CHAT).out) == ["stop", "tool_calls"]


def test_a_repeated_finish_reason_of_calls_is_dropped() -> None:
    """A repeated finish reason of calls is dropped; repetitions before the first call are kept."""
    texts = [chunk({"content": "Hm."}, "stop") for _ in range(3)]
    calls = [header(arguments='{"city":"Oslo"}'), chunk({}, "tool_calls"), chunk({}, "tool_calls")]
    body = sse(*texts, *calls, "[DONE]")
    assert finishes(repaired(body, CHAT).out) == ["stop", "stop", "stop", "tool_calls"]
    assert "repeated-finish" in inspected(body, CHAT).finding_names
    assert finishes(repaired(sse(*calls, "[DONE]"), CHAT).out) == ["tool_calls"]


def test_a_repeated_finish_reason_is_reported_after_the_received_one() -> None:
    """Relays send `stop` after each fragment (1jehuang/jcode#1326): it is named as received, not as repaired."""
    stop = chunk({}, "stop")
    body = sse(header(), stop, more('{"city"'), stop, more(':"Oslo"}'), stop, FINISH, "[DONE]")
    messages = [one.message for one in inspected(body, CHAT).record.findings]
    assert "finish reason tool_calls after stop" in messages


@pytest.mark.parametrize("size", [0, 1, 300])
@pytest.mark.parametrize(
    "ids",
    ["ABBBBBBB", "AABBBBBB", "ABCDEFGH", "AAAAAAAB", "AAAABAAA"],
)
@pytest.mark.parametrize("texts", [0, 2, 4])
def test_changing_chunk_ids_are_unified(ids: str, texts: int, size: int) -> None:
    """All chunks get the first id, or keep their ids if more than two text chunks were already sent."""
    chunks = [chunk({"content": f"Word {at}."}) for at in range(texts)]
    chunks += [header(), more('{"ci'), more('ty": '), more('"Os'), more('lo"}'), chunk({}, "tool_calls")][: 8 - texts]
    body = sse(*({**one, "id": identity} for one, identity in zip(chunks, ids, strict=False)), "[DONE]")
    session = Session(CHAT, Settings(SAFE))
    parts = [body[at : at + size] for at in range(0, len(body), size)] if size else [body]
    out = b"".join([*(sent for part in parts for sent in session.feed(part)), *session.end()])
    found = "".join(payload["id"] for payload in payloads(out))[: len(chunks)]
    assert set(found) == {"A"} or (texts > 2 and ids[:2] == "AA" and found == ids[: len(chunks)])
