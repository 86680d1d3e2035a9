"""Calls as a plain client gathers them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.calls.plain_call import MAX_TEXT, Said
from toolstream_core.calls.plain_calls import MAX_CALLS, MAX_KEPT, PlainCalls, lacking
from toolstream_core.model import ABSENT, Call, EventContent, Fragment, Kind, Phase

if TYPE_CHECKING:
    from toolstream_core.model import Seen

OPENED = Fragment(index=0, name="f", phase=Phase.OPEN)
CLOSED = Fragment(index=0, phase=Phase.CLOSE)


def named(name: str, index: Seen[int] = 0, **more: Any) -> Fragment:
    """The first fragment of a call."""
    return Fragment(index=index, name=name)._replace(**more)


def part(text: str, index: Seen[int] = 0, **more: Any) -> Fragment:
    """A piece of its arguments."""
    return Fragment(index=index, arguments=text)._replace(**more)


def gathered(*fragments: Fragment, end: bool = False) -> PlainCalls:
    """Each in an event of its own."""
    calls = PlainCalls()
    for fragment in fragments:
        calls.take(EventContent((fragment,), end=end))
    return calls


@pytest.mark.parametrize(
    ("fragments", "whole"),
    [
        ((named("f"), part('{"a"'), part(":1}")), [("f", '{"a":1}')]),
        ((named("f"), part('{"a"')), []),
        ((part("{}"),), []),
        ((named("f"), part("[]")), []),
        ((named("f"), named("g", 1), part("{}", 1), part('{"a":1}')), [("f", '{"a":1}'), ("g", "{}")]),
        ((named("f"), part("{"), part("x", 1), part("}")), [("f", "{}")]),
        ((named("f"), part("{"), part("x", index=ABSENT), part("}")), [("f", "{}")]),
        ((OPENED, part("{}"), OPENED._replace(name="g"), part('{"a":1}')), [("f", "{}"), ("g", '{"a":1}')]),
        ((OPENED, part("{"), CLOSED._replace(arguments='{"a":1}')), [("f", '{"a":1}')]),
        ((named("f", choice=1), named("g"), part("{}", choice=1)), [("f", "{}")]),
        ((named("f"), part("{"), part(" " * MAX_TEXT), part("}")), []),
    ],
)
def test_what_a_client_has(fragments: tuple[Fragment, ...], whole: list[tuple[str, str]]) -> None:
    """By the index alone."""
    assert [(one.name, one.arguments) for one in gathered(*fragments).whole()] == whole


@pytest.mark.parametrize(
    ("fragments", "taken", "passed_over"),
    [
        ((OPENED._replace(arguments='{"a":1}'),), ['{"a":1}'], []),
        ((OPENED._replace(arguments='{"a":1}'), part('{"a":1}')), [], ['{"a":1}']),
        ((OPENED._replace(arguments='{"a":1}', well_formed=False),), [], []),
        ((named("f"), part("x", well_formed=False), part("{}")), [], ["{}"]),
        ((named("f"), part("{}", well_formed=False)), ["{}"], []),
    ],
)
def test_what_a_client_has_of_other_forms(
    fragments: tuple[Fragment, ...], taken: list[str], passed_over: list[str]
) -> None:
    """Some clients take what comes in another form than the protocol's, others pass over it."""
    calls = gathered(*fragments)
    assert [one.arguments for one in calls.whole(odd=True)] == taken
    assert [one.arguments for one in calls.whole(odd=False)] == passed_over


def test_a_place_is_left_to_what_else_begins_there() -> None:
    """What follows is none of the call's arguments."""
    calls = gathered(OPENED, part("{}"))
    calls.leave([0])
    calls.take(EventContent((part("}"),)))
    assert [one.arguments for one in calls.whole()] == ["{}"]


def read(*said: tuple[str, str]) -> list[Call]:
    """Whole calls as they were read."""
    return [Call(0, at, name=name, arguments=text, complete=True) for at, (name, text) in enumerate(said)]


CAME = (named("f"), part('{"a":1}'))
F = Said(0, "f", '{"a":1}')


