"""What is written about the defects, for reports: the parts of their pages, and where the protocols are described."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row

SPECIFICATIONS: Final = {
    "openai-chat": (
        "OpenAI, Chat Completions: streaming events",
        "https://platform.openai.com/docs/api-reference/chat-streaming",
    ),
    "openai-responses": (
        "OpenAI, Responses: streaming events",
        "https://platform.openai.com/docs/api-reference/responses-streaming",
    ),
    "anthropic": (
        "Anthropic, streaming messages",
        "https://docs.anthropic.com/en/docs/build-with-claude/streaming",
    ),
    "gemini": (
        "Google, Gemini API: streamGenerateContent",
        "https://ai.google.dev/api/generate-content",
    ),
    "ollama": (
        "Ollama, API: chat",
        "https://github.com/ollama/ollama/blob/main/docs/api.md",
    ),
}
"""By protocol: the title and address of its description."""
SERVER_SENT_EVENTS: Final = (
    "WHATWG HTML, server-sent events",
    "https://html.spec.whatwg.org/multipage/server-sent-events.html",
)
_HEADING = re.compile(r"^## (.+)\n", re.MULTILINE)


@cache
def sections(row: Row) -> dict[str, str]:
    """The page of a defect by its headings (`Why it hurts`, `Repair`, `Seen with`)."""
    page = (files("toolstream_core.defects") / "pages" / f"{row.name}.md").read_text(encoding="utf-8")
    _, *parts = _HEADING.split(page)
    return {heading: text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def specification(row: Row, dialect: str) -> tuple[str, str] | None:
    """The title and address of what describes the thing that is wrong."""
    if row.family == "framing" and dialect in {"openai-chat", "openai-responses", "anthropic", "gemini"}:
        return SERVER_SENT_EVENTS if row.code < "TS007" else SPECIFICATIONS[dialect]
    return SPECIFICATIONS.get(dialect)
