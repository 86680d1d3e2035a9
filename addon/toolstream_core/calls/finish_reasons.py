"""Finish reasons of all protocols that report a truncated response."""

from __future__ import annotations

import re
from typing import Final

_CUT: Final = re.compile(
    r"length|max_|max tokens|token_?limit|exceeded|filter|safety|refus|recitation|blocklist|prohibited|spii"
    r"|error|fail|insufficient|incomplete|malformed|time_?out|abort|cancel|interrupt|continuation",
    re.IGNORECASE,
)
"""Parts of finish reasons that report truncation: `length` (OpenAI), `max_tokens` and
`model_context_window_exceeded` (Anthropic), `insufficient_system_resource` (DeepSeek), `incomplete: …` (Responses),
`error` (OpenRouter), `abort` (vLLM), `requires_continuation` (Interactions)."""


def is_cut(reason: str) -> bool:
    """Whether a finish reason reports a truncated turn: open calls may be incomplete then."""
    return _CUT.search(reason) is not None