@pytest.mark.parametrize(
    ("sent", "lost"),
    [
        ((named("f"), part('{"a":1}}')), [F]),
        ((), [F]),
        ((named("f"), part('{"a": 1}')), []),
        ((named("g", 7), part('{"a":1}', 7)), []),
        ((named("f"), part('{"a":2}')), []),
        ((named("g"), part('{"a":2}')), [F]),
        ((named("f"), part('{"b":2}')), [F]),
        ((named("f", kind=Kind.CUSTOM, arguments="a"),), []),
        ((named("f", kind=Kind.SERVER, arguments='{"a":1}'),), [F]),
    ],
)
def test_what_was_lost(sent: tuple[Fragment, ...], lost: list[Said]) -> None:
    """Unless it was sent in another form: `{"b":2}` is another call that was read."""
    calls = read(("f", '{"a":1}'), ("f", '{"b":2}'))
    assert lacking(gathered(*CAME), gathered(*sent), lambda: calls) == lost


def test_what_may_be_on_its_way_is_not_lost() -> None:
    """Its last event has not gone on."""
    came, calls = PlainCalls(), read(("f", '{"a":1}'))
    for number, fragment in enumerate(CAME):
        came.take(EventContent((fragment,)), number)
    assert lacking(came, gathered(), lambda: calls, {1}) == []
    assert lacking(came, gathered(), lambda: calls, {0}) == [F]


def test_what_was_not_read_is_not_lost() -> None:
    """A call by the index alone that nobody read so was a mistake of whoever sent it."""
    assert lacking(gathered(*CAME), gathered(), list) == []


def test_a_call_that_the_last_event_says_is_not_lost() -> None:
    """As `response.completed` does."""
    last = gathered(named("f", phase=Phase.WHOLE, arguments='{"a":1}'), end=True)
    assert lacking(gathered(*CAME), last, lambda: read(("f", '{"a":1}'))) == []


def test_a_call_that_was_closed_without_arguments_says_an_empty_object() -> None:
    """Clients take nothing for that."""
    came, closed = gathered(named("f"), part("{}")), gathered(OPENED, CLOSED)
    assert lacking(came, closed, lambda: read(("f", "{}"))) == []
    assert lacking(came, gathered(OPENED), lambda: read(("f", "{}"))) == [Said(0, "f", "{}")]


def test_a_copy_goes_its_own_way() -> None:
    """Texts that follow unread too."""
    calls = gathered(named("f"), part("{"))
    other = calls.copy()
    calls.on_skipped("}")
    other.on_skipped('"a":1}')
    assert [one.arguments for one in (*calls.whole(), *other.whole())] == ["{}", '{"a":1}']


def test_calls_are_looked_after_up_to_a_number() -> None:
    """The others are forgotten."""
    every = [one for at in range(MAX_CALLS + 9) for one in (named("f", at), part("{}", at))]
    assert len(gathered(*every).whole()) == MAX_CALLS


@pytest.mark.parametrize("phase", [Phase.MORE, Phase.ARGUMENTS, Phase.WHOLE])
def test_arguments_are_kept_up_to_a_size(phase: Phase) -> None:
    """Of all calls together; a call beyond that is none to look after, and one that is too long makes room."""
    text = json.dumps({"a": "x" * (MAX_TEXT - 100)})
    room = MAX_KEPT // len(text)
    calls = PlainCalls()
    for at in range(room + 5):
        opened = Fragment(index=at, name="f", phase=Phase.OPEN)
        said = Fragment(index=at, name="f", phase=phase, arguments=text)
        calls.take(EventContent((opened, said), end=True))
    assert len(calls.whole()) + len(calls.others) == room


def test_a_call_that_is_too_long_makes_room() -> None:
    """None of it is kept."""
    long = [part("x" * 1000, at) for at in range(20) for _ in range(MAX_TEXT // 1000 + 1)]
    calls = gathered(*(named("f", at) for at in range(20)), *long, named("g", 20), part("{}", 20))
    assert [one.name for one in calls.whole()] == ["g"]


def test_what_a_call_was_said_to_be_before_is_not_another_form_of_it() -> None:
    """Closed with other arguments in between, it has those that came last; what was sent lacks the last event."""
    events = [OPENED, *(CLOSED._replace(arguments=text) for text in ('{"a":1}', '{"c":3}', '{"a":1}'))]
    calls = read(("f", '{"a":1}'))
    assert lacking(gathered(*events), gathered(*events[:3]), lambda: calls) == [F]
    assert lacking(gathered(events[0], events[1]), gathered(events[0], events[2]), lambda: calls) == []
