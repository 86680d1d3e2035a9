"""The reader of Gemini."""

from __future__ import annotations

import json

import pytest

from tests.protocols.frames import frame
from toolstream_core.model import ABSENT, Finish, Fragment, Phase
from toolstream_core.protocols.gemini import GEMINI
from toolstream_core.protocols.writing import HealthyCall, HealthyResponse

read = GEMINI.read


def chunk(*parts: object, **candidate: object) -> dict[str, object]:
    """Return a chunk with one candidate."""
    return {"candidates": [{"content": {"parts": list(parts)}, **candidate}], "modelVersion": "m"}


def test_parts_are_read() -> None:
    """Calls and text are read from parts, without thoughts."""
    content = read(
        frame(
            chunk(
                {"text": "think", "thought": True},
                {"text": "hi"},
                {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "g", "id": "x"}},
                finishReason="STOP",
            )
        )
    )
    complete = Fragment(type="functionCall", phase=Phase.CLOSE)
    assert content.fragments == (complete._replace(name="f", arguments='{"a":1}'), complete._replace(name="g", id="x"))
    assert (content.text, content.finishes, content.model) == ("hi", (Finish(0, "STOP"),), "m")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (1, "STOP"),
        (2, "MAX_TOKENS"),
        (10, "MALFORMED_FUNCTION_CALL"),
        (99, "99"),
        (0, ""),
        (True, ""),
        ({}, ""),
        ("", ""),
    ],
)
def test_a_finish_reason_may_be_a_number(value: object, reason: str) -> None:
    """A finish reason may be the number of its name, as some gateways send it; 0 is no reason."""
    assert read(frame(chunk({"text": "hi"}, finishReason=value))).finishes == ((Finish(0, reason),) if reason else ())


@pytest.mark.parametrize(
    "message",
    [
        {"setupComplete": {}},
        {"serverContent": {"modelTurn": {"parts": [{"text": "hi"}]}}, "usageMetadata": {"totalTokenCount": 3}},
        {"toolCall": {"functionCalls": [{"name": "f", "args": {}}]}, "usageMetadata": {"totalTokenCount": 3}},
        {"usageMetadata": {"totalTokenCount": 3}},
    ],
)
def test_the_live_api_is_another_protocol(message: object) -> None:
    """Messages of the Live API are not recognised as Gemini, although they have the same usage fields."""
    assert not GEMINI.recognise("", message)
    assert GEMINI.recognise("", {"usageMetadata": {"totalTokenCount": 3}, "modelVersion": "gemini"})


def test_partial_arguments_are_read() -> None:
    """A part with `willContinue` keeps its call open; the last part closes it."""
    begin = read(frame(chunk({"functionCall": {"name": "f", "willContinue": True}}))).fragments
    assert [(one.phase, one.name) for one in begin] == [(Phase.OPEN, "f")]
    patch = {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}]}
    more = read(frame(chunk({"functionCall": patch | {"willContinue": True}}))).fragments
    assert [(one.phase, one.arguments) for one in more] == [(Phase.MORE, '[{"jsonPath":"$.a","stringValue":"x"}]')]
    last = read(frame(chunk({"functionCall": patch}))).fragments
    assert [one.phase for one in last] == [Phase.MORE, Phase.CLOSE]
    assert read(frame(chunk({"functionCall": {}}))).fragments[0].arguments is ABSENT


def test_arguments_as_text_are_not_well_formed() -> None:
    """Arguments as text, not an object, are read and marked as not well-formed."""
    (fragment,) = read(frame(chunk({"functionCall": {"name": "f", "args": "{}"}}))).fragments
    assert (fragment.arguments, fragment.well_formed) == ("{}", False)


def test_wrapped_and_incomplete_chunks_are_read() -> None:
    """Chunks in `response` (Code Assist), chunks in a list, chunks without content, and errors are read."""
    assert read(frame({"response": chunk({"text": "hi"})})).text == "hi"
    assert read(frame([chunk({"text": "hi"})])).text == "hi"
    content = read(frame({"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}))
    assert (content.finishes, content.fragments) == ((Finish(0, "MALFORMED_FUNCTION_CALL"),), ())
    assert read(frame({"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}})).error == "503: busy"


def test_an_unstreamed_response_has_an_end() -> None:
    """An unstreamed response is read with an end."""
    assert GEMINI.read_response(chunk({"functionCall": {"name": "f", "args": {}}})).end


@pytest.mark.parametrize("wrapped", [False, True], ids=["gemini", "code assist"])
def test_written_responses_have_the_form_of_the_request(*, wrapped: bool) -> None:
    """Code Assist has request and response one level deeper: gemini-cli reads nothing else."""
    own = {"contents": [], "tools": [{"functionDeclarations": [{"name": "f"}]}]}
    request = {"model": "m", "request": own} if wrapped else own
    response = HealthyResponse(model="m", request=request, calls=(HealthyCall("f", '{"a": 1}'),))
    [data] = GEMINI.healthy_stream(response)
    event = json.loads(data.removeprefix(b"data: "))
    assert ("response" in event, "candidates" in event) == (wrapped, not wrapped)
    assert GEMINI.healthy_unstreamed(response) == event
    assert GEMINI.assembled([event], []) == event
    assert GEMINI.streamed(event, request) == GEMINI.healthy_stream(response)
