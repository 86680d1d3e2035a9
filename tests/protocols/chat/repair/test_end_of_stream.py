"""The end of Chat Completions streams: added and withheld events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import exchange, injected, payloads, repaired, run, sse
from tests.invariants.healthy import Healthy, streams
from toolstream_core.model import StreamFacts
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

CHAT = exchange("openai-chat")
UNKNOWN = StreamFacts(path="/v1/chat/completions", content_type="text/event-stream")
HEALTHY = [one for one in streams() if one.protocol == "openai-chat"]
HELD = ['"{\\"ci', '"}', '"']


def chunk(delta: Payload, finish: str | None = None, **rest: Any) -> Payload:
    """Return a chunk of one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice], **rest}


def header(name: str = "get_weather", arguments: str = "", index: int = 0) -> Payload:
    """Return the chunk with a call's header."""
    entry = {"index": index, "id": f"call_{index}", "type": "function"}
    return chunk({"tool_calls": [{**entry, "function": {"name": name, "arguments": arguments}}]})


def more(arguments: str, index: int = 0) -> Payload:
    """Return a chunk with the next arguments of a call."""
    return chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})


def arguments(body: bytes) -> dict[int, str]:
    """Return the joined arguments of each call by index."""
    joined: dict[int, str] = {}
    for payload in payloads(body):
        for choice in payload["choices"]:
            for entry in choice["delta"].get("tool_calls", []):
                text = entry.get("function", {}).get("arguments") or ""
                joined[entry["index"]] = joined.get(entry["index"], "") + text
    return joined


def finishes(body: bytes) -> list[str]:
    """Return the finish reasons in order."""
    reasons = [choice.get("finish_reason") for payload in payloads(body) for choice in payload["choices"]]
    return [one for one in reasons if one]


def events(body: bytes) -> list[bytes]:
    """Split a body at blank lines: the events, and the rest after them."""
    return body.split(b"\n\n")


@pytest.mark.parametrize("broken", [None, "gone"])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_nothing_is_joined_to_a_truncated_event(healthy: Healthy, broken: str | None) -> None:
    """A truncated last event is unchanged or dropped, and an added event is complete, for every truncation."""
    complete = {one.strip() for one in events(healthy.body)}
    for at in range(len(healthy.body) - 250, len(healthy.body)):
        cut = healthy.body[:at]
        rest = events(cut)[-1].strip()
        out = repaired(cut, healthy.exchange, broken=broken).out
        for event in events(out):
            text = event.strip()
            assert text in complete | {b"", rest} or text == b"data: [DONE]" or _is_chunk(text)


def _is_chunk(event: bytes) -> bool:
    return event.startswith(b"data: {") and isinstance(json.loads(event.removeprefix(b"data: ")), dict)


@pytest.mark.parametrize("rest", [b"data: [DO", b'data: {"id":"c","choices":[],"usa', b"da", b": keep-ali"])
def test_a_truncated_event_after_the_finish_reason_is_replaced_by_done(rest: bytes) -> None:
    """A truncated event after the finish reason is replaced by `[DONE]`, unless the connection was reset."""
    received = sse(header(), more('{"city":"Oslo"}'), chunk({}, "tool_calls"))
    assert repaired(received + rest, CHAT).out == received + b"data: [DONE]\n\n"
    assert repaired(received + rest, CHAT, broken="gone").out == received + rest


@pytest.mark.parametrize("rest", [b'data: {"id":"c","choices":[{"index":0,"delta":{"tool_ca', b"data", b": x"])
def test_no_end_is_added_after_a_truncated_event(rest: bytes) -> None:
    """No end is added after a truncated event before the finish reason."""
    cut = sse(header(), more('{"city":"Oslo"}')) + rest
    assert repaired(cut, CHAT).out == cut


@pytest.mark.parametrize("newline", [b"", b"\n", b"\r", b"\r\n"])
def test_an_unterminated_last_event_is_terminated_before_an_added_event(newline: bytes) -> None:
    """An unterminated last event is terminated before `[DONE]` is added, even without the repair of that defect."""
    received = sse(header(), more('{"city":"Oslo"}'), chunk({}, "tool_calls")).removesuffix(b"\n\n") + newline
    out = repaired(received, CHAT, "missing-done").out
    text = out.decode().replace("\r\n", "\n").replace("\r", "\n")
    assert text.split("\n\n")[-2:] == ["data: [DONE]", ""]


