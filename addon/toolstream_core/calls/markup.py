"""Markup that models leave behind arguments: special tokens, tags, and brackets too many."""

from __future__ import annotations

import re
from typing import Final

MAX_MARKUP: Final = 1024
"""Characters of the longest markup; longer text is none."""
_WHOLE = r"(?:\s|[}\]]|</?[^<>]*>|<[|｜][^<>]*|\[/?[A-Z_]+\]|`{3}\w*)*+"
_BEGUN: Final = re.compile(_WHOLE + r"(?:</?(?:[A-Za-z_][^<>]*)?|\[/?[A-Z_]*|`{1,2})?")
"""The last tag may be cut off."""


def is_markup(text: str) -> bool:
    """Whether `text` is markup, or the begin of it."""
    return len(text) <= MAX_MARKUP and _BEGUN.fullmatch(text) is not None
