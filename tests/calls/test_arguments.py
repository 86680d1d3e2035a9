"""Argument text: two readings, completeness as it grows, and what a cut-off call never becomes."""

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


def read(*pieces: str, may_be_empty: bool = True) -> tuple[str, bool]:
    """What the fragments mean."""
    text = ArgumentText()
    for piece in pieces:
        text.add(piece)
    return text.reading(may_be_empty=may_be_empty)


@pytest.mark.parametrize(
    ("pieces", "intended"),
    [
        pytest.param(['{"a"', ": 1}"], '{"a": 1}', id="joined"),
        pytest.param(['{"pat', '{"pattern":', '{"pattern":"x"}'], '{"pattern":"x"}', id="cumulative"),
        pytest.param(['{"c"', ':"ls"}', '{"c":"ls"}'], '{"c":"ls"}', id="whole again at the end"),
        pytest.param(['{"c":"ls"}', '{"c":"ls"}'], '{"c":"ls"}', id="whole twice"),
        pytest.param(["{}", '{"a":1}'], '{"a":1}', id="braces before the arguments"),
        pytest.param(["{}", '{"a"', ":1}"], '{"a":1}', id="braces before arguments in pieces"),
        pytest.param(["{}", '{"a":1}', '{"a":1}'], '{"a":1}', id="braces, then whole twice"),
        pytest.param(["null", '{"a":1}'], '{"a":1}', id="null before the arguments"),
        pytest.param(['"{\\"n\\": 2}"'], '{"n": 2}', id="encoded twice"),
        pytest.param(['"{hello}"'], '"{hello}"', id="a string that holds no object stays one"),
        pytest.param(['{"a":1}', "<|end|>"], '{"a":1}', id="a special token after it"),
        pytest.param([""], "{}", id="empty means none"),
        pytest.param([], "{}", id="nothing means none"),
        pytest.param(['{"a":1}', "{}"], '{"a":1}', id="braces after the arguments"),
        pytest.param(['{"a":', "1}", "{}"], '{"a":1}', id="braces after arguments in pieces"),
        pytest.param(["null"], "{}", id="null means none"),
        pytest.param([" ", "\n"], "{}", id="white space means none"),
        pytest.param(['{"x":[', "{}", ",", "{}", "]}"], '{"x":[{},{}]}', id="empty objects inside"),
        pytest.param(['{"a":"', "{}", '"}'], '{"a":"{}"}', id="braces inside a string"),
        pytest.param(['{"a":"\\', '"}"}'], '{"a":"\\"}"}', id="an escape cut in two"),
    ],
)
def test_meaning(pieces: list[str], intended: str) -> None:
    """Joined wins where it is one JSON value, else the last whole fragment, else what follows a placeholder."""
    assert read(*pieces) == (intended, True)


