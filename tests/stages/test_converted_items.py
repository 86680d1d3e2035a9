"""Function calls that clients have as those of custom tools: what of them is remembered."""

from __future__ import annotations

from toolstream_core.stages.response_ids import MAX_TEXT, Custom, Functions

HERE, THERE = "https://a.example:443/v1/responses", "https://b.example:443/v1/responses"
TOLD = Custom("call_1", "apply_patch", "a", "resp_1")


def test_conversations_under_the_same_ids_are_told_apart() -> None:
    """By the text; and upstreams are."""
    told = Functions()
    told.remember(TOLD, '{"input": "a"}', HERE)
    told.remember(TOLD._replace(text="b", response="resp_2"), '{"patch":"b"}', HERE)
    assert told.arguments(TOLD._replace(response=""), HERE) == '{"input": "a"}'
    assert told.arguments(TOLD._replace(text="b"), f"{HERE}/compact") == '{"patch":"b"}'
    assert told.arguments(TOLD, THERE) is None
    assert told.arguments(TOLD._replace(text="c"), HERE) is None
    assert told.arguments(Custom("call_1a", "pply_patch", "a"), HERE) is None


def test_a_call_that_the_server_keeps_is_known_by_its_response() -> None:
    """A response without an id keeps none."""
    told = Functions()
    told.remember(TOLD, "a", HERE)
    told.remember(TOLD._replace(call_id="call_2", response=""), "a", HERE)
    assert told.kept("resp_1", "call_1", HERE)
    assert not told.kept("resp_1", "call_1", THERE)
    assert not told.kept("resp_2", "call_1", HERE)
    assert not told.kept("", "call_2", HERE)


def test_the_oldest_are_forgotten_first() -> None:
    """By the size of all that is remembered."""
    told = Functions()
    half = "x" * (MAX_TEXT // 2)
    for name in ("a", "a", "b"):
        told.remember(Custom("", name, "", name), half, HERE)
    assert len(told) == 1
    assert told.arguments(Custom("", "b", ""), HERE) == half
    assert not told.kept("a", "", HERE)
