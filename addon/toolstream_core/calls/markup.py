"""Markup that models leave after arguments: special tokens, tags, and surplus brackets."""

from __future__ import annotations

import re
from typing import Final

MAX_MARKUP: Final = 1024
"""Characters of the longest markup; longer text is not markup."""
_WHOLE = r"(?:\s|[}\]]|</?[^<>]*>|<[|｜][^<>]*|\[/?[A-Z_]+\]|`{3}\w*)*+"
_BEGUN: Final = re.compile(_WHOLE + r"(?:</?(?:[A-Za-z_][^<>]*)?|\[/?[A-Z_]*|`{1,2})?")
"""The last tag may be cut off."""


def is_markup(text: str) -> bool:
    """Whether `text` is markup, or a beginning of it."""
    return len(text) <= MAX_MARKUP and _BEGUN.fullmatch(text) is not None
