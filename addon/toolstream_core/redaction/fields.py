"""Values of a JSON text that are secrets by their field's name, or by what stands beside them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.assignments import counts_as_secret, looks_random
from toolstream_core.redaction.escapes import Edit, beside_escapes
from toolstream_core.redaction.finder import filled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.redaction.finder import SecretFinder
    from toolstream_core.redaction.leaves import Leaf
    from toolstream_core.redaction.names import Sensitivity

type Span = tuple[int, int]

_NAMES: Final = 4096
_LONGEST: Final = 128
_NAME: Final = 64
_NAMING: Final = frozenset({b"name", b"key", b"header", b""})
_VALUES: Final = frozenset({b"value", b""})
_PAIR_BEGINS: Final = re.compile(rb'(?P<among>[\[,]\s*+)?\[\s*+"\Z')
_PAIR_ENDS: Final = re.compile(rb'"\s*+\]')
_BEFORE: Final = 64
_NUMBER: Final = re.compile(rb'":[ ]?-?([0-9]{3,})(?![0-9.eE])')
# Of a key as https://www.rfc-editor.org/rfc/rfc7517 writes it.
_KEY_TYPE: Final = b'"kty"'
_PARTS_OF_KEYS: Final = frozenset(b"d k p q dp dq qi".split())
_KEY_LENGTH: Final = 16


class Fields:
    """Those of one body; remembers the names it has seen."""

    def __init__(self, finder: SecretFinder) -> None:
        """`finder` knows what names say."""
        self._finder = finder
        self._levels: dict[bytes, Sensitivity] = {}

    def edits(self, text: bytes, found: Sequence[Leaf]) -> Iterator[Edit]:
        """What overwrites the values of secret names."""
        for begin, stop in self._strings(text, found):
            for start, end in beside_escapes(text, begin, stop):
                yield Edit(start, filled(text[start:end]))
        for start, end in self._numbers(text):
            yield Edit(start, filled(text[start:end]))

    def _strings(self, text: bytes, found: Sequence[Leaf]) -> Iterator[Span]:
        named: Leaf | None = None
        has_keys = _KEY_TYPE in text
        for leaf in found:
            value = text[leaf.start : leaf.end]
            level = self._level(leaf.key)
            if (
                (level and counts_as_secret(value, level, sure=True))
                or (has_keys and leaf.key in _PARTS_OF_KEYS and len(value) >= _KEY_LENGTH and looks_random(value))
                or (named is not None and leaf.key in _VALUES and self._is_named(text, named, leaf))
            ):
                yield leaf.start, leaf.end
            named = leaf if leaf.key in _NAMING and len(value) < _NAME else None

    def _is_named(self, text: bytes, name: Leaf, leaf: Leaf) -> bool:
        """Whether a value is that of the name before it, as HAR files and traces say headers.

        `{"name": "x-api-key", "value": "…"}`; `[["x-api-key", "…"]]`, while `["password", "email"]` are two names.
        """
        level = self._level(text[name.start : name.end])
        value = text[leaf.start : leaf.end]
        if not level or text[name.end : leaf.outset].strip() != b'",' or not counts_as_secret(value, level, sure=True):
            return False
        if leaf.key:
            return True
        begins = _PAIR_BEGINS.search(text, max(0, name.start - _BEFORE), name.start)
        if begins is None or _PAIR_ENDS.match(text, leaf.end) is None:
            return False
        return begins["among"] is not None or looks_random(value)

    def _numbers(self, text: bytes) -> Iterator[Span]:
        for number in _NUMBER.finditer(text):
            at = number.start()
            level = self._level(text[text.rfind(b'"', max(0, at - _LONGEST), at) + 1 : at])
            if level and counts_as_secret(number[1], level, sure=True):
                yield number.span(1)

    def _level(self, name: bytes) -> Sensitivity:
        level = self._levels.get(name)
        if level is None:
            level = self._finder.sensitivity(name[:_LONGEST].decode("latin-1"))
            if len(self._levels) >= _NAMES:
                self._levels.clear()
            self._levels[name] = level
        return level
