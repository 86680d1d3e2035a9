"""The resolver of Chat Completions."""

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

STREAMS = {
    "new index: a new call": (
        [delta('{"x":1}', 0, "a", "f"), delta('{"y":2}', 1, "b", "g")],
        [F, G],
    ),
    "new index, no id, no name, an open call without an index: that call": (
        [delta("", ABSENT, "a", "f"), delta('{"x"', 0), delta(":1}", 0)],
        [F],
    ),
    "new index, no id, no name, two open calls without an index: the call at that position": (
        [delta("", ABSENT, "a", "f"), delta("", ABSENT, "b", "g"), delta('{"x":1}', 0), delta('{"y":2}', 1)],
        [F, G],
    ),
    "known index, known id, a name in two parts, arguments with the second": (
        [delta("", 0, "a", "f"), delta('{"x":1}', 0, "a", "_all")],
        [("a", "f_all", '{"x":1}')],
    ),
    "known index, no id: the newest call of that index": (
        [delta("", 0, "a", "f"), delta('{"x"', 0), delta(":", 0, None), delta("1", 0, ""), delta("}", 0, "null")],
        [F],
    ),
    "known index, no id, another name and other arguments after complete arguments: a new call": (
        [delta('{"x":1}', 0, name="f"), delta('{"y":2}', 0, name="g")],
        [("", "f", '{"x":1}'), ("", "g", '{"y":2}')],
    ),
    "known index, no id, the same name and other arguments after complete arguments: a new call": (
        [delta('{"x":1}', 0, name="f"), delta('{"y":2}', 0, name="f")],
        [("", "f", '{"x":1}'), ("", "f", '{"y":2}')],
    ),
    "known index, no id, another name after complete arguments: a new call": (
        [delta('{"x":1}', 0, name="f"), delta("", 0, name="g"), delta('{"y":2}', 0)],
        [("", "f", '{"x":1}'), ("", "g", '{"y":2}')],
    ),
    "known index, known id, repeated header: that call": (
        [delta("", 0, "a", "f"), delta('{"x"', 0, "a", "f"), delta(":1}", 0, "a", "f")],
        [F],
    ),
    "known index, known id, two interleaved calls of one index: that call": (
        [delta('{"x"', 0, "a", "f"), delta('{"y"', 0, "b", "g"), delta(":1}", 0, "a"), delta(":2}", 0, "b")],
        [F, G],
    ),
    "known index, known id, another name after complete arguments: a new call": (
        [delta('{"x":1}', 0, "a", "f"), delta("", 0, "a", "g"), delta('{"y":2}', 0, "a")],
        [F, ("a", "g", '{"y":2}')],
    ),
    "known index, known id, a longer name after complete arguments: that call": (
        [delta('{"x":1}', 0, "a", "f"), delta("", 0, "a", "f_and_more")],
        [("a", "f_and_more", '{"x":1}')],
    ),
    "known index, other id, a name: a new call": (
        [delta("", 0, "a", "f"), delta('{"x":1}', 0), delta("", 0, "b", "g"), delta('{"y":2}', 0)],
        [F, G],
    ),
    "known index, other id, no name, other arguments after complete arguments: a new call": (
        [delta('{"x":1}', 0, "a", "f"), delta('{"y":2}', 0, "b")],
        [F, ("b", "", '{"y":2}')],
    ),
    "known index, other id, an empty fragment after complete arguments: the same call": (
        [delta('{"x":1}', 0, "a", "f"), delta("", 0, "b")],
        [F],
    ),
    "known index, other id, no name, incomplete arguments: the same call, its id changes": (
        [delta("", 0, "a", "f"), delta('{"x"', 0, "i2"), delta(":1}", 0, "i3")],
        [F],
    ),
    "known index, other id, the open call's name inside its arguments: the same call": (
        [delta('{"x"', 0, "a", "f"), delta(":1}", 0, "i2", "f")],
        [F],
    ),
    "known index, other id, the open call's name, another object: a new call": (
        [delta('{"x"', 0, "a", "f"), delta('{"y":2}', 0, "b", "f")],
        [("a", "f", '{"x"'), ("b", "f", '{"y":2}')],
    ),
    "known index, late id: the same call": (
        [delta("", 0, name="f"), delta("", 0, "a"), delta('{"x":1}', 0)],
        [F],
    ),
    "no index, known id: that call": (
        [delta('{"x"', ABSENT, "a", "f"), delta('{"y"', ABSENT, "b", "g"), delta(":1}", ABSENT, "a")],
        [F, ("b", "g", '{"y"')],
    ),
    "no index, known id, another name after complete arguments: a new call": (
        [delta('{"x":1}', ABSENT, "a", "f"), delta('{"y":2}', ABSENT, "a", "g")],
        [F, ("a", "g", '{"y":2}')],
    ),
    "no index, new id, a name: a new call": (
        [delta('{"x":1}', ABSENT, "a", "f"), delta('{"y":2}', None, "b", "g")],
        [F, G],
    ),
    "no index, new id, no open call: a new call": (
        [delta('{"x":1}', ABSENT, "a", "f"), delta('{"y":2}', ABSENT, "b")],
        [F, ("b", "", '{"y":2}')],
    ),
    "no index, new id, no name, incomplete arguments: the last call, its id changes": (
        [delta('{"x"', ABSENT, "a", "f"), delta(":1}", ABSENT, "i2")],
        [F],
    ),
    "no index, no id, a name: a new call": (
        [delta('{"x":1}', ABSENT, name="f"), delta('{"y":2}', ABSENT, name="g")],
        [("", "f", '{"x":1}'), ("", "g", '{"y":2}')],
    ),
    "no index, no id, the open call's name: the same call": (
        [delta('{"x"', ABSENT, name="f"), delta(":1}", ABSENT, name="f")],
        [("", "f", '{"x":1}')],
    ),
    "no index, no id, the name of a complete call: a new call": (
        [delta('{"x":1}', ABSENT, name="f"), delta('{"y":2}', ABSENT, name="f")],
        [("", "f", '{"x":1}'), ("", "f", '{"y":2}')],
    ),
    "no index, no id, no name: the last changed call": (
        [delta("", ABSENT, "a", "f"), delta('{"x"', ABSENT), delta(":1}", ABSENT)],
        [F],
    ),
    "no index, no id, no name, one open call without an index: that call": (
        [
            *(delta("", 0, "a", "f"), delta("", ABSENT, "b", "g"), delta('{"x"', 0), delta('{"y"', ABSENT)),
            *(delta(":1}", 0), delta(":2}", ABSENT)),
        ],
        [F, G],
    ),
    "new index, id of another index, equal arguments: one repeated call": (
        [delta('{"x":1}', 0, "a", "f"), delta('{"x": 1}', 1, "a", "f")],
        [F],
    ),
    "new index, id of another index, other arguments: two calls that share an id": (
        [delta('{"x":1}', 0, "a", "f"), delta('{"y":2}', 1, "a", "g")],
        [F, ("a", "g", '{"y":2}')],
    ),
    "new index, id of another index, no name, incomplete arguments: that call, its index changes": (
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
    "an entry without content is no call": (
        [delta(index=0, id="", type="function"), delta('{"y":2}', 1, "b", "g")],
        [G],
    ),
    "a name in parts before the arguments": (
        [delta("", 0, "a", "get_"), delta(index=0, name="weather"), delta('{"x":1}', 0)],
        [("a", "get_weather", '{"x":1}')],
    ),
    "a longer name replaces its beginning": (
        [delta("", 0, "a", "get_"), delta("", 0, name="get_weather"), delta('{"x":1}', 0)],
        [("a", "get_weather", '{"x":1}')],
    ),
    "a name inside the arguments": (
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
    "the final message repeats the streamed calls": (
        [
            delta('{"x":1}', 0, "a", "f"),
            Fragment(id="other", name="f", arguments='{"x":1}', phase=Phase.WHOLE),
        ],
        [F],
    ),
    "the final message completes incomplete arguments": (
        [delta('{"x"', 0, "a", "f"), Fragment(id="a", name="f", arguments='{"x":1}', phase=Phase.WHOLE)],
        [F],
    ),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_fragments_are_assigned_to_calls(stream: str) -> None:
    """The fragments of each stream are resolved to the intended calls."""
    fragments, calls = STREAMS[stream]
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
    """A call is marked as guessed if a fragment without identity was added to it while several calls were open."""
    calls = resolved(ChatCalls(), [delta("{", ABSENT, "a", "f"), delta("{", ABSENT, "b", "g"), delta("}", ABSENT)])
    assert [(call.arguments, call.guessed) for call in calls] == [("{", False), ("{}", True)]


def test_empty_arguments_are_incomplete_if_the_tool_requires_some() -> None:
    """Empty arguments are incomplete for a tool with required parameters, and `{}` for another tool."""
    calls = resolved(
        ChatCalls({"f": Parameters(required=True), "g": Parameters()}), [delta("", 0, "a", "f"), delta("", 1, "b", "g")]
    )
    assert [(call.arguments, call.complete) for call in calls] == [("", False), ("{}", True)]


def test_names_without_index_and_id_are_joined_to_a_tool_name() -> None:
    """Two consecutive names are joined if only the joined name is a tool."""
    fragments = [delta("", ABSENT, name="get_"), delta("", ABSENT, name="weather"), delta('{"x":1}', ABSENT)]
    assert call_tuples(resolved(ChatCalls({"get_weather": Parameters(required=True)}), fragments)) == [
        ("", "get_weather", '{"x":1}')
    ]
    assert len(resolved(ChatCalls(), fragments)) == 2


def test_a_call_has_its_event_numbers() -> None:
    """A call has the numbers of its events, including those of a repetition."""
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
def test_valid_encodings_are_resolved(intended: list[tuple[str, str, dict[str, int]]], data: st.DataObject) -> None:
    """Fragments, complete calls, interleaved calls and repeated ids resolve to the intended calls."""
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
    found = {(call.id, call.name): json.loads(call.arguments) for call in resolved(ChatCalls(), fragments)}
    assert found == {(id_, name): value for id_, name, value in intended}


def test_an_empty_entry_has_no_position() -> None:
    """An empty entry has no position in the list of calls, by which findings refer to a call."""
    calls = ChatCalls()
    entries = [delta("", 0), delta("", 1, "c1", "f"), delta("", 2, "c2", "g")]
    empty, first, second = (calls.take(entry, event) for event, entry in enumerate(entries))
    assert empty is not None
    assert first is not None
    assert second is not None
    assert (first.position, second.position) == (0, 1)
    assert [(call.position, call.id) for call in calls.resolved()] == [(0, "c1"), (1, "c2")]
