"""Argument text: its readings and its completeness while it grows."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.calls import arguments
from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.parameters import UNKNOWN, Parameters

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), JSON, min_size=1, max_size=4)


def read(*fragments: str, may_be_empty: bool = True) -> tuple[str, bool]:
    """Return the arguments in the fragments, and whether they are complete."""
    text = ArgumentText()
    for fragment in fragments:
        text.add(fragment)
    return text.reading(may_be_empty=may_be_empty)


@pytest.mark.parametrize(
    ("fragments", "intended"),
    [
        pytest.param(['{"a"', ": 1}"], '{"a": 1}', id="joined"),
        pytest.param(['{"pat', '{"pattern":', '{"pattern":"x"}'], '{"pattern":"x"}', id="cumulative"),
        pytest.param(['{"c"', ':"ls"}', '{"c":"ls"}'], '{"c":"ls"}', id="complete again at the end"),
        pytest.param(['{"c":"ls"}', '{"c":"ls"}'], '{"c":"ls"}', id="complete twice"),
        pytest.param(["{}", '{"a":1}'], '{"a":1}', id="braces before the arguments"),
        pytest.param(["{}", '{"a"', ":1}"], '{"a":1}', id="braces before fragments"),
        pytest.param(["{}", '{"a":1}', '{"a":1}'], '{"a":1}', id="braces, then complete twice"),
        pytest.param(["null", '{"a":1}'], '{"a":1}', id="null before the arguments"),
        pytest.param(['"{\\"n\\": 2}"'], '{"n": 2}', id="encoded twice"),
        pytest.param(['"{hello}"'], '"{hello}"', id="a string without an object"),
        pytest.param(['{"a":1}', "<|end|>"], '{"a":1}', id="a special token after it"),
        pytest.param([""], "{}", id="empty"),
        pytest.param([], "{}", id="no fragment"),
        pytest.param(['{"a":1}', "{}"], '{"a":1}', id="braces after the arguments"),
        pytest.param(['{"a":', "1}", "{}"], '{"a":1}', id="braces after fragments"),
        pytest.param(["null"], "{}", id="null"),
        pytest.param([" ", "\n"], "{}", id="whitespace"),
        pytest.param(['{"x":[', "{}", ",", "{}", "]}"], '{"x":[{},{}]}', id="empty objects inside"),
        pytest.param(['{"a":"', "{}", '"}'], '{"a":"{}"}', id="braces inside a string"),
        pytest.param(['{"a":"\\', '"}"}'], '{"a":"\\"}"}', id="a split escape"),
    ],
)
def test_complete_arguments_are_read(fragments: list[str], intended: str) -> None:
    """Arguments are the joined fragments if those are one JSON value, or the last complete copy in them."""
    assert read(*fragments) == (intended, True)


@pytest.mark.parametrize(
    "fragments",
    [
        ['{"a":', "{}"],
        ['{"x":[', "{}", ","],
        ['{"a":1}', '{"b":'],
        ['{"content":"', '{"a":1}'],
        ['{"a":1,"b":', '{"c":2}'],
        ["}"],
        ["{", "}}"],
    ],
)
def test_truncated_arguments_are_incomplete(fragments: list[str]) -> None:
    """Truncated arguments are incomplete, even if they contain an object."""
    assert read(*fragments) == ("".join(fragments), False)


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        (["{}", '{"a":'], '{"a":'),
        (["{}", '{}{"a":'], '{"a":'),
    ],
)
def test_incomplete_arguments_are_read_without_placeholder(fragments: list[str], expected: str) -> None:
    """Incomplete arguments are read without a placeholder before them."""
    assert read(*fragments) == (expected, False)


@pytest.mark.parametrize("again", ['{"a": 1}', '{ "a":1 }{"a":1}', '{"a": 1}<|tool_call_end|>'])
def test_a_repetition_may_be_formatted_differently(again: str) -> None:
    """A repetition of the same JSON in another format is not appended."""
    text, is_complete = read('{"a":1}', again)
    assert (json.loads(text), is_complete) == ({"a": 1}, True)


def test_empty_arguments_are_incomplete_if_some_are_required() -> None:
    """Empty arguments of a tool with required parameters are incomplete."""
    assert read("", may_be_empty=False) == ("", False)


@given(OBJECTS, st.lists(st.integers(0, 200)))
def test_arguments_are_complete_exactly_at_their_end(value: dict[str, object], cuts: list[int]) -> None:
    """Arguments in any fragments are read the same, and are complete exactly at their end."""
    full_text = json.dumps(value)
    places = sorted({0, len(full_text), *(cut for cut in cuts if cut < len(full_text))})
    text = ArgumentText()
    for begin, end in itertools.pairwise(places):
        assert not text.is_complete
        text.add(full_text[begin:end])
    assert text.is_complete
    assert text.reading() == (full_text, True)


@given(OBJECTS, st.data())
def test_a_prefix_is_incomplete(value: dict[str, object], data: st.DataObject) -> None:
    """A proper prefix of arguments is incomplete."""
    full_text = json.dumps(value)
    end = data.draw(st.integers(1, len(full_text) - 1))
    middle = data.draw(st.integers(0, end))
    assert read(full_text[:middle], full_text[middle:end])[1] is False


@given(OBJECTS, st.lists(st.integers(0, 200), min_size=1))
def test_the_last_cumulative_fragment_is_read(value: dict[str, object], cuts: list[int]) -> None:
    """If each fragment repeats the arguments so far, the last fragment is read."""
    full_text = json.dumps(value)
    ends = sorted({len(full_text), *(cut for cut in cuts if 2 <= cut < len(full_text))})
    assert json.loads(read(*(full_text[:end] for end in ends))[0]) == value


@given(st.lists(st.text(max_size=6), max_size=40))
def test_never_raises(fragments: list[str]) -> None:
    """Any text is read without an error, and text that is not JSON is read entirely."""
    text, is_complete = read(*fragments)
    assert is_complete or text == "".join(fragments)


class Counted(str):
    """Text that counts reads of single characters."""

    reads = 0
    __slots__ = ()

    def __getitem__(self, key: object) -> str:
        """Count an index; a slice is one copy and is not counted."""
        Counted.reads += isinstance(key, int)
        return super().__getitem__(key)  # type: ignore[index]


@pytest.mark.parametrize("fragments", [1_000, 4_000])
def test_cost_is_linear(fragments: int) -> None:
    """A fragment costs the same number of steps for any length of the call."""
    Counted.reads = 0
    text = ArgumentText()
    text.add(Counted('{"a":"'))
    for _ in range(fragments):
        text.add(Counted('b\\"c'))
    assert Counted.reads <= 6 * fragments + 20
    assert len(text._joined) <= fragments / 200 + arguments._BLOCK


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit no text is kept, and the call is incomplete."""
    monkeypatch.setattr(arguments, "MAX_TEXT", 10)
    text = ArgumentText()
    for _ in range(100):
        text.add("12345")
    assert text.text() == "1234512345"
    assert text.reading() == ("1234512345", False)


