"""Each deviation, with a stream that shows it and the calls that a client with it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.clients.streams import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    RESPONSES,
    anthropic,
    arguments_done,
    block,
    chat,
    completed,
    delta,
    echoed,
    entry,
    gemini,
    input_delta,
    item,
    message,
    received,
    responses,
)
from toolstream_core.clients.deviations import PROJECTS, QUIRKS, fix, projects
from toolstream_core.clients.fit import matching_models, reproduces
from toolstream_core.clients.model import (
    AXES,
    STANDARD,
    Adding,
    Arguments,
    Entries,
    Id,
    Invalid,
    Kept,
    Key,
    Name,
    NoIndex,
    NoObject,
    Objects,
    Source,
    entries_of,
)
from toolstream_core.clients.stepping import reads
from toolstream_core.protocols.registry import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.clients.model import Deviation, ResolvedEvent
    from toolstream_core.protocols.protocol import WireProtocol

MOST_WORDS = 25
X, Y = '{"x": 1}', '{"y": 2}'
A, B = entry(0, id="a", name="f", arguments=""), entry(1, id="b", name="g", arguments="")


def more(index: int | None, text: str, **fields: object) -> dict[str, object]:
    """An entry with a fragment of arguments."""
    return entry(index, arguments=text, **fields)


REUSED = chat([A], [more(0, X)], [entry(0, id="b", name="g", arguments="")], [more(0, Y)], "tool_calls")
"""Two calls at index 0."""
FINISHED = received(
    "openai-chat",
    [
        {"choices": [{"index": 0, "delta": {"tool_calls": [A]}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [more(0, '{"x"')]}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [more(0, ": 1}")]}, "finish_reason": "tool_calls"}]},
    ],
)
"""A finish reason in the event with the last fragment."""
LONG = chat([A], [more(0, '{"x"')], [more(0, ": 1}")], "tool_calls")
CUT = chat([A], [more(0, '{"x": 1, "y": "Os')], "length")
NO_INDEX = chat(
    [entry(None, id="a", name="f", arguments="")],
    [more(None, X)],
    [entry(None, id="b", name="g", arguments="")],
    [more(None, Y)],
    "tool_calls",
)
ITEMS = (item(0, "added", "a", "f"), delta(0, X), arguments_done(0, X), item(0, "done", "a", "f", X))
DIFFERING = responses(
    *(item(0, "added", "a", "f"), delta(0, '{"x": 0}'), arguments_done(0, '{"x": 1}')),
    *(item(0, "done", "a", "f", '{"x": 2}'), completed(item(0, "done", "a", "f", '{"x": 3}'))),
)
TWO_BLOCKS = anthropic(block(0, "a", "f"), input_delta(0, X), block(1, "b", "g"), input_delta(1, Y))
OVERLAPPING = anthropic(
    *(block(0, "a", "f"), input_delta(0, X), block(1, "b", "g"), input_delta(1, Y)),
    *({"type": "content_block_stop", "index": at} for at in range(2)),
    *(block(2, "c", "h"), input_delta(2, X), {"type": "content_block_stop", "index": 2}),
)
PREFILLED = anthropic(block(0, "a", "f", {"x": 1}), input_delta(0, X))


class Case(NamedTuple):
    """The calls that a client with a deviation returns for a stream."""

    deviation: Deviation
    protocol: WireProtocol
    events: Sequence[ResolvedEvent]
    returned: Sequence[tuple[str | None, str, str]]


CASES = [
    Case(Key.CHANGED_ID, CHAT, REUSED, [("a", "f", X), ("b", "g", Y)]),
    Case(
        Key.PRESENT_ID,
        CHAT,
        chat([A], [more(0, '{"x"', id="")], [more(0, ": 1}", id="")]),
        [("a", "f", ""), ("", "", '{"x"'), ("", "", ": 1}")],
    ),
    Case(
        Key.GIVEN_ID,
        CHAT,
        chat([A], [more(0, '{"x"', id="a")], [more(0, ": 1}", id="a")]),
        [("a", "f", ""), ("a", "", '{"x"'), ("a", "", ": 1}")],
    ),
    Case(
        Key.ID,
        CHAT,
        chat([A], [entry(0, id="b", name="g", arguments="")], [more(0, X, id="a")], [more(0, Y, id="b")]),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case(Key.INDEX_AND_ID, CHAT, LONG, [("a", "f", "{}"), ("", "", X)]),
    Case(
        Key.LONGER_ID,
        CHAT,
        chat([entry(0, id="long", name="f", arguments="")], [more(0, X)], [B], [more(1, Y)]),
        [("long", "f", f"{X}{Y}")],
    ),
    Case(Key.NEWEST_OF_INDEX, CHAT, REUSED, [("a", "f", X), ("b", "g", Y)]),
    Case(Key.FIRST_OF_INDEX, CHAT, REUSED, [("a", "f", f"{X}{Y}"), ("b", "g", "")]),
    Case(
        Key.FIRST_OF_INDEX,
        ANTHROPIC,
        anthropic(block(0, "a", "f"), block(0, "a", "f"), input_delta(0, X)),
        [("a", "f", X), ("a", "f", "")],
    ),
    Case(Key.ONLY_OF_INDEX, CHAT, REUSED, [("a", "f", X), ("b", "g", "{}")]),
    Case(
        Key.CHANGED_INDEX,
        CHAT,
        chat([A], [B], [more(0, X)], [more(1, Y)]),
        [("a", "f", ""), ("b", "g", ""), ("", "", X), ("", "", Y)],
    ),
    Case(
        Key.INDEX_ALONE,
        ANTHROPIC,
        anthropic(block(0, "a", "f"), input_delta(0, X), block(0, "b", "g"), input_delta(0, Y)),
        [("a", "f", f"{X}{Y}")],
    ),
    Case(Key.POSITION, CHAT, chat([B], [more(1, Y)]), [("b", "g", ""), ("", "", Y)]),
    Case(Key.PLACE, CHAT, chat([A], [more(0, X)], [B], [more(1, Y)]), [("a", "f", f"{X}{Y}")]),
    Case(Key.ITEM, RESPONSES, responses(*ITEMS[:1], delta(0, X, "fc9")), [("a", "f", "")]),
    Case(
        Key.LAST,
        ANTHROPIC,
        anthropic(block(0, "a", "f"), block(1, "b", "g"), input_delta(0, X), input_delta(1, Y)),
        [("a", "f", ""), ("b", "g", f"{X}{Y}")],
    ),
    Case(Key.FIRST_OPENED, ANTHROPIC, TWO_BLOCKS, [("a", "f", f"{X}{Y}"), ("b", "g", "")]),
    Case(Key.ENTRY, CHAT, LONG, [("a", "f", ""), ("", "", '{"x"'), ("", "", ": 1}")]),
    Case(Key.ENTRY, GEMINI, gemini([("f", {})], [("", {"x": 1})]), [(None, "f", "{}"), (None, "", X)]),
    Case(Key.ONE, GEMINI, gemini([("f", {"x": 1}), ("g", {"y": 2})]), [(None, "f", '{"x":1}{"y":2}')]),
    Case(NoIndex.NEW, CHAT, NO_INDEX, [("a", "f", ""), ("", "", X), ("b", "g", ""), ("", "", Y)]),
    Case(
        NoIndex.LAST,
        CHAT,
        chat([A], [more(0, X)], [B], [more(None, Y)]),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case(
        NoIndex.PLACE,
        CHAT,
        chat([entry(None, id="a", name="f", arguments=X), entry(None, id="b", name="g", arguments=Y)]),
        [("a", "f", X), ("b", "g", Y)],
    ),
    Case(
        NoIndex.ID,
        CHAT,
        chat(
            [entry(None, id="a", name="f", arguments='{"x"')],
            [entry(None, id="b", name="g", arguments=Y)],
            [more(None, ": 1}", id="a")],
        ),
        [("a", "f", '{"x": 1}'), ("b", "g", Y)],
    ),
    Case(NoIndex.DROPPED, CHAT, chat([A], [more(0, '{"x":')], [more(None, "9")], [more(0, "1}")]), [("a", "f", X)]),
    Case(Entries.FIRST, CHAT, chat([more(0, X, id="a", name="f"), more(1, Y, id="b", name="g")]), [("a", "f", X)]),
    Case(Entries.BEFORE_FINISH, CHAT, FINISHED, [("a", "f", '{"x"')]),
    Case(Entries.FROM_ID, CHAT, chat([entry(0, name="f", arguments="")], [more(0, X, id="a")]), [("a", "", X)]),
    Case(Adding.WHOLE, CHAT, REUSED, [("a", "f", X)]),
    Case(Adding.HEADER, CHAT, REUSED, [("a", "f", X), ("b", "g", Y)]),
    Case(Adding.NEXT, CHAT, chat([A], [more(0, X)], [more(0, Y)]), [("a", "f", X), ("", "", Y)]),
    Case(Adding.FINISH, CHAT, chat([A], [more(0, '{"x"')], "tool_calls", [more(0, ": 1}")]), [("a", "f", '{"x"')]),
    Case(Adding.REPLACE, CHAT, chat([A], [more(0, '{"x"', id="a")], [more(0, X, id="a")]), [("a", "", X)]),
    Case(Adding.CONTINUED, ANTHROPIC, TWO_BLOCKS, [("a", "f", X), ("b", "g", f"{X}{Y}")]),
    Case(
        Adding.OPENED,
        CHAT,
        chat([A], [more(0, '{"x"')], [B], [more(0, ": 1}")], [more(1, Y)]),
        [("a", "f", '{"x"'), ("b", "g", Y)],
    ),
    Case(Source.MESSAGE, CHAT, [message(more(0, X, id="a", name="f"))], [("a", "f", X)]),
    Case(Source.DELTAS, RESPONSES, DIFFERING, [("a", "f", '{"x": 0}')]),
    Case(Source.DONE, RESPONSES, DIFFERING, [("a", "f", '{"x": 1}')]),
    Case(Source.ITEM, RESPONSES, DIFFERING, [("a", "f", '{"x": 2}')]),
    Case(
        Source.COMPLETED,
        RESPONSES,
        responses(*ITEMS, item(1, "added", "b", "g"), completed(item(0, "done", "a", "f", X))),
        [("a", "f", X)],
    ),
    Case(Source.START, ANTHROPIC, anthropic(block(0, "a", "f", {"x": 7}), input_delta(0, X)), [("a", "f", '{"x": 7}')]),
    Case(Source.START_AND_DELTAS, ANTHROPIC, PREFILLED, [("a", "f", f'{{"x":1}}{X}')]),
    Case(Name.LAST, CHAT, chat([A], [more(0, X, name="g")]), [("a", "g", X)]),
    Case(Name.JOINED, CHAT, chat([A], [more(0, X, name="f")]), [("a", "ff", X)]),
    Case(Name.OPENING, CHAT, chat([entry(0, id="a", arguments="")], [more(0, X, name="f")]), [("a", "", X)]),
    Case(Name.OVERWRITTEN, CHAT, chat([A], [more(0, X, name="")]), [("a", "", X)]),
    Case(Id.LAST, CHAT, chat([A], [more(0, X, id="b")]), [("b", "f", X)]),
    Case(Id.JOINED, CHAT, chat([A], [more(0, X, id="b")]), [("ab", "f", X)]),
    Case(Id.OPENING, CHAT, chat([entry(0, name="f", arguments="")], [more(0, X, id="a")]), [("", "f", X)]),
    Case(Id.OVERWRITTEN, CHAT, chat([A], [more(0, X, id="")]), [("", "f", X)]),
    Case(Id.ITEM, RESPONSES, responses(*ITEMS), [("fc0", "f", X)]),
    Case(Id.OWN, CHAT, LONG, [("own", "f", X)]),
    Case(
        Id.UNIQUE,
        CHAT,
        chat([A], [more(0, X)], [entry(1, id="a", name="g", arguments=Y)]),
        [("a", "f", X), ("own", "g", Y)],
    ),
    Case(Arguments.FIRST, CHAT, LONG, [("a", "f", '{"x"')]),
    Case(Arguments.LAST, CHAT, LONG, [("a", "f", ": 1}")]),
    Case(
        Arguments.AFTER_OPENING,
        CHAT,
        chat([more(0, "{", id="a", name="f")], [more(0, '"x"')], [more(0, ": 1}")]),
        [("a", "f", '"x": 1}')],
    ),
    Case(Arguments.AFTER_OPENING, ANTHROPIC, PREFILLED[:1], [("a", "f", "{}")]),
    Case(
        Objects.OWN_STRING,
        CHAT,
        chat([entry(0, id="a", name="f", arguments={"x": 1})]),
        [("a", "f", "[object Object]")],
    ),
    Case(
        Objects.OWN_STRING,
        CHAT,
        chat([entry(0, id="a", name="f", arguments={"x": 1})]),
        [("a", "f", "{'x': 1}")],
    ),
    Case(
        Objects.PASSED_OVER,
        CHAT,
        chat([entry(0, id="a", name="f")], [{"index": 0, "function": {"parameters": {"x": 1}}}]),
        [("a", "f", "")],
    ),
    Case(Invalid.EMPTY, CHAT, CUT, [("a", "f", "{}")]),
    Case(Invalid.HEAD, CHAT, chat([A], [more(0, f"{X}{{")]), [("a", "f", X)]),
    Case(Invalid.COMPLETED, CHAT, CUT, [("a", "f", '{"x": 1, "y": "Os"}')]),
    Case(Invalid.SHORTENED, CHAT, CUT, [("a", "f", X)]),
    Case(Invalid.COMPLETED, CHAT, chat([A], [more(0, X)], [more(0, Y)]), [("a", "f", f"[{X}, {Y}]")]),
    Case(Invalid.WRAPPED, CHAT, chat([A], [more(0, '{"x')]), [("a", "f", '{"raw": "{\\"x"}')]),
    Case(Invalid.WRAPPED, CHAT, chat([A], [more(0, '{"x')]), [("a", "f", '{"error": 1, "raw": "{\\"x"}')]),
    Case(Invalid.WRAPPED, CHAT, chat([A], [more(0, '{"x')]), [("a", "f", '"{\\"x"')]),
    Case(Kept.NAMED, CHAT, chat([A], [more(0, X)], [more(1, Y, id="b")]), [("a", "f", X)]),
    Case(Kept.WITH_ID, CHAT, chat([A], [more(0, X)], [more(1, Y, name="g")]), [("a", "f", X)]),
    Case(Kept.VALID, CHAT, chat([A], [more(0, X)], [B], [more(1, '{"y')]), [("a", "f", X)]),
    Case(Kept.FIRST, CHAT, chat([A], [more(0, X)], [B], [more(1, Y)]), [("a", "f", X)]),
    Case(Kept.LAST, CHAT, chat([A], [more(0, X)], [B], [more(1, Y)]), [("b", "g", Y)]),
    Case(Kept.CLOSED, ANTHROPIC, OVERLAPPING, [("b", "g", Y), ("c", "h", X)]),
    Case(Kept.PADDED, CHAT, chat([B], [more(1, Y)]), [("own", "", ""), ("b", "g", Y)]),
    Case(
        Kept.PADDED,
        CHAT,
        chat([entry(99, id="b", name="g", arguments=Y)]),
        [*((f"own{at}", "", "") for at in range(99)), ("b", "g", Y)],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.deviation.value)
def test_a_deviation_alone_explains_the_returned_calls(case: Case) -> None:
    """The deviation is among the smallest explanations, and the standard client returns other calls."""
    entries, returned = entries_of(case.events), echoed(*case.returned)
    form = case.protocol.call_form
    assert not reproduces(STANDARD, form, entries, returned)
    assert STANDARD.with_deviations([case.deviation]) in matching_models(form, entries, returned)


def test_deltas_are_not_the_arguments_of_the_event_that_opens_the_call() -> None:
    """A client that ignores arguments of a block's start reads all deltas."""
    model = STANDARD.with_deviations([Arguments.AFTER_OPENING])
    assert reproduces(model, ANTHROPIC.call_form, entries_of(TWO_BLOCKS), echoed(("a", "f", X), ("b", "g", Y)))