@pytest.mark.parametrize(
    "pieces",
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
def test_cut_off_is_never_whole(pieces: list[str]) -> None:
    """A call that was cut is not completed by an object that lies inside it."""
    assert read(*pieces) == ("".join(pieces), False)


@pytest.mark.parametrize(
    ("pieces", "half"),
    [
        (["{}", '{"a":'], '{"a":'),
        (["{}", '{}{"a":'], '{"a":'),
        (['{"a":1}', '{"a": 1}', '{"'], '{"a":1}{"'),
        (['{"a":1}', '{"a":1', '}{"a":'], '{"a":1}{"a":'),
    ],
)
def test_half_of_them_is_read_as_the_whole_would_be(pieces: list[str], half: str) -> None:
    """Without a placeholder before it, nor a whole repetition; neither completes it."""
    assert read(*pieces) == (half, False)


@pytest.mark.parametrize("again", ['{"a": 1}', '{ "a":1 }{"a":1}', '{"a": 1}<|tool_call_end|>'])
def test_a_repetition_may_be_spelt_otherwise(again: str) -> None:
    """It is the same JSON."""
    text, whole = read('{"a":1}', again)
    assert (json.loads(text), whole) == ({"a": 1}, True)


def test_nothing_is_no_arguments_where_some_are_required() -> None:
    """For a tool with required parameters nothing means that the arguments were lost."""
    assert read("", may_be_empty=False) == ("", False)


@given(OBJECTS, st.lists(st.integers(0, 200)))
def test_any_cut_reads_alike(value: dict[str, object], cuts: list[int]) -> None:
    """However arguments are cut they read the same, and are whole exactly at their end."""
    whole = json.dumps(value)
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    text = ArgumentText()
    for begin, end in itertools.pairwise(places):
        assert not text.is_complete
        text.add(whole[begin:end])
    assert text.is_complete
    assert text.reading() == (whole, True)


@given(OBJECTS, st.data())
def test_a_prefix_is_not_whole(value: dict[str, object], data: st.DataObject) -> None:
    """Whatever is missing at the end, what came is not whole."""
    whole = json.dumps(value)
    end = data.draw(st.integers(1, len(whole) - 1))
    middle = data.draw(st.integers(0, end))
    assert read(whole[:middle], whole[middle:end])[1] is False


@given(OBJECTS, st.lists(st.integers(0, 200), min_size=1))
def test_cumulative_reads_as_the_last(value: dict[str, object], cuts: list[int]) -> None:
    """Each fragment the arguments so far: the last one is what was meant."""
    whole = json.dumps(value)
    ends = sorted({len(whole), *(cut for cut in cuts if 2 <= cut < len(whole))})
    assert json.loads(read(*(whole[:end] for end in ends))[0]) == value


@given(st.lists(st.text(max_size=6), max_size=40))
def test_never_raises(pieces: list[str]) -> None:
    """Foreign text is read without an error, and nothing of it is lost where it is no JSON."""
    text, whole = read(*pieces)
    assert whole or text == "".join(pieces)


class Counted(str):
    """Text that counts how many characters of it are looked at one by one."""

    looked = 0
    __slots__ = ()

    def __getitem__(self, key: object) -> str:
        """Count an index as one character, a slice as none: it is one copy."""
        Counted.looked += isinstance(key, int)
        return super().__getitem__(key)  # type: ignore[index]


@pytest.mark.parametrize("pieces", [1_000, 4_000])
def test_cost_is_linear(pieces: int) -> None:
    """A call of any number of fragments costs so many steps a fragment, however long it has become."""
    Counted.looked = 0
    text = ArgumentText()
    text.add(Counted('{"a":"'))
    for _ in range(pieces):
        text.add(Counted('b\\"c'))
    assert Counted.looked <= 6 * pieces + 20
    assert len(text._joined) <= pieces / 200 + arguments._BLOCK


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the cap nothing more is kept, and the call is not whole."""
    monkeypatch.setattr(arguments, "MAX_TEXT", 10)
    text = ArgumentText()
    for _ in range(100):
        text.add("12345")
    assert text.text() == "1234512345"
    assert text.reading() == ("1234512345", False)


def test_half_of_arguments_encoded_twice_is_read_decoded() -> None:
    """Where garbage follows whole ones."""
    assert read('"{\\"a\\":1}"NaN') == ('{"a":1}NaN', False)


KNOWN: dict[str, object] = {"path": {}, "paths": {}, "n": {}}
SCHEMA: dict[str, object] = {"properties": KNOWN, "required": ["n"]}
TOOL = Parameters.of(SCHEMA, "read")


def grown(text: str, tool: Parameters = TOOL) -> ArgumentText:
    """The text, character by character."""
    arguments = ArgumentText(parameters=tool)
    for character in text:
        arguments.add(character)
    return arguments


@pytest.mark.parametrize("beginning", ["{", '{"'])
@pytest.mark.parametrize("value", [{"path": "a"}, {"n": 1, "path": {"x": ["}"]}}, {"paths": [], "n": None}])
def test_a_lost_beginning_is_found_if_the_first_key_is_a_parameter(beginning: str, value: object) -> None:
    """However the rest is cut: both readings are the intended object, which is complete exactly at its end."""
    rest = json.dumps(value).removeprefix(beginning)
    for cut in range(len(rest)):
        text = ArgumentText(parameters=TOOL)
        text.add(rest[:cut])
        assert not text.is_complete
        text.add(rest[cut:])
        assert (text.beginning, text.reading(), text.is_complete) == (beginning, (json.dumps(value), True), True)
    assert grown(rest).reading() == (json.dumps(value), True)
    assert grown(rest).text() == rest


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
def test_other_texts_lack_no_beginning(text: str) -> None:
    """What begins as JSON, what is cut inside its first key, and what is no object; nor without known parameters."""
    assert not grown(text).beginning
    assert grown(text).reading() == grown(text, UNKNOWN).reading()
    assert grown(text, Parameters(frozenset({"other"}))).beginning == ""


@pytest.mark.parametrize("key", ["arguments", "parameters"])
@pytest.mark.parametrize("inner", [{"path": "a"}, {}, {"path": {"name": "}"}}, json.dumps({"path": "a"})])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_complete_call_means_its_arguments(key: str, inner: object, indent: int | None) -> None:
    """However it is cut; complete exactly at its end."""
    text, intended = json.dumps({"name": "read", key: inner}, indent=indent), inner
    intended = json.loads(inner) if isinstance(inner, str) else inner
    for grew in (grown(text), grown(text[:-1])):
        grew.add("" if grew.size == len(text) else "}")
        assert (json.loads(grew.reading()[0]), grew.is_complete) == (intended, True)
    assert not grown(text[:-1]).is_complete


@pytest.mark.parametrize("key", ["arguments", "input"])
@pytest.mark.parametrize("inner", [{"path": "a"}, json.dumps({"path": "a"})])
def test_a_wrapper_means_what_it_holds(key: str, inner: object) -> None:
    """However it is cut."""
    assert json.loads(grown(json.dumps({key: inner})).reading()[0]) == {"path": "a"}


@pytest.mark.parametrize("text", [', "arguments": {"path": "a"}}', '"parameters":{"path": "a"}}'])
def test_the_rest_of_a_complete_call_means_its_arguments(text: str) -> None:
    """The server took the name out, and sent what follows it."""
    assert grown(text).reading() == ('{"path": "a"}', True)
    assert not grown(text[:-1]).is_complete


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
def test_other_objects_are_no_calls(value: object, tool: Parameters) -> None:
    """Of another tool, with further keys, or where they may be arguments."""
    assert grown(json.dumps(value), tool).reading() == (json.dumps(value), True)


def test_a_long_fragment_shows_what_it_lacks_as_short_ones_do() -> None:
    """How many characters come at once decides nothing."""
    tool = Parameters.of({"properties": {"city": {}}, "required": ["city"]}, "f")
    for text, head in (('city": "' + "x" * 500 + '"}', 0), ('{"name": "f", "arguments": {"city": "' + "x" * 500, 27)):
        for size in (1, 300, 1000):
            arguments = ArgumentText(parameters=tool)
            for at in range(0, len(text), size):
                arguments.add(text[at : at + size])
            assert (arguments.beginning, arguments.head) == ("" if head else '{"', head)
