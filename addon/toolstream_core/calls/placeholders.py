"""Recognises placeholders for later arguments, and markup that a server did not remove."""

from __future__ import annotations

import re
from typing import Final

from toolstream_core.calls.json_text import has_nothing
from toolstream_core.calls.scanner import WS

MAX_MARKUP: Final = 1024
"""Characters of the longest markup; longer text is not markup."""
_MARK: Final = r"</?[^<>]*>|\[/?[A-Z_]+\]|`{3}\w*"
"""A tag or special token of a model's format."""
MARKS: Final = rf"(?:{WS}(?:{_MARK}))++"
BEGUN_MARK: Final = r"</?(?:[A-Za-z_|｜][^<>]*)?|\[/?[A-Z_]+|`{1,2}"
"""An incomplete tag or token."""
_BEGUN: Final = re.compile(rf"(?:\s|[}}\]]|{_MARK})*+(?:{BEGUN_MARK}|\[/?)?")
_WORDS: Final = ("null", "None", "undefined")
"""The null of JSON, Python and JavaScript."""
EMPTY: Final = rf'(?:{WS}(?:\{{{WS}\}}|"\{{{WS}\}}"|{"|".join(_WORDS)}))'
_BEGUN_WORD: Final = "|".join(word[:end] for word in _WORDS for end in range(len(word) - 1, 0, -1))
PLACEHOLDER: Final = rf"(?:{MARKS}|(?:{MARKS})?{EMPTY}+){WS}"
"""What may precede the arguments."""
LONGEST_PLACEHOLDER: Final = 64
"""Characters of the longest text that may be a placeholder."""
_PLACEHOLDER: Final = re.compile(rf"{PLACEHOLDER}|(?:{MARKS})?{WS}(?:{BEGUN_MARK}|{_BEGUN_WORD})")
SEVERAL: Final = re.compile(rf"{EMPTY}{{2,}}{WS}")
_BEGIN: Final = re.compile(rf'(?:{MARKS})?{EMPTY}*{WS}(?:{BEGUN_MARK}|\[/?|\{{|"|"\{{|"\{{{WS}\}}|{_BEGUN_WORD})?{WS}')
BEFORE: Final = re.compile(rf'{PLACEHOLDER}(?=[{{"])')


def is_markup(text: str) -> bool:
    """Whether `text` is markup, or a beginning of it."""
    return len(text) <= MAX_MARKUP and _BEGUN.fullmatch(text) is not None


def is_garbage(complete: str, rest: str) -> bool:
    """Whether text after a complete object is markup or brackets; after `{}`, a bracket shows lost text instead."""
    return is_markup(rest) and not (rest[:1] in {"}", "]"} and has_nothing(complete))


def is_placeholder(text: str) -> bool:
    """Whether a text is `{}`, `null` or markup, which may stand for arguments that follow."""
    return len(text) <= LONGEST_PLACEHOLDER and _PLACEHOLDER.fullmatch(text) is not None


def may_become_placeholder(text: str) -> bool:
    """Whether a text is the start of placeholders, or some of them: `{`, `nul`, `{}{`."""
    return len(text) <= LONGEST_PLACEHOLDER and _BEGIN.fullmatch(text) is not None
