"""Gemini: parts, partial arguments, finish reasons, wrappers."""

from __future__ import annotations

import pytest

from tests.protocols.frames import frame
from toolstream_core.model import ABSENT, Finish, Fragment, Phase
from toolstream_core.protocols.gemini import GEMINI

read = GEMINI.read


def chunk(*parts: object, **candidate: object) -> dict[str, object]:
    """A chunk with one candidate."""
    return {"candidates": [{"content": {"parts": list(parts)}, **candidate}], "modelVersion": "m"}


def test_parts() -> None:
    """Calls, text, thoughts; ids only where they are."""
    said = read(
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
    whole = Fragment(type="functionCall", phase=Phase.CLOSE)
    assert said.fragments == (whole._replace(name="f", arguments='{"a":1}'), whole._replace(name="g", id="x"))
    assert (said.text, said.finishes, said.model) == ("hi", (Finish(0, "STOP"),), "m")


@pytest.mark.parametrize(
    ("said", "reason"),
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
def test_a_finish_reason_may_be_the_number_of_its_name(said: object, reason: str) -> None:
    """Gateways that print protocol buffers their own way; 0 is none."""
    assert read(frame(chunk({"text": "hi"}, finishReason=said))).finishes == ((Finish(0, reason),) if reason else ())


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
    """Its messages count tokens in the same words."""
    assert not GEMINI.recognise("", message)
    assert GEMINI.recognise("", {"usageMetadata": {"totalTokenCount": 3}, "modelVersion": "gemini"})


def test_partial_arguments() -> None:
    """`willContinue` announces more; the last piece closes."""
    begin = read(frame(chunk({"functionCall": {"name": "f", "willContinue": True}}))).fragments
    assert [(one.phase, one.name) for one in begin] == [(Phase.OPEN, "f")]
    patch = {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}]}
    more = read(frame(chunk({"functionCall": patch | {"willContinue": True}}))).fragments
    assert [(one.phase, one.arguments) for one in more] == [(Phase.MORE, '[{"jsonPath":"$.a","stringValue":"x"}]')]
    last = read(frame(chunk({"functionCall": patch}))).fragments
    assert [one.phase for one in last] == [Phase.MORE, Phase.CLOSE]
    assert read(frame(chunk({"functionCall": {}}))).fragments[0].arguments is ABSENT


def test_arguments_as_text_are_not_as_wanted() -> None:
    """Gemini's arguments are an object; a string there is out of form."""
    (fragment,) = read(frame(chunk({"functionCall": {"name": "f", "args": "{}"}}))).fragments
    assert (fragment.arguments, fragment.well_formed) == ("{}", False)


def test_wrappers_and_gaps() -> None:
    """Code Assist wraps in `response`, an array stream in a list; content may be missing."""
    assert read(frame({"response": chunk({"text": "hi"})})).text == "hi"
    assert read(frame([chunk({"text": "hi"})])).text == "hi"
    said = read(frame({"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}))
    assert (said.finishes, said.fragments) == ((Finish(0, "MALFORMED_FUNCTION_CALL"),), ())
    assert read(frame({"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}})).error == "503: busy"


def test_answer_ends() -> None:
    """A whole answer is its own end."""
    assert GEMINI.read_response(chunk({"functionCall": {"name": "f", "args": {}}})).end
