"""The JSON scanner compared with `json.loads`."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.calls.scanner import JsonScanner

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
TEXTS = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    JSON,
    st.booleans(),
    st.sampled_from([None, 1]),
)
NOISE = st.text(st.sampled_from('{}[]",:\\ \n\t\x01u0019ab.eE+-tfn/é\ud83d'), max_size=12)


def parses(text: str) -> bool:
    """Return whether `text` is standard JSON: `int` rejects `NaN` and `Infinity`, which Python accepts."""
    try:
        json.loads(text, parse_constant=int)
    except ValueError:
        return False
    return True


def scanned(fragments: list[str]) -> tuple[JsonScanner, str]:
    """Feed the fragments; return the scanner and the text after the value."""
    scanner, rest = JsonScanner(), ""
    for fragment in fragments:
        rest += fragment if rest else fragment[scanner.feed(fragment) :]
    return scanner, rest.lstrip(" \t\n\r")


def cut(text: str, cuts: list[int]) -> list[str]:
    """Split `text` into fragments."""
    places = sorted({0, len(text), *(one for one in cuts if one < len(text))})
    return [text[begin:end] for begin, end in itertools.pairwise(places)]


@given(TEXTS)
def test_prefixes(text: str) -> None:
    """A prefix of JSON is viable, and complete exactly if it is JSON."""
    for end in range(len(text) + 1):
        scanner, rest = scanned([text[:end]])
        assert not rest
        assert scanner.viable
        assert scanner.is_complete is parses(text[:end])


@given(TEXTS | NOISE, st.lists(st.integers(0, 200)))
def test_the_scanner_does_not_depend_on_fragments(text: str, cuts: list[int]) -> None:
    """The scanner has the same state after a text in any fragments."""
    one, rest = scanned([text])
    other, other_rest = scanned(cut(text, cuts))
    assert (one.viable, one.is_complete, one.ended, one.depth, one.in_string, rest) == (
        other.viable, other.is_complete, other.ended, other.depth, other.in_string, other_rest,
    )  # fmt: skip


@given(TEXTS, NOISE, st.integers(0, 200), st.integers(0, 3))
def test_damaged_text_is_complete_only_if_it_is_json(text: str, noise: str, at: int, drop: int) -> None:
    """A damaged text is complete exactly if `json.loads` parses it."""
    damaged = text[:at] + noise + text[at + drop :]
    scanner, rest = scanned([damaged])
    assert (scanner.is_complete and not rest) is parses(damaged)


@given(NOISE)
def test_text_that_is_not_viable_has_no_json_continuation(text: str) -> None:
    """No continuation makes JSON of a text that is not viable."""
    scanner, rest = scanned([text])
    if rest or not scanner.viable:
        assert not any(parses(text + end) for end in ("", '"', "}", "]", '"}', "1", "0}", "rue", "null", "e1", "u0000"))


@pytest.mark.parametrize("text", ["{\"a\":'}'}", '{"a":"\\d"}', "{a:1}", '{"a":1]', '{"p":"C:\\users"}'])
def test_invalid_objects_have_an_end(text: str) -> None:
    """The end of an invalid object is found by its quotes and brackets."""
    scanner, _ = scanned([*text])
    assert scanner.ended
    assert not scanner.viable


class Counted(str):
    """Text that counts reads of its characters."""

    reads = 0
    __slots__ = ()

    def __getitem__(self, key: object) -> str:
        """Count a read."""
        Counted.reads += 1
        return super().__getitem__(key)  # type: ignore[index]


def test_cost_is_linear() -> None:
    """A fragment costs a limited number of steps, independent of the text before it."""
    Counted.reads = 0
    scanner = JsonScanner()
    scanner.feed('{"a":"')
    for _ in range(4_000):
        scanner.feed(Counted('b\\"c\\n'))
    assert Counted.reads <= 4_000