def test_doubly_encoded_arguments_with_garbage_are_decoded() -> None:
    """Doubly encoded arguments with garbage after them are decoded, and incomplete."""
    assert read('"{\\"a\\":1}"NaN') == ('{"a":1}NaN', False)


KNOWN: dict[str, object] = {"path": {}, "paths": {}, "n": {}}
SCHEMA: dict[str, object] = {"properties": KNOWN, "required": ["n"]}
TOOL = Parameters.of(SCHEMA, "read")


def added_by_character(text: str, tool: Parameters = TOOL) -> ArgumentText:
    """Add a text character by character."""
    arguments = ArgumentText(parameters=tool)
    for character in text:
        arguments.add(character)
    return arguments


@pytest.mark.parametrize("beginning", ["{", '{"'])
@pytest.mark.parametrize("value", [{"path": "a"}, {"n": 1, "path": {"x": ["}"]}}, {"paths": [], "n": None}])
def test_a_lost_beginning_is_restored_if_the_first_key_is_a_parameter(beginning: str, value: object) -> None:
    """A lost beginning is restored in all fragmentations; the arguments are complete exactly at their end."""
    rest = json.dumps(value).removeprefix(beginning)
    for cut in range(len(rest)):
        text = ArgumentText(parameters=TOOL)
        text.add(rest[:cut])
        assert not text.is_complete
        text.add(rest[cut:])
        assert (text.beginning, text.reading(), text.is_complete) == (beginning, (json.dumps(value), True), True)
    assert added_by_character(rest).reading() == (json.dumps(value), True)
    assert added_by_character(rest).text() == rest


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "a"}',
        'ath": "a"}',
        'path: "a"}',
        'path" "a"}',
        "null",
        "",
        " ",
        '"path"',
        '{}{"n":1}',
        '"{\\"n\\":1}"',
        "12",
    ],
)
def test_no_beginning_is_added_to_other_texts(text: str) -> None:
    """No beginning is added to JSON, to a truncated first key, to other values, or without known parameters."""
    assert not added_by_character(text).beginning
    assert added_by_character(text).reading() == added_by_character(text, UNKNOWN).reading()
    assert added_by_character(text, Parameters(frozenset({"other"}))).beginning == ""


