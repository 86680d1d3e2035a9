"""The clients of each `for:NAME` shape, in all their versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.e2e.clients import aichat, openclaw, pi_ai, ruby_llm, spring_ai

if TYPE_CHECKING:
    from tests.e2e.clients.conversation import Client

SETS: Final[dict[str, tuple[Client, ...]]] = {
    "aichat": (aichat.PUBLISHED, aichat.UNGUARDED, aichat.FIXED),
    "ruby_llm": (ruby_llm.CHAT, ruby_llm.RESPONSES),
    "openclaw": (openclaw.REPORTED, openclaw.AGGREGATING),
    "spring-ai": (spring_ai.RC1, spring_ai.FIXED),
    "pi-ai": (pi_ai.REPORTED,),
}
