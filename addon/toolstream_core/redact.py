"""Keeps secrets out of everything that is told or kept. Knows what secrets look like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HIDDEN = "[redacted]"
MIN_SECRET = 8
"""Characters below which nothing counts as a secret."""

# Shapes as published by their issuers: OpenAI and Anthropic `sk-…`, Google `AIza…`, GitHub `ghp_…`, Slack `xoxb-…`,
# AWS `AKIA…`, Groq `gsk_…`, xAI `xai-…`, Hugging Face `hf_…`, JSON web tokens, and whatever follows `Bearer`.
_SHAPES = re.compile(
    r"\b(?:sk|rk|pk)-[A-Za-z0-9_-]{12,}"
    r"|\b(?:gsk|hf|ghp|gho|ghu|ghs|ghr|github_pat|xox[abprs])[-_][A-Za-z0-9_-]{16,}"
    r"|\bxai-[A-Za-z0-9]{16,}"
    r"|\bAIza[0-9A-Za-z_-]{30,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}"
)
_HINTS = ("sk-", "rk-", "pk-", "gsk_", "hf_", "gh", "xox", "xai-", "AIza", "AKIA", "ASIA", "eyJ", "earer ")
_HEADER = re.compile(r"auth|api-?key|token|secret|cookie|signature|credential|password", re.IGNORECASE)
_QUERY = re.compile(r"key|token|secret|sig|auth|password|credential", re.IGNORECASE)


def is_secret_header(name: str) -> bool:
    """Whether a header of this name carries a secret."""
    return _HEADER.search(name) is not None


def is_secret_parameter(name: str) -> bool:
    """Whether a query parameter of this name carries a secret."""
    return _QUERY.search(name) is not None


def redacted(text: str, secrets: tuple[str, ...] = ()) -> str:
    """`text` without what looks like a secret, and without `secrets`, the values that the request itself carried."""
    if len(text) < MIN_SECRET:
        return text
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, HIDDEN)
    for hint in _HINTS:
        if hint in text:
            return _SHAPES.sub(HIDDEN, text)
    return text


def request_secrets(headers: Iterable[tuple[str, str]], path: str) -> tuple[str, ...]:
    """The values of a request that are secrets by the name of their header or parameter, longest first."""
    found = {value for value in _carried(headers, path) if len(value) >= MIN_SECRET}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def _carried(headers: Iterable[tuple[str, str]], path: str) -> Iterator[str]:
    for name, value in headers:
        if name.lower() == "cookie":
            yield from (pair.partition("=")[2].strip() for pair in value.split(";"))
        elif is_secret_header(name):
            yield value.rpartition(" ")[2]
    try:
        query = urlsplit(path).query
    except ValueError:
        return
    for pair in query.split("&"):
        for name, value in parse_qsl(pair):
            if is_secret_parameter(name):
                yield from (value, pair.partition("=")[2])