@pytest.mark.parametrize("key", ["arguments", "parameters"])
@pytest.mark.parametrize("inner", [{"path": "a"}, {}, {"path": {"name": "}"}}, json.dumps({"path": "a"})])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_complete_call_as_arguments_is_unwrapped(key: str, inner: object, indent: int | None) -> None:
    """A complete call in the place of arguments is read as its arguments, and is complete exactly at its end."""
    text, intended = json.dumps({"name": "read", key: inner}, indent=indent), inner
    intended = json.loads(inner) if isinstance(inner, str) else inner
    for text_so_far in (added_by_character(text), added_by_character(text[:-1])):
        text_so_far.add("" if text_so_far.size == len(text) else "}")
        assert (json.loads(text_so_far.reading()[0]), text_so_far.is_complete) == (intended, True)
    assert not added_by_character(text[:-1]).is_complete


@pytest.mark.parametrize("key", ["arguments", "input"])
@pytest.mark.parametrize("inner", [{"path": "a"}, json.dumps({"path": "a"})])
def test_a_wrapper_is_unwrapped(key: str, inner: object) -> None:
    """Arguments wrapped in one key are read as their inner object."""
    assert json.loads(added_by_character(json.dumps({key: inner})).reading()[0]) == {"path": "a"}


@pytest.mark.parametrize("text", [', "arguments": {"path": "a"}}', '"parameters":{"path": "a"}}'])
def test_the_rest_of_a_complete_call_is_unwrapped(text: str) -> None:
    """A complete call without its name, which the server removed, is read as its arguments."""
    assert added_by_character(text).reading() == ('{"path": "a"}', True)
    assert not added_by_character(text[:-1]).is_complete


@pytest.mark.parametrize(
    ("value", "tool"),
    [
        ({"name": "write", "arguments": {"path": "a"}}, TOOL),
        ({"input": "ls"}, TOOL),
        ({"input": {"path": "a"}, "n": 1}, TOOL),
        ({"input": {"path": "a"}}, Parameters.of({**SCHEMA, "properties": {**KNOWN, "input": {}}}, "read")),
        ({"input": {"path": "a"}}, Parameters.of({**SCHEMA, "required": []}, "read")),
        ({"name": "read", "arguments": {"path": "a"}, "n": 1}, TOOL),
        ({"name": "read", "arguments": 1}, TOOL),
        (
            {"name": "read", "arguments": {}},
            Parameters.of({**SCHEMA, "properties": {**KNOWN, "name": {}}}, "read"),
        ),
        ({"name": "read", "arguments": {}}, Parameters.of({**SCHEMA, "required": []}, "read")),
    ],
)
def test_other_objects_are_not_unwrapped(value: object, tool: Parameters) -> None:
    """An object of another tool, with further keys, or with keys that are parameters, is not unwrapped."""
    assert added_by_character(json.dumps(value), tool).reading() == (json.dumps(value), True)


def test_fragment_sizes_do_not_matter() -> None:
    """Lost beginnings and complete calls are recognised in fragments of all sizes."""
    tool = Parameters.of({"properties": {"city": {}}, "required": ["city"]}, "f")
    for text, head in (('city": "' + "x" * 500 + '"}', 0), ('{"name": "f", "arguments": {"city": "' + "x" * 500, 27)):
        for size in (1, 300, 1000):
            arguments = ArgumentText(parameters=tool)
            for at in range(0, len(text), size):
                arguments.add(text[at : at + size])
            assert (arguments.beginning, arguments.envelope_size) == ("" if head else '{"', head)
