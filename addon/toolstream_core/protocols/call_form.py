"""How a protocol's streams bring a call."""

import enum


class CallForm(enum.StrEnum):
    """How a protocol's streams bring a call."""

    DELTAS = "deltas"
    """Deltas that each name their call (Chat Completions)."""
    ANNOUNCED = "announced"
    """An event announces a call, deltas follow, an event closes it (Responses, Anthropic, Cohere, Bedrock)."""
    WHOLE = "whole"
    """Each entry is a complete call (Gemini, Ollama)."""
