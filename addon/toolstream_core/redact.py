"""Redaction of the output: log, JSON Lines, `inspect`, reports, error messages."""

from __future__ import annotations

import traceback
from functools import lru_cache
from pathlib import Path
from typing import Final

from toolstream_core.redaction import Redaction
from toolstream_core.redaction.body import Fields, spans
from toolstream_core.redaction.channels import json_layout
from toolstream_core.redaction.finder import SecretFinder
from toolstream_core.redaction.signatures import Signatures, without
from toolstream_core.redaction.strings import edited, leaves

HIDDEN: Final = "[redacted]"
MIN_SECRET: Final = 6
"""Characters below which nothing counts as a secret."""
_FRAGMENT: Final = 64
"""Characters up to which a text is remembered: models repeat their tokens, clients their paths; each is in the log."""
_PLAIN: Final = Redaction()


def redacted(text: str, secrets: tuple[str, ...] = ()) -> str:
    """`text` with each secret replaced by `[redacted]`, found as captures find it.

    `secrets` are the values that the request carried (`known_secrets`).
    """
    if len(text) < MIN_SECRET:
        return text
    return _redacted(text, secrets) if len(text) > _FRAGMENT else _redacted_fragment(text, secrets)


def _redacted(text: str, secrets: tuple[str, ...]) -> str:
    (finder, fields), data = _finder(secrets), text.encode("utf-8", "surrogatepass")
    found = list(leaves(data)) if '"' in text else []
    signatures = Signatures(finder).among(data, found, len(data), json_layout(data))
    plain = edited(data, without(signatures))
    edits = [*finder.edits(plain), *fields.edits(plain, found)]
    if signatures and finder.sure:
        edits += finder.sure.edits(data)
    if not edits:
        return text
    clean = edited(data, edits)
    out: list[bytes] = []
    at = 0
    for start, end in spans(data, clean):
        # Digits stay digits, because JSON must stay JSON.
        out += (data[at:start], clean[start:end] if data[start:end].isdigit() else HIDDEN.encode())
        at = end
    return b"".join((*out, data[at:])).decode("utf-8", "surrogatepass")


_redacted_fragment: Final = lru_cache(maxsize=4096)(_redacted)


def raised_at(error: BaseException) -> str:
    """The type of an internal error and where it was raised. Its text is left out: it may quote a request."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


@lru_cache(maxsize=64)
def _finder(secrets: tuple[str, ...]) -> tuple[SecretFinder, Fields]:
    finder = SecretFinder(_PLAIN, secrets)
    return finder, Fields(finder)
