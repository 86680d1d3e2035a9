"""Many texts looked through at once: most hold no secret, and each search costs more than the bytes of a short one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.escapes import Unescaped, Unquoted, has_quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.redaction.finder import SecretFinder

APART: Final = b"\n\x01\n"
"""Stands between two texts; no expression for secrets reaches over it."""
_DEEPEST: Final = 5
"""How often text is JSON in JSON, or percent-encoded."""


def are_clean(texts: Iterable[bytes], finder: SecretFinder) -> bool:
    """Whether no text holds a secret in any layer; `False` may be wrong, `True` is not."""
    texts = list(texts)
    for _ in range(_DEEPEST):
        words = [text for text in texts if text.isalnum()]  # such as padding, often more than all that is said
        if words:
            texts = [text for text in texts if not text.isalnum()]
            if any(finder.find_by_themselves(APART.join(words))):
                return False
        together = APART.join(texts)
        if any(finder.find(together)):
            return False
        escaped = APART.join([text for text in texts if b"\\" in text])
        meant = Unescaped(escaped).text
        unquoted = [Unquoted(text).text for text in texts if has_quoted(text)]
        if meant == escaped and not unquoted:
            return True
        texts = meant.split(APART) + unquoted
    return not any(finder.find(APART.join(texts)))
