"""Client models that read a stream entry by entry give the same calls as a reading of all entries at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clients import complete_reading
from tests.clients.streams import CHAT, chat, entry, received
from tests.invariants.driven import injected
from tests.invariants.healthy import streams
from toolstream_core.clients.fields import kept, kept_arguments
from toolstream_core.clients.grouping import Grouping
from toolstream_core.clients.model import (
    AXES,
    STANDARD,
    Adding,
    Arguments,
    Entries,
    Kept,
    Key,
    Name,
    ResolvedEvent,
    Source,
    entries_of,
)
from toolstream_core.clients.stepping import Change, Stepper, What, intended, traces
from toolstream_core.defects.table import DEFECTS
from toolstream_core.engine.session import Session
from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT, EventContent, Finish, Fragment, Phase
from toolstream_core.protocols.protocol import CallForm

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.clients.model import ClientModel, Deviation, Entry
    from toolstream_core.model import Event, Record, StreamFacts

type Values = list[str]
"""Id, name and arguments of a call."""

DEVIATIONS = [one for values in AXES.values() for one in values[1:]]
STREAMS = [one for one in streams() if one.name in ("fragments of two", "two")]
MODELS = [STANDARD, *(STANDARD.with_deviations([one]) for one in DEVIATIONS)]
EMPTY_IDS = chat(
    [entry(id="call_1", name="get_weather", arguments="")],
    [entry(id="", arguments='{"lo')],
    [entry(id="", arguments='cation":"Tokyo"}')],
    "tool_calls",
)


def added_up(changes: Iterable[Change]) -> list[Values]:
    """The values of calls after all changes, by place."""
    calls: list[Values] = []
    for one in changes:
        changed = (one.id, one.name, one.arguments)
        if one.place is None:
            assert one.what is What.SKIPPED
        elif one.what is What.OPENED:
            assert one.place == len(calls)
            calls.append([text or "" for text in changed])
        else:
            values = calls[one.place]
            appended = one.what is What.APPENDED
            for at, text in enumerate(changed):
                if text is not None:
                    values[at] = values[at] + text if appended else text
    return calls


def test_changes_of_a_client_that_treats_an_empty_id_as_a_new_call() -> None:
    """Each fragment opens a call, and the calls without a name are dropped at the end."""
    stepper = Stepper(STANDARD.with_deviations([Key.PRESENT_ID, Kept.NAMED]), CHAT.call_form)
    changes = [stepper.take(one) for one in entries_of(EMPTY_IDS)]
    assert changes == [
        (Change(0, 0, 0, What.OPENED, "call_1", "get_weather", ""),),
        (Change(1, 0, 1, What.OPENED, "", "", '{"lo'),),
        (Change(2, 0, 2, What.OPENED, "", "", 'cation":"Tokyo"}'),),
    ]
    first, second, third = stepper.calls()
    assert (first.place, first.name, first.valid, first.dropped) == (0, "get_weather", True, "")
    assert (second.valid, second.dropped, third.dropped) == (False, *["drops calls without a name"] * 2)


def test_changes_of_a_client_that_follows_the_protocol() -> None:
    """The first entry opens the call, and the others append to it."""
    stepper = Stepper(STANDARD, CHAT.call_form)
    opened, *more = (stepper.take(one) for one in entries_of(EMPTY_IDS))
    assert opened == (Change(0, 0, 0, What.OPENED, "call_1", "get_weather", ""),)
    assert [one for (one,) in more] == [
        Change(1, 0, 0, What.APPENDED, arguments='{"lo'),
        Change(2, 0, 0, What.APPENDED, arguments='cation":"Tokyo"}'),
    ]
    assert [one.arguments for one in stepper.calls()] == ['{"location":"Tokyo"}']


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (STANDARD.with_deviations([Arguments.LAST]), [Change(1, 0, 0, What.REPLACED, arguments='{"lo')]),
        (STANDARD.with_deviations([Arguments.AFTER_OPENING]), [Change(1, 0, 0, What.APPENDED, arguments='{"lo')]),
        (STANDARD.with_deviations([Entries.FIRST]), [Change(1, 0, 0, What.APPENDED, arguments='{"lo')]),
        (STANDARD.with_deviations([Adding.REPLACE]), [Change(1, 0, 0, What.APPENDED, arguments='{"lo')]),
        (STANDARD.with_deviations([Name.LAST]), [Change(1, 0, 0, What.APPENDED, arguments='{"lo')]),
    ],
)
def test_a_change_describes_what_the_client_did_with_an_entry(model: ClientModel, expected: list[Change]) -> None:
    """The second entry replaces or appends, depending on the client."""
    stepper = Stepper(model, CHAT.call_form)
    first, second, *_ = entries_of(EMPTY_IDS)
    stepper.take(first)
    assert [*stepper.take(second)] == expected


def test_a_padded_call_has_no_place() -> None:
    """The client fills its list up to the first index."""
    events = chat([entry(1, id="a", name="f", arguments="{}")])
    stepper = Stepper(STANDARD.with_deviations([Kept.PADDED]), CHAT.call_form)
    for one in entries_of(events):
        stepper.take(one)
    assert [(one.place, one.name) for one in stepper.calls()] == [(None, ""), (0, "f")]


def test_a_call_that_is_not_read_is_dropped() -> None:
    """The client reads calls only from the event that ends the response, and this one has none."""
    payload = {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": ""},
    }
    stepper = Stepper(STANDARD.with_deviations([Source.COMPLETED]), CallForm.ANNOUNCED)
    for one in entries_of(received("openai-responses", [payload])):
        stepper.take(one)
    assert [one.dropped for one in stepper.calls()] == ["does not read the events that contain the call"]


@pytest.mark.parametrize("identity", [{}, {"id": ""}, {"id": "call_1", "name": "get_weather"}])
def test_changes_are_no_longer_than_the_entries(identity: dict[str, Any]) -> None:
    """The size is linear, also if the stream repeats its id and name in every entry."""
    fragments = [[entry(arguments=f"word {at} ", **identity)] for at in range(500)]
    entries = entries_of(chat([entry(id="call_1", name="get_weather", arguments='{"text": "')], *fragments))
    changed = sum(len(one.fragment.arguments or "") + len(str(identity)) for one in entries)
    for trace in traces(MODELS, CHAT.call_form, entries):
        assert len(trace.changes) == len(entries)
        changes = [change for made in trace.changes for change in made]
        texts = [text for one in changes for text in (one.id, one.name, one.arguments) if text]
        assert sum(map(len, texts)) <= changed, trace.models[0].deviations


TEXTS = st.sampled_from(['{"a":', '"x"}', "{}", '{"a":1}', "", "1", '"', "x", '{"b":{}}', "\ud83d", " "])
FRAGMENTS = st.builds(
    Fragment,
    choice=st.sampled_from([0, 0, 0, 1]),
    index=st.sampled_from([ABSENT, 0, 0, 1, 2, None, "0"]),
    id=st.sampled_from([ABSENT, ABSENT, None, "", "a", "b", "call_long"]),
    item_id=st.sampled_from([ABSENT, ABSENT, "i1", "i2"]),
    name=st.sampled_from([ABSENT, ABSENT, None, "", "f", "get_weather"]),
    arguments=st.one_of(st.just(ABSENT), TEXTS, TEXTS, TEXTS),
    phase=st.sampled_from([Phase.MORE] * 5 + [*Phase]),
    well_formed=st.sampled_from([True, True, False]),
)
CONTENTS = st.builds(
    EventContent,
    fragments=st.lists(FRAGMENTS, max_size=3).map(tuple),
    finishes=st.sampled_from([(), (), (), (Finish(0, "stop"),)]),
)


@given(st.lists(CONTENTS, min_size=1, max_size=12), st.sampled_from([*CallForm]), st.sets(st.sampled_from(DEVIATIONS)))
@settings(max_examples=40, deadline=None)
def test_the_changes_add_up_to_the_complete_reading(
    contents: list[EventContent], form: CallForm, more: set[Deviation]
) -> None:
    """This holds for every deviation alone, and for several together."""
    entries = entries_of(ResolvedEvent(at, one) for at, one in enumerate(contents))
    for model in (*MODELS, STANDARD.with_deviations(one for one in DEVIATIONS if one in more)):
        check(model, form, entries)


@pytest.mark.parametrize("name", ["", *(row.name for row in DEFECTS if row.code)])
def test_the_changes_add_up_for_streams_with_a_defect(name: str) -> None:
    """Each defect is injected into a stream of every protocol that supports it."""
    found = 0
    for healthy in STREAMS:
        body = injected(healthy.body, healthy.exchange, name).out if name else healthy.body
        if name and body == healthy.body:
            continue
        read = Read(healthy.exchange, body)
        entries = entries_of(read.events)
        for model in MODELS:
            check(model, read.form, entries)
            found += bool(entries)
    assert found or name


def check(model: ClientModel, form: CallForm, entries: Sequence[Entry]) -> None:
    """Assert that the changes give the values of each call, and that the final calls are the kept ones."""
    stepper, grouping = Stepper(model, form), Grouping(model, form)
    changes = [stepper.take(one) for one in entries]
    groups = [grouping.take(one) for one in entries]
    assert [{one.place for one in made} for made in changes] == [
        {None if one is None else one.place} for one in groups
    ], model.deviations
    whole = [
        [*complete_reading.id_and_name(model, one), complete_reading.arguments(model, form, one)]
        for one in grouping.groups
    ]
    assert added_up(one for made in changes for one in made) == whole, model.deviations
    calls = stepper.calls()
    keeps = [one.place if one.entries else None for one in kept(grouping.groups, form, model)]
    assert [one.place for one in calls if not one.dropped] == keeps
    for one in calls:
        if one.place is not None:
            its_id, name, text = whole[one.place]
            made = kept_arguments(text, model.invalid, model.no_object)
            assert (one.id, one.name, one.arguments) == (its_id, name, made)


class Read(Sink):
    """A response as toolstream reads it."""

    live = True

    def __init__(self, exchange: StreamFacts, body: bytes) -> None:
        self.events: list[ResolvedEvent] = []
        self.form = CallForm.DELTAS
        session = Session(exchange, sinks=lambda protocol: self.begin(protocol.call_form), fast=False)
        session.feed(body)
        session.end()
        self.record: Record | None = session.record()

    def begin(self, form: CallForm) -> list[Sink]:
        """Keep the form of calls, and return this sink."""
        self.form = form
        return [self]

    def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
        """Keep an event."""
        self.events.append(ResolvedEvent(event.frame.number, content, fragments))


@pytest.mark.parametrize("name", ["", *(row.name for row in DEFECTS)])
def test_the_intended_changes_end_with_the_reported_calls(name: str) -> None:
    """Every call has the reported id, name and arguments, and each fragment has a change."""
    found = 0
    for healthy in streams():
        body = injected(healthy.body, healthy.exchange, name).out if name else healthy.body
        if name and body == healthy.body:
            continue
        read = Read(healthy.exchange, body)
        if read.record is None:
            continue
        changes = [*intended(read.record.calls, read.events)]
        fragments = [(one.number, at) for one in read.events for at in range(len(one.content.fragments))]
        assert [(one.event, one.fragment) for one in changes] == fragments
        expected = [[one.id, one.name, one.arguments] for one in read.record.calls]
        assert added_up(changes) == expected, healthy.name
        found += len(changes)
    assert found or name