@pytest.mark.parametrize("name", ["ping", "get_weather", "unknown"])
@pytest.mark.parametrize("request_known", [True, False])
def test_nothing_is_added_after_a_header(name: str, *, request_known: bool) -> None:
    """Nothing is added to a stream that ends after a header."""
    cut = sse(chunk({"role": "assistant", "content": ""}), header(name))
    outcome = repaired(cut, CHAT if request_known else UNKNOWN)
    assert outcome.out == cut


@pytest.mark.parametrize("kept", HELD)
@pytest.mark.parametrize("ending", [[], [chunk({}, "tool_calls")], ["[DONE]"], [chunk({}, "tool_calls"), "[DONE]"]])
def test_held_arguments_are_forwarded_at_the_end(kept: str, ending: list[Payload | str]) -> None:
    """Held arguments that may become a doubly encoded object are forwarded at the end, and not replaced by `{}`."""
    body = sse(header(), more(kept), *ending)
    assert arguments(repaired(body, CHAT).out) == {0: kept}
    assert "tool_calls" not in finishes(repaired(body, CHAT).out)


def test_done_after_an_incomplete_call_is_withheld() -> None:
    """`[DONE]` after an incomplete call without a finish reason is withheld."""
    incomplete = sse(header(), more('{"city"'))
    assert repaired(incomplete + sse("[DONE]"), CHAT).out == incomplete
    lost = sse(header())
    assert repaired(lost + sse("[DONE]"), CHAT).out == lost
    unknown = sse(header("unknown"), "[DONE]")
    assert repaired(unknown, CHAT).out == unknown


def test_done_completes_a_call_without_parameters() -> None:
    """After `[DONE]`, `{}` and a finish reason are added to a call of a tool without parameters."""
    out = repaired(sse(header("ping"), "[DONE]"), CHAT).out
    assert arguments(out) == {0: "{}"}
    assert finishes(out) == ["tool_calls"]


def test_no_end_is_added_after_an_unread_event() -> None:
    """No finish reason is added to a stream with an event that could not be parsed."""
    body = sse(header(), more('{"city":"Oslo"}'), '{"id":"c","choices":[{"index":0,"delta":{"tool_ca')
    assert finishes(repaired(body, CHAT).out) == []


def test_a_call_with_an_unread_header_gets_no_id_and_no_type() -> None:
    """No id and type are added to a call whose header could not be parsed: clients would read another call."""
    cut = json.dumps(header())[:-1]
    rest: list[Payload | str] = [more('{"city"'), more(':"Oslo"}'), chunk({}, "tool_calls"), "[DONE]"]
    body = sse(cut, *rest)
    assert repaired(body, UNKNOWN).out == body
    assert b'"id":"call_' in repaired(sse(*rest), UNKNOWN).out


def test_no_end_is_added_after_invalid_arguments() -> None:
    """No end is added after arguments that are not valid JSON, although their brackets are closed."""
    body = sse(header(), more('{"city":Oslo}'))
    assert repaired(body, CHAT).out == body


def test_empty_entries_make_no_calls() -> None:
    """A `null` entry in a message makes no call."""
    message = {"role": "assistant", "content": " day", "tool_calls": [None]}
    event = chunk({"content": " day"})
    event["choices"][0]["message"] = message
    out = repaired(sse(event, chunk({}, "stop")), UNKNOWN).out
    assert arguments(out) == {}


@pytest.mark.parametrize("text", ["null", " null "])
@pytest.mark.parametrize("name", ["ping", "unknown"])
def test_null_as_text_is_replaced(text: str, name: str) -> None:
    """Arguments `null` are replaced by `{}`, and the finish reason is kept."""
    out = repaired(sse(header(name, text), chunk({}, "tool_calls"), "[DONE]"), CHAT).out
    assert arguments(out) == {0: "{}"}
    assert finishes(out) == ["tool_calls"]


