"""An answer that is said to be whole while a call of it is half ends as a break, and what says so is kept back."""

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

HALF: Final = '{"city": "Os'
REST: Final = 'lo"}'


class Ending(NamedTuple):
    """How one protocol says half a call, what claims that it was whole, and what does not."""

    protocol: str
    write: Callable[..., bytes]
    half: list[Payload]
    rest: list[Payload]
    whole: list[Payload | str]
    """What says that the answer is over and whole."""
    honest: list[Payload | str]
    """What says that it was cut off."""
    error: list[Payload]
    """What says that it failed."""
    goes: list[Payload | str] = []  # noqa: RUF012 - never changed
    """What goes to the client in the place of `whole`."""

    @property
    def exchange(self) -> StreamFacts:
        """What is known beside the stream."""
        return exchange(self.protocol)

    def body(self, *parts: list[Any]) -> bytes:
        """These events."""
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


def _partial(text: str, *, goes_on: bool) -> Payload:
    patch = {"jsonPath": "$.city", "stringValue": text, "willContinue": goes_on}
    call = {"partialArgs": [patch], **({"willContinue": True} if goes_on else {})}
    return {"functionCall": {"name": "weather", **call} if goes_on else call}


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
        [_entry(name="weather", arguments=HALF)],
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
            _delta(HALF, 2),
        ],
        [_delta(REST, 3)],
        [_response("completed", [_item(HALF, "completed")], 3)],
        [_response("incomplete", [_item(HALF, "incomplete")], 3, incomplete_details={"reason": "max_output_tokens"})],
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
            _block(HALF),
        ],
        [_block(REST), STOP],
        [_stop_reason("tool_use"), {"type": "message_stop"}],
        [_stop_reason("max_tokens"), {"type": "message_stop"}],
        [OVERLOADED],
    ),
    Ending(
        "gemini",
        sse,
        [_candidate([_partial("Os", goes_on=True)])],
        [_candidate([_partial("lo", goes_on=False)])],
        [_candidate([{"text": ""}], finishReason="STOP")],
        [_candidate([{"text": ""}], finishReason="MAX_TOKENS")],
        [{"error": {"code": 503, "message": "gone", "status": "UNAVAILABLE"}}],
    ),
    Ending(
        "ollama",
        lines,
        [_line(content="", tool_calls=[{"function": {"name": "weather", "arguments": HALF}}])],
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
            _cohere_call("tool-call-delta", function={"arguments": HALF}),
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
            _tool_input(HALF),
        ],
        [_tool_input(REST), {"contentBlockStop": {"contentBlockIndex": 0}}],
        [{"messageStop": {"stopReason": "tool_use"}}, USAGE],
        [{"messageStop": {"stopReason": "max_tokens"}}, USAGE],
        [{"modelStreamErrorException": {"message": "gone"}}],
    ),
]
each_protocol = pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.protocol)


class Outcome(NamedTuple):
    """What the client gets, and how it ends."""

    out: bytes
    breaks: bool
    changes: list[str]


def went(ending: Ending, body: bytes, repairs: frozenset[str] = SAFE, *, size: int = 0) -> Outcome:
    """A body through a session, in pieces of `size` bytes; in one piece where that is 0."""
    session = Session(ending.exchange, Settings(repairs))
    size = size or len(body)
    out = [piece for at in range(0, len(body), size) for piece in session.feed(body[at : at + size])]
    out += session.end()
    assert session.error is None
    record = session.record()
    assert record is not None
    return Outcome(b"".join(out), session.cut_off(record) is CUT_OFF_CALL, record.changes)


def compact(body: bytes) -> bytes:
    """Bytes without the blanks that rewriting JSON takes out."""
    return body.replace(b" ", b"")


@each_protocol
def test_what_says_that_half_a_call_was_all_is_kept_back(ending: Ending) -> None:
    """However the bytes are cut; and what is left is repaired already."""
    half = ending.body(ending.half, ending.goes)
    body = ending.body(ending.half, ending.whole)
    gone = went(ending, body)
    assert compact(gone.out) == compact(half)
    assert gone.breaks
    assert gone.changes == ["cut-off-call"]
    assert "cut-off-call" in inspected(body, ending.exchange).finding_names
    assert went(ending, body, size=1) == gone
    assert went(ending, gone.out).out == gone.out
    assert went(ending, gone.out.rstrip(b"\n")).out.rstrip(b"\n") == gone.out.rstrip(b"\n")


@each_protocol
def test_an_honest_end_stays_where_it_is(ending: Ending) -> None:
    """Whoever reads it knows that the call is half."""
    body = ending.body(ending.half, ending.honest)
    assert went(ending, body) == (body, False, [])


