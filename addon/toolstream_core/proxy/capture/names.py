"""What captures are called. Nothing that the wire said gets into a path unescaped."""

from __future__ import annotations

import re
from datetime import UTC, datetime

MAX_MODEL = 60
"""Characters of a model's name that are kept."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def stem(started: float, protocol: str, model: str | None) -> str:
    """The name of a capture but for its counter and suffix; `started` in seconds since 1970.

    `20261122-061500.123-openai-chat-gpt-4.1-mini`, in UTC.
    """
    when = datetime.fromtimestamp(started, UTC)
    day, milliseconds = when.strftime("%Y%m%d-%H%M%S"), when.microsecond // 1000
    return f"{day}.{milliseconds:03}-{escaped(protocol) or 'unknown'}-{escaped(model or '') or 'no-model'}"


def escaped(text: str) -> str:
    """`text` as a part of a file's name: letters, digits, `.`, `_` and `-` alone, no leading dot."""
    return _UNSAFE.sub("_", text)[:MAX_MODEL].strip("._-")
