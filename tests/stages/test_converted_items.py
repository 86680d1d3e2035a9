"""The memory of function calls that were converted to custom calls for the client."""

from __future__ import annotations

from toolstream_core.stages.response_ids import MAX_TEXT, Custom, Functions

HERE, THERE = "https://a.example:443/v1/responses", "https://b.example:443/v1/responses"
CALL = Custom("call_1", "apply_patch", "a", "resp_1")


def test_conversations_with_the_same_ids_are_kept_apart() -> None:
    """Calls with the same ids are identified by their text and upstream."""
    functions = Functions()
    functions.remember(CALL, '{"input": "a"}', HERE)
    functions.remember(CALL._replace(text="b", response="resp_2"), '{"patch":"b"}', HERE)
    assert functions.arguments(CALL._replace(response=""), HERE) == '{"input": "a"}'
    assert functions.arguments(CALL._replace(text="b"), f"{HERE}/compact") == '{"patch":"b"}'
    assert functions.arguments(CALL, THERE) is None
    assert functions.arguments(CALL._replace(text="c"), HERE) is None
    assert functions.arguments(Custom("call_1a", "pply_patch", "a"), HERE) is None


def test_a_stored_call_is_identified_by_its_response() -> None:
    """A call that the server stores is identified by its response id; a response without an id stores none."""
    functions = Functions()
    functions.remember(CALL, "a", HERE)
    functions.remember(CALL._replace(call_id="call_2", response=""), "a", HERE)
    assert functions.kept("resp_1", "call_1", HERE)
    assert not functions.kept("resp_1", "call_1", THERE)
    assert not functions.kept("resp_2", "call_1", HERE)
    assert not functions.kept("", "call_2", HERE)


def test_the_oldest_are_forgotten_first() -> None:
    """The oldest calls are forgotten first, when the remembered text exceeds a limit."""
    functions = Functions()
    text = "x" * (MAX_TEXT // 2)
    for name in ("a", "a", "b"):
        functions.remember(Custom("", name, "", name), text, HERE)
    assert len(functions) == 1
    assert functions.arguments(Custom("", "b", ""), HERE) == text
    assert not functions.kept("a", "", HERE)
