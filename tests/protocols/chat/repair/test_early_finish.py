"""Finish reasons of Chat Completions that come too early or more than once, and chunk ids that change."""

from __future__ import annotations

import pytest

from tests.invariants.driven import exchange, inspected, repaired, sse
from tests.protocols.chat.repair.test_end_of_stream import UNKNOWN, arguments, chunk, finishes, header, more, payloads
from toolstream_core.engine.session import Session
from toolstream_core.settings import SAFE, Settings

CHAT = exchange("openai-chat")
FINISH = chunk({}, "tool_calls")
TOTAL = {"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": {"total_tokens": 3}}


@pytest.mark.parametrize(
    "between", [[], [TOTAL], [": keep-alive"], [chunk({})]], ids=["at once", "total", "data", "no"]
)
def test_a_finish_amid_arguments_goes_behind_them(between: list[object]) -> None:
    """Whatever says nothing in between."""
    body = sse(header(), more('{"city"'), FINISH, *between, more(':"Oslo"}'), "[DONE]")  # type: ignore[arg-type]
    out = repaired(body, CHAT).out
    said = [payload["choices"][0] for payload in payloads(out) if payload["choices"]]
    assert arguments(out) == {0: '{"city":"Oslo"}'}
    assert finishes(out) == ["tool_calls"]
    assert said[-1]["finish_reason"] == "tool_calls"


def test_a_finish_in_every_chunk_of_a_call() -> None:
    """One is left, behind the arguments."""
    body = sse(
        {**header(), "choices": [{**header()["choices"][0], "finish_reason": "tool_calls"}]},
        {**more('{"city"'), "choices": [{**more('{"city"')["choices"][0], "finish_reason": "tool_calls"}]},
        {**more(':"Oslo"}'), "choices": [{**more(':"Oslo"}')["choices"][0], "finish_reason": "tool_calls"}]},
        "[DONE]",
    )
    out = repaired(body, CHAT).out
    assert arguments(out) == {0: '{"city":"Oslo"}'}
    assert [one["choices"][0]["finish_reason"] for one in payloads(out)] == [None, None, "tool_calls"]


def test_a_finish_that_nothing_follows_is_said_at_once() -> None:
    """Where every call is whole there is nothing to wait for; where one is half, the true reason is said."""
    line = Session(CHAT, Settings(SAFE))
    whole = sse(header(), more('{"city":"Oslo"}'), FINISH)
    assert b"".join(line.feed(whole)) == whole
    assert finishes(repaired(sse(header(), more('{"city"'), FINISH, "[DONE]"), CHAT).out) == ["length"]


def test_two_headers_before_their_arguments_with_a_finish_each() -> None:
    """No `{}` is made up for what still comes."""
    opening = [
        {**one, "choices": [{**one["choices"][0], "finish_reason": "stop"}]} for one in (header(), header(index=1))
    ]
    body = sse(*opening, more('{"city":"Oslo"}'), more('{"city":"Rome"}', 1), FINISH, "[DONE]")
    assert arguments(repaired(body, CHAT).out) == {0: '{"city":"Oslo"}', 1: '{"city":"Rome"}'}


def test_a_second_finish_before_the_arguments_waits_for_them() -> None:
    """Where the first one was none that says that calls were made."""
    odd = {**header(), "choices": [{**header()["choices"][0], "finish_reason": "<|tool|>"}]}
    assert arguments(repaired(sse(odd, FINISH, more('{"city":"Oslo"}')), CHAT).out) == {0: '{"city":"Oslo"}'}


def test_no_arguments_are_made_up_where_some_came_that_are_nobodys() -> None:
    """They may be those that the call lacks."""
    lost = {**more('{"city":"Oslo"}'), "choices": [{**more('{"city":"Oslo"}')["choices"][0], "index": 1}]}
    body = sse(header(), lost, FINISH, "[DONE]")
    assert b'"{}"' in repaired(sse(header(), FINISH, "[DONE]"), UNKNOWN).out
    assert b'"{}"' not in repaired(body, UNKNOWN).out


def test_a_header_behind_the_finish_is_told_before_the_arguments() -> None:
    """The name is no repetition: the client does not have it yet."""
    body = sse(more('{"city":"Oslo"}'), FINISH, header(), "[DONE]")
    out = repaired(body, CHAT).out
    (first, *_) = payloads(out)
    (entry,) = first["choices"][0]["delta"]["tool_calls"]
    assert (entry["id"], entry["function"]["name"]) == ("call_0", "get_weather")
    assert arguments(out) == {0: '{"city":"Oslo"}'}
    assert finishes(out) == ["tool_calls"]


def test_a_name_that_comes_too_late_to_wait_for_is_kept() -> None:
    """The header has gone without it."""
    pieces = [more(f'{{"city":"{"x" * 8}')] + [more("x") for _ in range(80)]
    body = sse(*pieces, more('"}'), FINISH, header(), "[DONE]")
    out = repaired(body, CHAT).out
    entries = [entry for one in payloads(out) for entry in one["choices"][0]["delta"].get("tool_calls", [])]
    assert [entry["function"]["name"] for entry in entries if "name" in entry.get("function", {})] == ["get_weather"]


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
def test_the_finish_that_counts_goes_behind_a_first_one(reason: str) -> None:
    """A reason before any call is known stands; that of the calls is no repetition of it."""
    body = sse(chunk({"content": "Hm."}, "stop"), header(), more('{"city":"Oslo"}'), chunk({}, reason), "[DONE]")
    assert finishes(repaired(body, CHAT).out) == ["stop", "tool_calls"]


def test_a_finish_of_calls_that_is_said_again_goes() -> None:
    """Also behind repetitions that came before the first call, which stay."""
    texts = [chunk({"content": "Hm."}, "stop") for _ in range(3)]
    calls = [header(arguments='{"city":"Oslo"}'), chunk({}, "tool_calls"), chunk({}, "tool_calls")]
    body = sse(*texts, *calls, "[DONE]")
    assert finishes(repaired(body, CHAT).out) == ["stop", "stop", "stop", "tool_calls"]
    assert "repeated-finish" in inspected(body, CHAT).finding_names
    assert finishes(repaired(sse(*calls, "[DONE]"), CHAT).out) == ["tool_calls"]


@pytest.mark.parametrize("size", [0, 1, 300])
@pytest.mark.parametrize(
    "ids",
    ["ABBBBBBB", "AABBBBBB", "ABCDEFGH", "AAAAAAAB", "AAAABAAA"],
)
@pytest.mark.parametrize("texts", [0, 2, 4])
def test_one_id_throughout_or_all_as_they_came(ids: str, texts: int, size: int) -> None:
    """Text has the id too, and so has every chunk that looks like one before it; text that went by is not mended."""
    said = [chunk({"content": f"Word {at}."}) for at in range(texts)]
    said += [header(), more('{"ci'), more('ty": '), more('"Os'), more('lo"}'), chunk({}, "tool_calls")][: 8 - texts]
    body = sse(*({**one, "id": identity} for one, identity in zip(said, ids, strict=False)), "[DONE]")
    line = Session(CHAT, Settings(SAFE))
    pieces = [body[at : at + size] for at in range(0, len(body), size)] if size else [body]
    out = b"".join([*(gone for piece in pieces for gone in line.feed(piece)), *line.end()])
    found = "".join(payload["id"] for payload in payloads(out))[: len(said)]
    assert set(found) == {"A"} or (texts > 2 and ids[:2] == "AA" and found == ids[: len(said)])
