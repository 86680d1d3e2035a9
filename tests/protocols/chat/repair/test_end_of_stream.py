"""The end of Chat Completions streams: what is made up, what is not, and nothing joined to half an event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import exchange, injected, repaired, run, sse
from tests.invariants.healthy import Healthy, streams
from toolstream_core.model import StreamFacts
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

CHAT = exchange("openai-chat")
UNKNOWN = StreamFacts(path="/v1/chat/completions", content_type="text/event-stream")
HEALTHY = [one for one in streams() if one.dialect == "openai-chat"]
KEPT_BACK = ['"{\\"ci', '"}', '"']


def chunk(delta: Payload, finish: str | None = None, **rest: Any) -> Payload:
    """A chunk of one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice], **rest}


def header(name: str = "get_weather", arguments: str = "", index: int = 0) -> Payload:
    """The chunk that opens a call."""
    entry = {"index": index, "id": f"call_{index}", "type": "function"}
    return chunk({"tool_calls": [{**entry, "function": {"name": name, "arguments": arguments}}]})


def more(arguments: str, index: int = 0) -> Payload:
    """A chunk that goes on with a call."""
    return chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})


def payloads(body: bytes) -> list[Payload]:
    """The chunks, read line by line; half of one is no chunk, and `[DONE]` none either."""
    lines = [line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: {")]
    return [json.loads(line) for line in lines if line.endswith(b"}")]


def arguments(body: bytes) -> dict[int, str]:
    """The arguments of each call, joined by index."""
    joined: dict[int, str] = {}
    for payload in payloads(body):
        for choice in payload["choices"]:
            for entry in choice["delta"].get("tool_calls", []):
                said = entry.get("function", {}).get("arguments") or ""
                joined[entry["index"]] = joined.get(entry["index"], "") + said
    return joined


def finishes(body: bytes) -> list[str]:
    """The finish reasons, in order."""
    said = [choice.get("finish_reason") for payload in payloads(body) for choice in payload["choices"]]
    return [one for one in said if one]


def events(body: bytes) -> list[bytes]:
    """What a reader to the letter of the standard dispatches, and the rest behind it."""
    return body.split(b"\n\n")


@pytest.mark.parametrize("broken", [None, "gone"])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_nothing_is_joined_to_a_cut_event(healthy: Healthy, broken: str | None) -> None:
    """Cut anywhere, the rest stays as it came or goes; what is made up is an event of its own."""
    whole = {one.strip() for one in events(healthy.body)}
    for at in range(len(healthy.body) - 250, len(healthy.body)):
        cut = healthy.body[:at]
        rest = events(cut)[-1].strip()
        out = repaired(cut, healthy.exchange, broken=broken).out
        for event in events(out):
            said = event.strip()
            assert said in whole | {b"", rest} or said == b"data: [DONE]" or _is_chunk(said)


def _is_chunk(event: bytes) -> bool:
    return event.startswith(b"data: {") and isinstance(json.loads(event.removeprefix(b"data: ")), dict)


@pytest.mark.parametrize("rest", [b"data: [DO", b'data: {"id":"c","choices":[],"usa', b"da", b": keep-ali"])
def test_half_an_event_behind_the_finish_gives_way_to_the_end(rest: bytes) -> None:
    """Everything was said; `[DONE]` comes in its place."""
    said = sse(header(), more('{"city":"Oslo"}'), chunk({}, "tool_calls"))
    assert repaired(said + rest, CHAT).out == said + b"data: [DONE]\n\n"
    assert repaired(said + rest, CHAT, broken="gone").out == said + rest


@pytest.mark.parametrize("rest", [b'data: {"id":"c","choices":[{"index":0,"delta":{"tool_ca', b"data", b": x"])
def test_half_an_event_before_the_finish_is_no_end(rest: bytes) -> None:
    """More was to come: nobody knows of what."""
    cut = sse(header(), more('{"city":"Oslo"}')) + rest
    assert repaired(cut, CHAT).out == cut


@pytest.mark.parametrize("newline", [b"", b"\n", b"\r", b"\r\n"])
def test_a_last_event_without_its_end_gets_one_before_anything_follows(newline: bytes) -> None:
    """Also where the repair of that is off."""
    said = sse(header(), more('{"city":"Oslo"}'), chunk({}, "tool_calls")).removesuffix(b"\n\n") + newline
    out = repaired(said, CHAT, "missing-done").out
    text = out.decode().replace("\r\n", "\n").replace("\r", "\n")
    assert text.split("\n\n")[-2:] == ["data: [DONE]", ""]


@pytest.mark.parametrize("name", ["ping", "get_weather", "unknown"])
@pytest.mark.parametrize("request_known", [True, False])
def test_a_header_is_no_whole_call(name: str, *, request_known: bool) -> None:
    """Where the body just ends, nobody has said that the call has no arguments."""
    cut = sse(chunk({"role": "assistant", "content": ""}), header(name))
    went = repaired(cut, CHAT if request_known else UNKNOWN)
    assert went.out == cut


@pytest.mark.parametrize("kept", KEPT_BACK)
@pytest.mark.parametrize("ending", [[], [chunk({}, "tool_calls")], ["[DONE]"], [chunk({}, "tool_calls"), "[DONE]"]])
def test_arguments_that_are_kept_back_go_out_at_the_end(kept: str, ending: list[Payload | str]) -> None:
    """What might have become an object in a string is said as it came, and no `{}` in its place."""
    body = sse(header(), more(kept), *ending)
    assert arguments(repaired(body, CHAT).out) == {0: kept}
    assert "tool_calls" not in finishes(repaired(body, CHAT).out)


def test_half_a_call_before_done_ends_as_a_break() -> None:
    """`[DONE]` stays away where nobody has said how the answer finished."""
    half = sse(header(), more('{"city"'))
    assert repaired(half + sse("[DONE]"), CHAT).out == half
    lost = sse(header())
    assert repaired(lost + sse("[DONE]"), CHAT).out == lost
    unknown = sse(header("unknown"), "[DONE]")
    assert repaired(unknown, CHAT).out == unknown


def test_done_is_the_end_of_a_tool_without_parameters() -> None:
    """It can have no arguments, and the protocol has said that nothing more comes."""
    out = repaired(sse(header("ping"), "[DONE]"), CHAT).out
    assert arguments(out) == {0: "{}"}
    assert finishes(out) == ["tool_calls"]


def test_no_end_is_made_up_where_an_event_could_not_be_read() -> None:
    """It may have been a call's."""
    body = sse(header(), more('{"city":"Oslo"}'), '{"id":"c","choices":[{"index":0,"delta":{"tool_ca')
    assert finishes(repaired(body, CHAT).out) == []


def test_a_call_whose_opening_could_not_be_read_gets_no_id_and_no_type() -> None:
    """A client that skips what it cannot read would take the rest for a call of its own."""
    cut = json.dumps(header())[:-1]
    rest: list[Payload | str] = [more('{"city"'), more(':"Oslo"}'), chunk({}, "tool_calls"), "[DONE]"]
    body = sse(cut, *rest)
    assert repaired(body, UNKNOWN).out == body
    assert b'"id":"call_' in repaired(sse(*rest), UNKNOWN).out


def test_no_end_is_made_up_for_arguments_that_nobody_can_parse() -> None:
    """Closed brackets are not enough."""
    body = sse(header(), more('{"city":Oslo}'))
    assert repaired(body, CHAT).out == body


def test_entries_of_nothing_make_no_calls() -> None:
    """`null` in the place of an entry, or an entry without anything."""
    message = {"role": "assistant", "content": " day", "tool_calls": [None]}
    said = chunk({"content": " day"})
    said["choices"][0]["message"] = message
    out = repaired(sse(said, chunk({}, "stop")), UNKNOWN).out
    assert arguments(out) == {}


@pytest.mark.parametrize("said", ["null", " null "])
@pytest.mark.parametrize("name", ["ping", "unknown"])
def test_null_as_text_is_no_arguments(said: str, name: str) -> None:
    """A tool that takes none gets `{}`, and the finish stays."""
    out = repaired(sse(header(name, said), chunk({}, "tool_calls"), "[DONE]"), CHAT).out
    assert arguments(out) == {0: "{}"}
    assert finishes(out) == ["tool_calls"]


def test_null_before_another_call() -> None:
    """Whether anything follows is not known when the next call opens; what is sent is never `null`."""
    calls = [header("unknown", "null"), header("get_weather", '{"city":"Oslo"}', 1)]
    body = sse(*calls, chunk({}, "tool_calls"), "[DONE]")
    assert arguments(repaired(body, CHAT).out) == {0: "{}", 1: '{"city":"Oslo"}'}


def test_a_header_without_arguments_gets_them() -> None:
    """Clients add what follows to what is there."""
    opening = header("ping")
    del opening["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"]
    out = repaired(sse(opening, more("{}"), chunk({}, "tool_calls"), "[DONE]"), CHAT).out
    assert payloads(out)[0] == header("ping")
    assert arguments(out) == {0: "{}"}


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_no_prefix_makes_a_call_whole(healthy: Healthy) -> None:
    """Whatever is planted and wherever the stream stops: a whole call is one that the healthy stream has."""
    right = {json.dumps(json.loads(text)) for text in arguments(healthy.body).values()}
    for name in ("late-name", "placeholder-arguments", "double-encoded-arguments", "null-arguments", "missing-id"):
        broken = injected(healthy.body, healthy.exchange, name).out
        ends = [at + 2 for at in range(len(broken)) if broken.startswith(b"\n\n", at)]
        for end in ends:
            raw = _whole(arguments(broken[:end]))
            assert _whole(arguments(repaired(broken[:end], healthy.exchange).out)) <= right | raw


def _whole(said: dict[int, str]) -> set[str]:
    whole = set()
    for text in said.values():
        try:
            whole.add(json.dumps(json.loads(text)))
        except ValueError:
            continue
    return whole


def in_message(entries: list[Payload], finish: str | None = None, **rest: Any) -> Payload:
    """A chunk whose calls stand in `message`."""
    choice = {"index": 0, "message": {"role": "assistant", **rest, "tool_calls": entries}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}


def test_calls_in_a_message_are_deltas() -> None:
    """A header without arguments is no call with `{}` before the finish says so."""
    opening = header("ping")["choices"][0]["delta"]["tool_calls"]
    cut = repaired(sse(in_message(opening, content="Hm.")), CHAT).out
    assert arguments(cut) == {0: ""}
    assert finishes(cut) == []
    assert [one["choices"][0]["delta"].get("content") for one in payloads(cut)] == [None, "Hm."]
    whole = repaired(sse(in_message(opening), chunk({}, "tool_calls"), "[DONE]"), CHAT).out
    assert arguments(whole) == {0: "{}"}


def test_a_message_that_says_streamed_calls_again() -> None:
    """Nothing is said twice."""
    entry = {**header()["choices"][0]["delta"]["tool_calls"][0]}
    entry["function"] = {"name": "get_weather", "arguments": '{"city":"Oslo"}'}
    body = sse(header(), more('{"city":"Oslo"}'), in_message([entry], "tool_calls"), "[DONE]")
    out = repaired(body, CHAT).out
    assert sum(len(one["choices"][0]["delta"].get("tool_calls", [])) for one in payloads(out)) == 2


@pytest.mark.parametrize("shape", ["whole-calls", "sequential", "header-with-first-fragment"])
@pytest.mark.parametrize("rest", [b'data: {"id":"c","choi', b"data: [DO"])
def test_what_a_shape_holds_is_not_joined_to_a_cut_event(shape: str, rest: bytes) -> None:
    """It came before that, and goes before it."""
    body = sse(header(), more('{"city":"Oslo"}')) + rest
    for wanted in (Settings(shapes=(shape,)), Settings(SAFE, shapes=(shape,))):
        out = run(body, CHAT, wanted).out
        assert events(out)[-1] == rest
        assert arguments(out) == {0: '{"city":"Oslo"}'}


def test_a_call_beside_half_of_one_gets_no_arguments() -> None:
    """The answer was cut off, whatever its finish says."""
    body = sse(header("ping"), header(index=1), more('{"ci', 1), chunk({}, "tool_calls"), "[DONE]")
    out = repaired(body, CHAT).out
    assert arguments(out) == {0: "", 1: '{"ci'}
    assert finishes(out) == ["length"]