def test_null_before_another_call_is_replaced() -> None:
    """Arguments `null` before another call are replaced by `{}`."""
    calls = [header("unknown", "null"), header("get_weather", '{"city":"Oslo"}', 1)]
    body = sse(*calls, chunk({}, "tool_calls"), "[DONE]")
    assert arguments(repaired(body, CHAT).out) == {0: "{}", 1: '{"city":"Oslo"}'}


def test_a_header_without_arguments_gets_empty_arguments() -> None:
    """A header without the `arguments` key gets empty arguments, to which clients can append."""
    opening = header("ping")
    del opening["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"]
    out = repaired(sse(opening, more("{}"), chunk({}, "tool_calls"), "[DONE]"), CHAT).out
    assert payloads(out)[0] == header("ping")
    assert arguments(out) == {0: "{}"}


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_no_truncated_stream_gets_other_complete_calls(healthy: Healthy) -> None:
    """A complete call of a truncated stream with a defect is one of the healthy stream, or was received so."""
    right = {json.dumps(json.loads(text)) for text in arguments(healthy.body).values()}
    for name in ("late-name", "placeholder-arguments", "double-encoded-arguments", "null-arguments", "missing-id"):
        broken = injected(healthy.body, healthy.exchange, name).out
        ends = [at + 2 for at in range(len(broken)) if broken.startswith(b"\n\n", at)]
        for end in ends:
            raw = _complete(arguments(broken[:end]))
            assert _complete(arguments(repaired(broken[:end], healthy.exchange).out)) <= right | raw


def _complete(texts: dict[int, str]) -> set[str]:
    complete = set()
    for text in texts.values():
        try:
            complete.add(json.dumps(json.loads(text)))
        except ValueError:
            continue
    return complete


def in_message(entries: list[Payload], finish: str | None = None, **rest: Any) -> Payload:
    """Return a chunk with calls in `message`."""
    choice = {"index": 0, "message": {"role": "assistant", **rest, "tool_calls": entries}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}


def test_calls_in_messages_are_treated_as_deltas() -> None:
    """Calls in messages are treated as deltas: `{}` is added only with a finish reason."""
    opening = header("ping")["choices"][0]["delta"]["tool_calls"]
    cut = repaired(sse(in_message(opening, content="Hm.")), CHAT).out
    assert arguments(cut) == {0: ""}
    assert finishes(cut) == []
    assert [one["choices"][0]["delta"].get("content") for one in payloads(cut)] == [None, "Hm."]
    finished = repaired(sse(in_message(opening), chunk({}, "tool_calls"), "[DONE]"), CHAT).out
    assert arguments(finished) == {0: "{}"}


def test_a_message_that_repeats_streamed_calls_is_not_sent_as_deltas() -> None:
    """A message that repeats streamed calls adds no entries."""
    entry = {**header()["choices"][0]["delta"]["tool_calls"][0]}
    entry["function"] = {"name": "get_weather", "arguments": '{"city":"Oslo"}'}
    body = sse(header(), more('{"city":"Oslo"}'), in_message([entry], "tool_calls"), "[DONE]")
    out = repaired(body, CHAT).out
    assert sum(len(one["choices"][0]["delta"].get("tool_calls", [])) for one in payloads(out)) == 2


@pytest.mark.parametrize("shape", ["whole-calls", "sequential", "header-with-first-fragment"])
@pytest.mark.parametrize("rest", [b'data: {"id":"c","choi', b"data: [DO"])
def test_events_held_by_a_shape_are_sent_before_a_truncated_event(shape: str, rest: bytes) -> None:
    """Events that a shape holds are sent before a truncated last event."""
    body = sse(header(), more('{"city":"Oslo"}')) + rest
    for settings in (Settings(shapes=(shape,)), Settings(SAFE, shapes=(shape,))):
        out = run(body, CHAT, settings).out
        assert events(out)[-1] == rest
        assert arguments(out) == {0: '{"city":"Oslo"}'}


def test_no_arguments_are_added_before_an_incomplete_call() -> None:
    """No `{}` is added to a call without arguments if another call is incomplete."""
    body = sse(header("ping"), header(index=1), more('{"ci', 1), chunk({}, "tool_calls"), "[DONE]")
    out = repaired(body, CHAT).out
    assert arguments(out) == {0: "", 1: '{"ci'}
    assert finishes(out) == ["length"]
