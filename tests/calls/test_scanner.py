"""The scanner against `json.loads`: at every prefix, for every cut, and for text that is no JSON."""

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
    """Whether `text` is JSON by the standard: Python also takes `NaN` and `Infinity`, which are no `int`."""
    try:
        json.loads(text, parse_constant=int)
    except ValueError:
        return False
    return True


def scanned(pieces: list[str]) -> tuple[JsonScanner, str]:
    """The scanner behind all the pieces, and what they have behind the value."""
    scanner, behind = JsonScanner(), ""
    for piece in pieces:
        behind += piece if behind else piece[scanner.feed(piece) :]
    return scanner, behind.lstrip(" \t\n\r")


def cut(text: str, cuts: list[int]) -> list[str]:
    """`text` in pieces."""
    places = sorted({0, len(text), *(one for one in cuts if one < len(text))})
    return [text[begin:end] for begin, end in itertools.pairwise(places)]


@given(TEXTS)
def test_every_prefix(text: str) -> None:
    """A prefix of JSON is viable, and whole exactly where it is JSON itself."""
    for end in range(len(text) + 1):
        scanner, behind = scanned([text[:end]])
        assert not behind
        assert scanner.viable
        assert scanner.is_complete is parses(text[:end])


@given(TEXTS | NOISE, st.lists(st.integers(0, 200)))
def test_any_cut_says_the_same(text: str, cuts: list[int]) -> None:
    """The pieces do not matter: what is found is what is found in the whole text."""
    one, behind = scanned([text])
    other, behind_other = scanned(cut(text, cuts))
    assert (one.viable, one.is_complete, one.ended, one.depth, one.in_string, behind) == (
        other.viable, other.is_complete, other.ended, other.depth, other.in_string, behind_other,
    )  # fmt: skip


@given(TEXTS, NOISE, st.integers(0, 200), st.integers(0, 3))
def test_what_is_no_json(text: str, noise: str, at: int, drop: int) -> None:
    """Text with something wrong in it is JSON exactly where `json.loads` says so."""
    wrong = text[:at] + noise + text[at + drop :]
    scanner, behind = scanned([wrong])
    assert (scanner.is_complete and not behind) is parses(wrong)


@given(NOISE)
def test_what_is_not_viable_stays_so(text: str) -> None:
    """Once it can be no JSON any more, nothing makes it JSON."""
    scanner, behind = scanned([text])
    if behind or not scanner.viable:
        assert not any(parses(text + end) for end in ("", '"', "}", "]", '"}', "1", "0}", "rue", "null", "e1", "u0000"))


@pytest.mark.parametrize("text", ["{\"a\":'}'}", '{"a":"\\d"}', "{a:1}", '{"a":1]', '{"p":"C:\\users"}'])
def test_broken_text_still_ends(text: str) -> None:
    """Its quotes and brackets tell where it ends, all the same."""
    scanner, _ = scanned([*text])
    assert scanner.ended
    assert not scanner.viable


class Counted(str):
    """Text that counts how often it is looked at."""

    looked = 0
    __slots__ = ()

    def __getitem__(self, key: object) -> str:
        """Count it."""
        Counted.looked += 1
        return super().__getitem__(key)  # type: ignore[index]


def test_cost_is_linear() -> None:
    """A fragment costs a bounded number of steps, however much came before."""
    Counted.looked = 0
    scanner = JsonScanner()
    scanner.feed('{"a":"')
    for _ in range(4_000):
        scanner.feed(Counted('b\\"c\\n'))
    assert Counted.looked <= 4_000
