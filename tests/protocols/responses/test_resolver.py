"""The resolver of Responses, which uses call_id, then item_id, then the open item of the index."""

from __future__ import annotations

import pytest

from tests.calls.fragments import call_tuples, resolved
from toolstream_core.model import ABSENT, Fragment, Kind, Phase, Seen
from toolstream_core.protocols.responses.resolver import ResponsesCalls

OPEN, MORE, ARGUMENTS, CLOSE, WHOLE = Phase.OPEN, Phase.MORE, Phase.ARGUMENTS, Phase.CLOSE, Phase.WHOLE
F, G = ("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')


def item(
    phase: Phase, call: Seen[str], item_id: Seen[str], name: Seen[str], arguments: Seen[str], at: Seen[int] = 0
) -> Fragment:
    """Return the fragment of an output item's event."""
    return Fragment(index=at, id=call, item_id=item_id, name=name, arguments=arguments, phase=phase)


def delta(
    arguments: str, item_id: Seen[str] = ABSENT, at: Seen[int] = 0, phase: Phase = MORE, call: Seen[str] = ABSENT
) -> Fragment:
    """Return a fragment of arguments."""
    return Fragment(index=at, id=call, item_id=item_id, arguments=arguments, phase=phase)


FULL = [
    item(OPEN, "a", "fc_1", "f", ABSENT),
    delta('{"x"', "fc_1"),
    delta(":1}", "fc_1"),
    delta('{"x":1}', "fc_1", phase=ARGUMENTS),
    item(CLOSE, "a", "fc_1", "f", '{"x":1}'),
    item(WHOLE, "a", "fc_1", "f", '{"x":1}'),
]

STREAMS = {
    "all events of a call": (FULL, [F]),
    "other arguments in the closed item, encoded twice": (
        [item(OPEN, "a", "fc_1", "f", ABSENT), delta('{"":1}', "fc_1"), item(CLOSE, "a", "fc_1", "f", '"{\\"x\\":1}"')],
        [F],
    ),
    "two interleaved calls": (
        [
            item(OPEN, "a", "fc_1", "f", ABSENT),
            item(OPEN, "b", "fc_2", "g", ABSENT, 1),
            delta('{"x"', "fc_1"),
            delta('{"y"', "fc_2", 1),
            delta(":1}", "fc_1"),
            delta(":2}", "fc_2", 1),
        ],
        [F, G],
    ),
    "a new item id in every event": (
        [
            item(OPEN, "a", "r1", "f", ABSENT),
            delta('{"x"', "r2"),
            delta(":1}", "r3"),
            item(CLOSE, "a", "r4", "f", '{"x":1}'),
            item(WHOLE, "a", "r5", "f", '{"x":1}'),
        ],
        [F],
    ),
    "no output_index": (
        [item(OPEN, "a", "fc_1", "f", ABSENT, ABSENT), delta('{"x":1}', "fc_1", ABSENT), delta("", ABSENT, ABSENT)],
        [F],
    ),
    "output_index 0 for all": (
        [
            item(OPEN, "a", "fc_1", "f", ABSENT),
            delta('{"x":1}', "fc_1"),
            item(CLOSE, "a", "fc_1", "f", '{"x":1}'),
            item(OPEN, "b", "fc_2", "g", ABSENT),
            delta('{"y":2}', "fc_2"),
            item(CLOSE, "b", "fc_2", "g", '{"y":2}'),
        ],
        [F, G],
    ),
    "another call_id at the end": (
        [*FULL[:4], item(CLOSE, "other", "fc_1", "f", '{"x":1}'), item(WHOLE, "third", "fc_9", "f", '{"x":1}')],
        [F],
    ),
    "no call_id": ([item(OPEN, ABSENT, "fc_1", "f", ABSENT), delta('{"x":1}', "fc_1")], [("", "f", '{"x":1}')]),
    "deltas without an added item": ([delta('{"x"', "fc_1"), delta(":1}", "fc_1")], [("", "", '{"x":1}')]),
    "arguments only in done": ([FULL[0], FULL[3]], [F]),
    "only the closed item": ([FULL[4]], [F]),
    "only the terminal event": ([FULL[5], item(WHOLE, "b", "fc_2", "g", '{"y":2}', 1)], [F, G]),
    "without the last fragment": ([FULL[0], FULL[1], FULL[3]], [F]),
    "without the name at the end": ([*FULL[:4], item(CLOSE, "a", "fc_1", "", '{"x":1}')], [F]),
    "deltas without an added item, index and item id": (
        [delta('{"x"', at=ABSENT), delta(":1}", at=ABSENT)],
        [("", "", '{"x":1}')],
    ),
    "an index only in the deltas, a new item id in every event": (
        [item(OPEN, "a", "r1", "f", ABSENT, ABSENT), delta('{"x"', "r2"), delta(":1}", "r3")],
        [F],
    ),
    "another call_id for the same item at the end": ([*FULL[:4], item(WHOLE, "third", "fc_1", "f", '{"x":1}')], [F]),
    "a truncated call completed at the end": ([*FULL[:2], item(WHOLE, "third", "fc_9", "f", '{"x":1}')], [F]),
    "one item id for all calls": (
        [
            item(OPEN, "a", "fc", "f", ABSENT),
            delta('{"x":1}', "fc"),
            item(CLOSE, "a", "fc", "f", '{"x":1}'),
            item(CLOSE, "b", "fc", "g", '{"y":2}'),
        ],
        [F, G],
    ),
    "one item id for all calls, with deltas": (
        [
            item(OPEN, "a", "fc", "f", ABSENT),
            delta('{"x":1}', "fc"),
            item(OPEN, "b", "fc", "g", ABSENT),
            delta('{"y":2}', "fc"),
        ],
        [F, G],
    ),
    "arguments in the added item, repeated by deltas": (
        [item(OPEN, "a", "fc_1", "f", '{"x":1}'), delta('{"x"', "fc_1"), delta(":1}", "fc_1")],
        [F],
    ),
    "arguments in the added item, and truncated deltas": (
        [item(OPEN, "a", "fc_1", "f", '{"x":1}'), delta('{"x"', "fc_1")],
        [("a", "f", '{"x"')],
    ),
    "another call_id in the deltas": (
        [FULL[0], delta('{"x"', "fc_1", call="fc_1"), delta(":1}", "fc_1", call="fc_1")],
        [F],
    ),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_fragments_are_assigned_to_calls(stream: str) -> None:
    """The fragments of each stream are resolved to the intended calls."""
    fragments, calls = STREAMS[stream]
    assert call_tuples(resolved(ResponsesCalls(), fragments)) == calls


def test_custom_and_server_calls_are_complete_when_closed() -> None:
    """A custom or server call is complete when it is closed."""
    custom = Fragment(index=0, id="a", name="apply_patch", kind=Kind.CUSTOM, phase=OPEN)
    server = Fragment(index=1, id="b", name="web_search", kind=Kind.SERVER, phase=OPEN)
    calls = ResponsesCalls()
    for number, fragment in enumerate(
        [
            custom,
            server,
            Fragment(index=0, arguments="*** Begin", kind=Kind.CUSTOM),
            Fragment(index=0, arguments=" Patch", kind=Kind.CUSTOM),
        ]
    ):
        calls.take(fragment, number)
    assert [(call.kind, call.arguments, call.complete) for call in calls.resolved()] == [
        (Kind.CUSTOM, "*** Begin Patch", False),
        (Kind.SERVER, "", False),
    ]
    calls.take(Fragment(index=0, id="a", arguments="*** Begin Patch", kind=Kind.CUSTOM, phase=CLOSE), 4)
    assert calls.resolved()[0].complete


def test_a_guess_is_marked() -> None:
    """A call is marked as guessed if it got a delta without item and index while two items were open."""
    fragments = [item(OPEN, "a", "1", "f", ABSENT), item(OPEN, "b", "2", "g", ABSENT, 1), delta("{}", at=ABSENT)]
    assert [call.guessed for call in resolved(ResponsesCalls(), fragments)] == [False, True]