def test_an_id_of_the_response_was_not_generated_by_the_client() -> None:
    """A client that returns the item's id uses it: it does not generate ids."""
    form, entries = RESPONSES.call_form, entries_of(responses(*ITEMS))
    assert matching_models(form, entries, echoed(("fc0", "f", X))) == [STANDARD.with_deviations([Id.ITEM])]
    assert STANDARD.with_deviations([Id.OWN]) in matching_models(form, entries, echoed(("mine", "f", X)))


def test_every_deviation_has_a_sample_and_a_description() -> None:
    """The exception is `string-as-invalid`, which has no effect alone."""
    every = {value for values in AXES.values() for value in values[1:]}
    assert {case.deviation for case in CASES} == every - {NoObject.INVALID}
    assert set(QUIRKS) == every
    assert {name for row in QUIRKS.values() for name in row.projects} == set(PROJECTS)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: one.name)
def test_every_deviation_has_a_fix_with_the_fields_of_the_protocol(protocol: WireProtocol) -> None:
    """Each fix is short, differs from the others, and names fields of the protocol."""
    fixes = {one: fix((one,), protocol).removeprefix("fix the client: ") for one in QUIRKS}
    assert all("{" not in text.replace("`{}`", "") and ";" not in text for text in fixes.values())
    assert all(len(text.split()) <= MOST_WORDS for text in fixes.values())
    others = [text for one, text in fixes.items() if not isinstance(one, Key)]
    assert len(set(others)) == len(others)
    assert f"`{protocol.id_key}`" in fixes[Id.LAST]
    by_key = {fixes[one] for one in fixes if isinstance(one, Key)}
    if protocol.call_keys:
        assert len(by_key) == len(Key) - 1
        assert all(f"`{protocol.call_keys[-1]}`" in text for text in by_key)
    else:
        assert fixes[Key.ENTRY] == "add an entry without a name to the call before it"
        assert by_key == {"treat each entry as a complete call", fixes[Key.ENTRY]}


def test_a_fix_names_every_deviation() -> None:
    """Without a deviation, the provider has to fix the stream."""
    both = "fix the client: key fragments by `index`, not by `id`; keep calls without `id`"
    assert fix((Key.ID, Kept.WITH_ID)) == both
    assert fix((Key.ID,), RESPONSES) == "fix the client: key fragments by `item_id` or `output_index`, not by `call_id`"
    assert fix(()) == "the provider has to send a valid stream"


def test_a_json_string_may_count_as_invalid_arguments() -> None:
    """Double-encoded arguments are JSON, but no object."""
    events = chat([A], [more(0, '"{}"')])
    model = STANDARD.with_deviations([Invalid.EMPTY, NoObject.INVALID])
    assert [one.arguments for one in reads(model, CHAT.call_form, entries_of(events))] == ["{}"]
    kept = STANDARD.with_deviations([Invalid.EMPTY])
    assert [one.arguments for one in reads(kept, CHAT.call_form, entries_of(events))] == ['"{}"']


def test_projects_with_most_of_the_deviations_are_first() -> None:
    """Strands stops at the finish reason and replaces invalid arguments by `{}`."""
    assert next(iter(projects((Adding.FINISH, Invalid.EMPTY)))) == "strands"
