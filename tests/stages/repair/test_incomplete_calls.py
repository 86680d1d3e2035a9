"""A response that ends normally with an incomplete call ends with a disconnect, and its end is withheld."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from tests.invariants.driven import exchange, inspected, lines, sse
from toolstream_core.defects.finish import CUT_OFF_CALL
from toolstream_core.defects.table import named
from toolstream_core.engine.session import Session
from toolstream_core.settings import SAFE, Settings
from toolstream_core.wire.aws_event_stream import fresh

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.model import StreamFacts

type Payload = dict[str, Any]

BEGINNING: Final = '{"city": "Os'
REST: Final = 'lo"}'


class Ending(NamedTuple):
    """An incomplete call in one protocol, and several ends of the response."""

    protocol: str
    write: Callable[..., bytes]
    incomplete: list[Payload]
    rest: list[Payload]
    normal_end: list[Payload | str]
    """The end of a complete response."""
    limit_end: list[Payload | str]
    """The end of a response at the token limit."""
    error: list[Payload]
    """The end of a failed response."""
    forwarded: list[Payload | str] = []  # noqa: RUF012 - never changed
    """The events that the client receives in the place of `normal_end`."""

    @property
    def exchange(self) -> StreamFacts:
        """The facts of the response."""
        return exchange(self.protocol)

    def body(self, *parts: list[Any]) -> bytes:
        """Return the body of these events."""
        return self.write(*(event for part in parts for event in part))


def _chunk(delta: Payload, finish: str | None = None) -> Payload:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _entry(**function: str) -> Payload:
    header = {"id": "call_1", "type": "function"} if "name" in function else {}
    return _chunk({"tool_calls": [{"index": 0, **header, "function": function}]})


def _named(*events: Payload) -> bytes:
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


def _item(arguments: str, status: str) -> Payload:
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather"}
    return {**item, "arguments": arguments, "status": status}


def _response(kind: str, output: list[Payload], number: int, **more: Any) -> Payload:
    response = {"id": "resp_1", "object": "response", "status": kind, "output": output, **more}
    return {"type": f"response.{kind}", "sequence_number": number, "response": response}


def _delta(text: str, number: int) -> Payload:
    place = {"sequence_number": number, "item_id": "fc_1", "output_index": 0}
    return {"type": "response.function_call_arguments.delta", **place, "delta": text}


def _block(text: str) -> Payload:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}


def _stop_reason(reason: str) -> Payload:
    usage = {"output_tokens": 9}
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}


def _candidate(parts: list[Payload], **more: Any) -> Payload:
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **more}], "modelVersion": "m"}


def _partial(text: str, *, continues: bool) -> Payload:
    patch = {"jsonPath": "$.city", "stringValue": text, "willContinue": continues}
    call = {"partialArgs": [patch], **({"willContinue": True} if continues else {})}
    return {"functionCall": {"name": "weather", **call} if continues else call}


def _line(*, done: str = "", **message: Any) -> Payload:
    line = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", **message}}
    return {**line, "done": bool(done), **({"done_reason": done} if done else {})}


def _cohere(kind: str, **fields: Any) -> Payload:
    return {"type": kind, **fields}


def _cohere_call(kind: str, **call: Any) -> Payload:
    return _cohere(kind, index=0, delta={"message": {"tool_calls": call}})


def _message_end(reason: str) -> Payload:
    return _cohere("message-end", delta={"finish_reason": reason, "usage": {}})


def _converse(*events: Payload) -> bytes:
    return b"".join(fresh(json.dumps(body).encode(), kind).encode() for one in events for kind, body in one.items())


def _tool_input(text: str) -> Payload:
    return {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": text}}}}


STOP: Final = {"type": "content_block_stop", "index": 0}
OVERLOADED: Final = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
USAGE: Final = {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}}}
ENDINGS: Final = [
    Ending(
        "openai-chat",
        sse,
        [_entry(name="weather", arguments=BEGINNING)],
        [_entry(arguments=REST)],
        [_chunk({}, "tool_calls"), "[DONE]"],
        [_chunk({}, "length"), "[DONE]"],
        [{"error": {"message": "gone", "code": 502}}],
        [_chunk({}, "length")],
    ),
    Ending(
        "openai-responses",
        _named,
        [
            {"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", "object": "response"}},
            {
                "type": "response.output_item.added",
                "sequence_number": 1,
                "output_index": 0,
                "item": _item("", "in_progress"),
            },
            _delta(BEGINNING, 2),
        ],
        [_delta(REST, 3)],
        [_response("completed", [_item(BEGINNING, "completed")], 3)],
        [
            _response(
                "incomplete", [_item(BEGINNING, "incomplete")], 3, incomplete_details={"reason": "max_output_tokens"}
            )
        ],
        [{"type": "error", "sequence_number": 3, "code": "server_error", "message": "gone"}],
    ),
    Ending(
        "anthropic",
        _named,
        [
            {"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [], "usage": {}}},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
            },
            _block(BEGINNING),
        ],
        [_block(REST), STOP],
        [_stop_reason("tool_use"), {"type": "message_stop"}],
        [_stop_reason("max_tokens"), {"type": "message_stop"}],
        [OVERLOADED],
    ),
    Ending(
        "gemini",
        sse,
        [_candidate([_partial("Os", continues=True)])],
        [_candidate([_partial("lo", continues=False)])],
        [_candidate([{"text": ""}], finishReason="STOP")],
        [_candidate([{"text": ""}], finishReason="MAX_TOKENS")],
        [{"error": {"code": 503, "message": "gone", "status": "UNAVAILABLE"}}],
    ),
    Ending(
        "ollama",
        lines,
        [_line(content="", tool_calls=[{"function": {"name": "weather", "arguments": BEGINNING}}])],
        [],
        [_line(content="", done="stop")],
        [_line(content="", done="length")],
        [{"error": "gone"}],
    ),
    Ending(
        "cohere-v2",
        _named,
        [
            _cohere("message-start", id="msg_1", delta={"message": {"role": "assistant"}}),
            _cohere_call(
                "tool-call-start", id="call_1", type="function", function={"name": "weather", "arguments": ""}
            ),
            _cohere_call("tool-call-delta", function={"arguments": BEGINNING}),
        ],
        [_cohere_call("tool-call-delta", function={"arguments": REST}), _cohere("tool-call-end", index=0)],
        [_message_end("TOOL_CALL")],
        [_message_end("MAX_TOKENS")],
        [_cohere("message-end", delta={"finish_reason": "ERROR", "error": "gone"})],
    ),
    Ending(
        "bedrock",
        _converse,
        [
            {"messageStart": {"role": "assistant"}},
            {
                "contentBlockStart": {
                    "contentBlockIndex": 0,
                    "start": {"toolUse": {"toolUseId": "t1", "name": "weather"}},
                }
            },
            _tool_input(BEGINNING),
        ],
        [_tool_input(REST), {"contentBlockStop": {"contentBlockIndex": 0}}],
        [{"messageStop": {"stopReason": "tool_use"}}, USAGE],
        [{"messageStop": {"stopReason": "max_tokens"}}, USAGE],
        [{"modelStreamErrorException": {"message": "gone"}}],
    ),
]
each_protocol = pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.protocol)


class Outcome(NamedTuple):
    """The forwarded bytes, the end and the changes."""

    out: bytes
    disconnects: bool
    changes: list[str]


def run(ending: Ending, body: bytes, repairs: frozenset[str] = SAFE, *, size: int = 0) -> Outcome:
    """Feed a body in chunks of `size` bytes, or in one chunk for 0."""
    session = Session(ending.exchange, Settings(repairs))
    size = size or len(body)
    out = [forwarded for at in range(0, len(body), size) for forwarded in session.feed(body[at : at + size])]
    out += session.end()
    assert session.error is None
    record = session.record()
    assert record is not None
    return Outcome(b"".join(out), session.cut_off(record) is CUT_OFF_CALL, record.changes)


def compact(body: bytes) -> bytes:
    """Remove spaces, which rewriting JSON removes, too."""
    return body.replace(b" ", b"")


@each_protocol
def test_a_normal_end_after_an_incomplete_call_is_withheld(ending: Ending) -> None:
    """A normal end after an incomplete call is withheld, for all chunk sizes, and a second repair changes nothing."""
    expected = ending.body(ending.incomplete, ending.forwarded)
    body = ending.body(ending.incomplete, ending.normal_end)
    outcome = run(ending, body)
    assert compact(outcome.out) == compact(expected)
    assert outcome.disconnects
    assert outcome.changes == ["cut-off-call"]
    assert "cut-off-call" in inspected(body, ending.exchange).finding_names
    assert run(ending, body, size=1) == outcome
    assert run(ending, outcome.out).out == outcome.out
    assert run(ending, outcome.out.rstrip(b"\n")).out.rstrip(b"\n") == outcome.out.rstrip(b"\n")


@each_protocol
def test_an_end_at_the_token_limit_is_forwarded(ending: Ending) -> None:
    """The end of a response at the token limit is forwarded: it shows that the call is incomplete."""
    body = ending.body(ending.incomplete, ending.limit_end)
    assert run(ending, body) == (body, False, [])


@each_protocol
def test_an_error_is_forwarded(ending: Ending) -> None:
    """An error after an incomplete call is forwarded without a disconnect, after which some clients would retry."""
    body = ending.body(ending.incomplete, ending.error)
    assert run(ending, ending.body(ending.incomplete)).disconnects
    assert run(ending, body) == (body, False, [])
    assert "in-band-error" in inspected(body, ending.exchange).finding_names


@each_protocol
def test_other_repairs_forward_the_end(ending: Ending) -> None:
    """Without `cut-off-call`, the other repairs forward the end after an incomplete call."""
    body = ending.body(ending.incomplete, ending.normal_end)
    others = run(ending, body, SAFE - named(["cut-off-call"]))
    assert not others.disconnects
    assert "cut-off-call" not in others.changes
    assert others.out.endswith(ending.body(ending.normal_end[-1:]))


@each_protocol
def test_the_end_after_a_complete_call_is_sent_at_once(ending: Ending) -> None:
    """The end after a complete call is forwarded at once, without a disconnect."""
    if not ending.rest:
        return
    session = Session(ending.exchange, Settings(named(["cut-off-call"])))
    calls = ending.body(ending.incomplete, ending.rest)
    end = ending.body(ending.normal_end)
    assert b"".join(session.feed(calls)) + b"".join(session.feed(end)) == calls + end
    assert session.end() == []
    record = session.record()
    assert record is not None
    assert session.cut_off(record) is None


@each_protocol
def test_an_early_end_is_forwarded(ending: Ending) -> None:
    """An end that the rest of the call follows, another defect, is forwarded at its place."""
    if ending.protocol in {"openai-chat", "ollama"}:
        return  # the finish reason is held by another repair; calls are sent complete
    body = ending.body(ending.incomplete, ending.normal_end[:1], ending.rest)
    forwarded = run(ending, body, named(["cut-off-call"]))
    if ending.protocol == "openai-responses":  # clients stop reading at this end
        assert forwarded == (ending.body(ending.incomplete), True, ["cut-off-call"])
    else:
        assert forwarded == (body, False, [])


@pytest.mark.parametrize(
    "ending", [one for one in ENDINGS if one.protocol in {"gemini", "ollama"}], ids=lambda ending: ending.protocol
)
def test_text_in_the_last_event_is_forwarded(ending: Ending) -> None:
    """Text in the withheld last event is forwarded without the finish reason."""
    text, end = {
        "gemini": (_candidate([{"text": "Oslo?"}]), _candidate([{"text": "Oslo?"}], finishReason="STOP")),
        "ollama": (_line(content="Oslo?"), _line(content="Oslo?", done="stop")),
    }[ending.protocol]
    out = run(ending, ending.body(ending.incomplete, [end]))
    assert out.disconnects
    assert json.loads(out.out.splitlines()[-1 if ending.protocol == "ollama" else -2].removeprefix(b"data: ")) == text


def test_the_closing_bracket_of_a_gemini_array_is_withheld() -> None:
    """The closing bracket after the withheld last event of a Gemini array is withheld, too."""
    ending = next(one for one in ENDINGS if one.protocol == "gemini")
    incomplete, end = (json.dumps(one[0]).encode() for one in (ending.incomplete, ending.normal_end))
    out = run(ending, b"[" + incomplete + b"\n,\n" + end + b"\n]\n")
    assert (out.out, out.disconnects) == (b"[" + incomplete, True)


def test_text_and_errors_after_the_end() -> None:
    """Text between the end events, and an error with the end after it, are forwarded after an incomplete call.

    Text after the last event is withheld with that event, as clients do not read it.
    """
    ending = next(one for one in ENDINGS if one.protocol == "anthropic")
    text = {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Oslo?"}}
    reason, last = ending.normal_end[:1], ending.normal_end[1:]
    repairs = named(["cut-off-call"])
    assert run(ending, ending.body(ending.incomplete, reason, [text], last), repairs)[:2] == (
        ending.body(ending.incomplete, [text]),
        True,
    )
    assert run(ending, ending.body(ending.incomplete, reason, last, [text]), repairs)[:2] == (
        ending.body(ending.incomplete),
        True,
    )
    failed = run(
        ending, ending.body(ending.incomplete, ending.normal_end[:1], [OVERLOADED], ending.normal_end[1:]), repairs
    )
    assert failed[:2] == (ending.body(ending.incomplete, [OVERLOADED], ending.normal_end), False)


def test_a_call_with_invalid_json_is_not_incomplete() -> None:
    """The end after a call that is closed with invalid JSON is forwarded."""
    ending = next(one for one in ENDINGS if one.protocol == "anthropic")
    body = ending.body(ending.incomplete[:-1], [_block("{'city': 'Oslo'}"), STOP], ending.normal_end)
    assert not run(ending, body).disconnects
