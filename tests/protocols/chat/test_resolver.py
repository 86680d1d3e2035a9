"""The boundary table of Chat Completions: every row by name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.calls.fragments import call_tuples, delta, resolved
from toolstream_core.calls import Parameters
from toolstream_core.model import ABSENT, Fragment, Phase
from toolstream_core.protocols.chat.resolver import ChatCalls

F = ("a", "f", '{"x":1}')
G = ("b", "g", '{"y":2}')

DEFECTS = {
    "index new: a new call": (
        [delta('{"x":1}', 0, "a", "f"), delta('{"y":2}', 1, "b", "g")],
        [F, G],
    ),
    "index new, id nothing, no name, a call without an index unfinished: that call": (
        [delta("", ABSENT, "a", "f"), delta('{"x"', 0), delta(":1}", 0)],
        [F],
    ),
    "index new, id nothing, no name, two calls without an index unfinished: the one of that place": (
        [delta("", ABSENT, "a", "f"), delta("", ABSENT, "b", "g"), delta('{"x":1}', 0), delta('{"y":2}', 1)],
        [F, G],
    ),
    "index known, id known: a name that comes in two parts, arguments with the second": (
        [delta("", 0, "a", "f"), delta('{"x":1}', 0, "a", "_all")],
        [("a", "f_all", '{"x":1}')],
    ),
    "index known, id nothing: the newest of that index": (
        [delta("", 0, "a", "f"), delta('{"x"', 0), delta(":", 0, None), delta("1", 0, ""), delta("}", 0, "null")],
        [F],
    ),
    "index known, id nothing, a name after whole arguments, fresh ones: a new call": (
        [delta('{"x":1}', 0, name="f"), delta('{"y":2}', 0, name="g")],
        [("", "f", '{"x":1}'), ("", "g", '{"y":2}')],
    ),
    "index known, id nothing, the same name after whole arguments, fresh ones: a new call": (
        [delta('{"x":1}', 0, name="f"), delta('{"y":2}', 0, name="f")],
        [("", "f", '{"x":1}'), ("", "f", '{"y":2}')],
    ),
    "index known, id nothing, another name after whole arguments: a new call": (
        [delta('{"x":1}', 0, name="f"), delta("", 0, name="g"), delta('{"y":2}', 0)],
        [("", "f", '{"x":1}'), ("", "g", '{"y":2}')],
    ),
    "index known, id known: that call, header repeated": (
        [delta("", 0, "a", "f"), delta('{"x"', 0, "a", "f"), delta(":1}", 0, "a", "f")],
        [F],
    ),
    "index known, id known: that call, two of one index interleaved": (
        [delta('{"x"', 0, "a", "f"), delta('{"y"', 0, "b", "g"), delta(":1}", 0, "a"), delta(":2}", 0, "b")],
        [F, G],
    ),
    "index known, id known, another name after whole arguments: a new call": (
        [delta('{"x":1}', 0, "a", "f"), delta("", 0, "a", "g"), delta('{"y":2}', 0, "a")],
        [F, ("a", "g", '{"y":2}')],
    ),
    "index known, id known, the name longer after whole arguments: that call": (
        [delta('{"x":1}', 0, "a", "f"), delta("", 0, "a", "f_and_more")],
        [("a", "f_and_more", '{"x":1}')],
    ),
    "index known, other id, a name: a new call": (
        [delta("", 0, "a", "f"), delta('{"x":1}', 0), delta("", 0, "b", "g"), delta('{"y":2}', 0)],
        [F, G],
    ),
    "index known, other id, no name, fresh arguments after whole ones: a new call": (
        [delta('{"x":1}', 0, "a", "f"), delta('{"y":2}', 0, "b")],
        [F, ("b", "", '{"y":2}')],
    ),
    "index known, other id, an empty fragment after whole arguments: the same call": (
        [delta('{"x":1}', 0, "a", "f"), delta("", 0, "b")],
        [F],
    ),
    "index known, other id, no name, arguments unfinished: the same call, its id churns": (
        [delta("", 0, "a", "f"), delta('{"x"', 0, "i2"), delta(":1}", 0, "i3")],
        [F],
    ),
    "index known, other id, the open call's name amid its arguments: the same call": (
        [delta('{"x"', 0, "a", "f"), delta(":1}", 0, "i2", "f")],
        [F],
    ),
    "index known, other id, the open call's name, arguments that begin anew: a new call": (
        [delta('{"x"', 0, "a", "f"), delta('{"y":2}', 0, "b", "f")],
        [("a", "f", '{"x"'), ("b", "f", '{"y":2}')],
    ),
    "index known, id late: the same call": (
        [delta("", 0, name="f"), delta("", 0, "a"), delta('{"x":1}', 0)],
        [F],
    ),
    "index nothing, id known: that call": (
        [delta('{"x"', ABSENT, "a", "f"), delta('{"y"', ABSENT, "b", "g"), delta(":1}", ABSENT, "a")],
        [F, ("b", "g", '{"y"')],
    ),
    "index nothing, id known, another name after whole arguments: a new call": (
        [delta('{"x":1}', ABSENT, "a", "f"), delta('{"y":2}', ABSENT, "a", "g")],
        [F, ("a", "g", '{"y":2}')],
    ),
    "index nothing, id new, a name: a new call": (
        [delta('{"x":1}', ABSENT, "a", "f"), delta('{"y":2}', None, "b", "g")],
        [F, G],
    ),
    "index nothing, id new, nothing open: a new call": (
        [delta('{"x":1}', ABSENT, "a", "f"), delta('{"y":2}', ABSENT, "b")],
        [F, ("b", "", '{"y":2}')],
    ),
    "index nothing, id new, no name, arguments unfinished: the last, its id churns": (
        [delta('{"x"', ABSENT, "a", "f"), delta(":1}", ABSENT, "i2")],
        [F],
    ),
    "index nothing, id nothing, a name: a new call": (
        [delta('{"x":1}', ABSENT, name="f"), delta('{"y":2}', ABSENT, name="g")],
        [("", "f", '{"x":1}'), ("", "g", '{"y":2}')],
    ),
    "index nothing, id nothing, the open call's name: the same call": (
        [delta('{"x"', ABSENT, name="f"), delta(":1}", ABSENT, name="f")],
        [("", "f", '{"x":1}')],
    ),
    "index nothing, id nothing, the name of a call that is whole: a new call": (
        [delta('{"x":1}', ABSENT, name="f"), delta('{"y":2}', ABSENT, name="f")],
        [("", "f", '{"x":1}'), ("", "f", '{"y":2}')],
    ),
    "index nothing, id nothing, no name: the last touched": (
        [delta("", ABSENT, "a", "f"), delta('{"x"', ABSENT), delta(":1}", ABSENT)],
        [F],
    ),
    "index nothing, id nothing, no name, the only call that opened without an index unfinished: that call": (
        [
            *(delta("", 0, "a", "f"), delta("", ABSENT, "b", "g"), delta('{"x"', 0), delta('{"y"', ABSENT)),
            *(delta(":1}", 0), delta(":2}", ABSENT)),
        ],
        [F, G],
    ),
    "index new, id of another index, equal when whole: one call said twice": (
        [delta('{"x":1}', 0, "a", "f"), delta('{"x": 1}', 1, "a", "f")],
        [F],
    ),
    "index new, id of another index, other arguments: two calls that share an id": (
        [delta('{"x":1}', 0, "a", "f"), delta('{"y":2}', 1, "a", "g")],
        [F, ("a", "g", '{"y":2}')],
    ),
    "index new, id of another index, no name, unfinished: that call, its index churns": (
        [delta('{"x"', 0, "a", "f"), delta(":1}", 1, "a")],
        [F],
    ),
    "interleaved by index": (
        [delta('{"x"', 0, "a", "f"), delta('{"y"', 1, "b", "g"), delta(":1}", 0), delta(":2}", 1)],
        [F, G],
    ),
    "indexes from 1, with a gap, negative": (
        [delta('{"x":1}', 1, "a", "f"), delta('{"y":2}', -1, "b", "g"), delta("", 7, "c", "h")],
        [F, G, ("c", "h", "{}")],
    ),
    "an entry that says nothing is no call": (
        [delta(index=0, id="", type="function"), delta('{"y":2}', 1, "b", "g")],
        [G],
    ),
    "a name in pieces before the arguments": (
        [delta("", 0, "a", "get_"), delta(index=0, name="weather"), delta('{"x":1}', 0)],
        [("a", "get_weather", '{"x":1}')],
    ),
    "a name that begins with what is there replaces it": (
        [delta("", 0, "a", "get_"), delta("", 0, name="get_weather"), delta('{"x":1}', 0)],
        [("a", "get_weather", '{"x":1}')],
    ),
    "a name after the arguments began": (
        [delta('{"x"', 0, "a"), delta(":1}", 0, name="f")],
        [F],
    ),
    "an empty name does not overwrite": (
        [delta("", 0, "a", "f"), delta('{"x":1}', 0, "", "")],
        [F],
    ),
    "only in the final message": (
        [
            Fragment(id="a", name="f", arguments='{"x":1}', phase=Phase.WHOLE),
            Fragment(id="b", name="g", arguments='{"y":2}', phase=Phase.WHOLE),
        ],
        [F, G],
    ),
    "the final message says the streamed calls again": (
        [
            delta('{"x":1}', 0, "a", "f"),
            Fragment(id="other", name="f", arguments='{"x":1}', phase=Phase.WHOLE),
        ],
        [F],
    ),
    "the final message fills in what was not whole": (
        [delta('{"x"', 0, "a", "f"), Fragment(id="a", name="f", arguments='{"x":1}', phase=Phase.WHOLE)],
        [F],
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_boundary(defect: str) -> None:
    """Each row of the table at the top of the module, and each way in which names come."""
    fragments, calls = DEFECTS[defect]
    assert call_tuples(resolved(ChatCalls(), fragments)) == calls


def test_choices_are_kept_apart() -> None:
    """The same index and id in two choices are two calls."""
    fragments = [
        delta('{"x"', 0, "a", "f"),
        delta('{"y"', 0, "a", "g", choice=1),
        delta(":1}", 0),
        delta(":2}", 0, choice=1),
    ]
    calls = resolved(ChatCalls(), fragments)
    assert [(call.choice, call.position, call.arguments) for call in calls] == [(0, 0, '{"x":1}'), (1, 0, '{"y":2}')]


def test_a_guess_is_marked() -> None:
    """A fragment that says nothing of who it belongs to, with several calls open, is a guess."""
    calls = resolved(ChatCalls(), [delta("{", ABSENT, "a", "f"), delta("{", ABSENT, "b", "g"), delta("}", ABSENT)])
    assert [(call.arguments, call.guessed) for call in calls] == [("{", False), ("{}", True)]


def test_the_requests_tools_decide_whether_nothing_is_lost() -> None:
    """No arguments for a tool that requires some are lost, not `{}`."""
    calls = resolved(
        ChatCalls({"f": Parameters(required=True), "g": Parameters()}), [delta("", 0, "a", "f"), delta("", 1, "b", "g")]
    )
    assert [(call.arguments, call.complete) for call in calls] == [("", False), ("{}", True)]


def test_the_requests_tools_join_a_name_without_index_or_id() -> None:
    """Two names in a row are one where only the two together are a tool."""
    pieces = [delta("", ABSENT, name="get_"), delta("", ABSENT, name="weather"), delta('{"x":1}', ABSENT)]
    assert call_tuples(resolved(ChatCalls({"get_weather": Parameters(required=True)}), pieces)) == [
        ("", "get_weather", '{"x":1}')
    ]
    assert len(resolved(ChatCalls(), pieces)) == 2


def test_events_are_kept() -> None:
    """A call knows the events that said it, those of a repetition too."""
    fragments = [delta('{"x"', 0, "a", "f"), delta("{", 1, "b", "g"), delta(":1}", 0), delta('{"x":1}', 2, "a", "f")]
    first, second = resolved(ChatCalls(), fragments)
    assert (list(first.events), list(second.events)) == ([0, 2, 3], [1])


IDS = st.text("abcdef0123456789_", min_size=4, max_size=12)
INTENDED = st.lists(
    st.tuples(IDS, st.sampled_from(["f", "get_weather", "ls"]), st.dictionaries(IDS, st.integers(), min_size=1)),
    min_size=1,
    max_size=4,
    unique_by=lambda call: call[0],
)


@given(INTENDED, st.data())
def test_valid_ways_mean_the_same(intended: list[tuple[str, str, dict[str, int]]], data: st.DataObject) -> None:
    """Header and fragments, whole calls, interleaved calls, repeated ids: all say what was intended."""
    queues = []
    for index, (id_, name, value) in enumerate(intended):
        text = json.dumps(value)
        cut = data.draw(st.integers(0, len(text)))
        repeated = data.draw(st.sampled_from([ABSENT, None, "", id_]))
        header = data.draw(st.booleans())
        first = delta("" if header else text[:cut], index, id_, name)
        queues.append(
            [first, *([delta(text[:cut], index, repeated)] if header else []), delta(text[cut:], index, repeated)]
        )
    fragments = []
    while queues:
        queue = data.draw(st.sampled_from(queues)) if data.draw(st.booleans()) else queues[0]
        fragments.append(queue.pop(0))
        queues = [queue for queue in queues if queue]
    got = {(call.id, call.name): json.loads(call.arguments) for call in resolved(ChatCalls(), fragments)}
    assert got == {(id_, name): value for id_, name, value in intended}


def test_an_empty_entry_takes_no_number() -> None:
    """Findings name a call by its number in the list of calls, which has no empty ones."""
    calls = ChatCalls()
    entries = [delta("", 0), delta("", 1, "c1", "f"), delta("", 2, "c2", "g")]
    empty, first, second = (calls.take(entry, event) for event, entry in enumerate(entries))
    assert empty is not None
    assert first is not None
    assert second is not None
    assert (first.position, second.position) == (0, 1)
    assert [(call.position, call.id) for call in calls.resolved()] == [(0, "c1"), (1, "c2")]