@each_protocol
def test_an_error_ends_an_answer_as_it_came(ending: Ending) -> None:
    """It says that the call is half, and some clients ask again where the connection breaks behind it."""
    body = ending.body(ending.half, ending.error)
    assert went(ending, ending.body(ending.half)).breaks
    assert went(ending, body) == (body, False, [])
    assert "in-band-error" in inspected(body, ending.exchange).finding_names


@each_protocol
def test_without_the_repair_the_end_goes_on(ending: Ending) -> None:
    """All others leave it alone, the finish of Chat Completions too."""
    body = ending.body(ending.half, ending.whole)
    others = went(ending, body, SAFE - named(["cut-off-call"]))
    assert not others.breaks
    assert "cut-off-call" not in others.changes
    assert others.out.endswith(ending.body(ending.whole[-1:]))


@each_protocol
def test_a_whole_call_ends_in_order(ending: Ending) -> None:
    """The end goes on with the event that says it, and not later."""
    if not ending.rest:
        return
    session = Session(ending.exchange, Settings(named(["cut-off-call"])))
    begun = ending.body(ending.half, ending.rest)
    end = ending.body(ending.whole)
    assert b"".join(session.feed(begun)) + b"".join(session.feed(end)) == begun + end
    assert session.end() == []
    record = session.record()
    assert record is not None
    assert session.cut_off(record) is None


@each_protocol
def test_an_end_that_more_of_the_call_follows_stays_where_it_is(ending: Ending) -> None:
    """It was said too early, which is another defect; all goes on when that is known."""
    if ending.protocol in {"openai-chat", "ollama"}:
        return  # another part holds the finish; a call comes whole
    body = ending.body(ending.half, ending.whole[:1], ending.rest)
    sent = went(ending, body, named(["cut-off-call"]))
    if ending.protocol == "openai-responses":  # clients stop reading at this end
        assert sent == (ending.body(ending.half), True, ["cut-off-call"])
    else:
        assert sent == (body, False, [])


@pytest.mark.parametrize(
    "ending", [one for one in ENDINGS if one.protocol in {"gemini", "ollama"}], ids=lambda ending: ending.protocol
)
def test_text_that_comes_with_the_end_goes_on(ending: Ending) -> None:
    """Without what says that the answer is over."""
    text, end = {
        "gemini": (_candidate([{"text": "Oslo?"}]), _candidate([{"text": "Oslo?"}], finishReason="STOP")),
        "ollama": (_line(content="Oslo?"), _line(content="Oslo?", done="stop")),
    }[ending.protocol]
    out = went(ending, ending.body(ending.half, [end]))
    assert out.breaks
    assert json.loads(out.out.splitlines()[-1 if ending.protocol == "ollama" else -2].removeprefix(b"data: ")) == text


def test_the_bracket_of_a_gemini_array_stays_away() -> None:
    """With it, the body would be whole."""
    ending = next(one for one in ENDINGS if one.protocol == "gemini")
    half, end = (json.dumps(one[0]).encode() for one in (ending.half, ending.whole))
    out = went(ending, b"[" + half + b"\n,\n" + end + b"\n]\n")
    assert (out.out, out.breaks) == (b"[" + half, True)


def test_text_and_errors_behind_the_end_go_on() -> None:
    """Behind an error the end goes on too: whoever reads it knows that something is wrong.

    Text behind the last event does not: nobody reads it there, and nobody is given it without that event.
    """
    ending = next(one for one in ENDINGS if one.protocol == "anthropic")
    text = {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Oslo?"}}
    reason, last = ending.whole[:1], ending.whole[1:]
    repairs = named(["cut-off-call"])
    assert went(ending, ending.body(ending.half, reason, [text], last), repairs)[:2] == (
        ending.body(ending.half, [text]),
        True,
    )
    assert went(ending, ending.body(ending.half, reason, last, [text]), repairs)[:2] == (
        ending.body(ending.half),
        True,
    )
    failed = went(ending, ending.body(ending.half, ending.whole[:1], [OVERLOADED], ending.whole[1:]), repairs)
    assert failed[:2] == (ending.body(ending.half, [OVERLOADED], ending.whole), False)


def test_a_call_that_is_no_json_is_not_half() -> None:
    """It came to its end: nobody can parse it, and nobody waits for more."""
    ending = next(one for one in ENDINGS if one.protocol == "anthropic")
    body = ending.body(ending.half[:-1], [_block("{'city': 'Oslo'}"), STOP], ending.whole)
    assert not went(ending, body).breaks
