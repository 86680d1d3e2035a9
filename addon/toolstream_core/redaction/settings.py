"""The settings of redaction."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolstream_core.redaction.names import normal


class TextMode(enum.StrEnum):
    """How chat text is replaced."""

    KEEP = "keep"
    MASK = "mask"
    """Letters become `x`, digits `1`."""
    SHAPE = "shape"
    """Filler with the same case, word lengths and bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """How a kept flow is redacted. Raises `ValueError` for an invalid regular expression."""

    text: TextMode = TextMode.KEEP
    names: tuple[str, ...] = ()
    """Further names of headers, parameters and fields whose values are secret; case, `-` and `_` do not matter."""
    patterns: tuple[str, ...] = ()
    """Further regular expressions; all their matches are secrets."""

    @property
    def normal_names(self) -> frozenset[str]:
        return frozenset(map(normal, self.names))

    def __post_init__(self) -> None:
        """Check the patterns, so that an invalid one is reported before the first flow."""
        for pattern in self.patterns:
            try:
                re.compile(pattern.encode())
            except re.error as error:
                raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error


def redaction_of(secrets: Sequence[str], text: TextMode = TextMode.KEEP) -> Redaction:
    """The redaction from options; each secret is a name, or a `/regular expression/`. Raises `ValueError`."""
    patterns = [secret for secret in secrets if len(secret) > 2 and secret[0] == secret[-1] == "/"]  # noqa: PLR2004 - two slashes
    names = tuple(secret for secret in secrets if secret not in patterns)
    return Redaction(text=text, names=names, patterns=tuple(secret[1:-1] for secret in patterns))
