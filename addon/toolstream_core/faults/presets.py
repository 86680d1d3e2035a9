"""Quirks of well-known providers as sets of defects and shapes, by name."""

from __future__ import annotations

from typing import Final, NamedTuple


class Preset(NamedTuple):
    """A quirk, as defects and shapes in the order in which they are applied."""

    name: str
    meaning: str
    parts: tuple[str, ...]
    """Names of defects and shapes."""
    source: str
    """A link to the evidence."""


PRESETS: Final[tuple[Preset, ...]] = (
    Preset(
        "glm-5",
        "GLM-5 on OpenRouter: header, an empty fragment without id, then the arguments in a few fragments",
        ("sequential", "split-header", "empty-fragment", "late-brace"),
        "https://github.com/sigoden/aichat",
    ),
    Preset(
        "deepseek",
        'DeepSeek-style endpoints: continuations carry id ""',
        ("split-header", "empty-id"),
        "https://github.com/spring-projects/spring-ai/issues/5806",
    ),
    Preset(
        "openclaw",
        'continuations carry id "" and name ""',
        ("split-header", "empty-id", "empty-name"),
        "https://github.com/anomalyco/opencode/pull/37783",
    ),
    Preset(
        "openrouter-no-deltas",
        "the finish reason announces tool calls, but no event carries one",
        ("missing-calls",),
        "https://github.com/OpenRouterTeam/ai-sdk-provider/issues/166",
    ),
    Preset(
        "responses-item-id",
        "Responses: argument deltas carry the item's id and no name",
        ("bare-deltas", "tiny-fragments"),
        "https://github.com/openai/openai-python/pull/2731",
    ),
    Preset(
        "kimi",
        "Kimi through new-api: every continuation repeats the name",
        ("split-header", "repeated-name"),
        "https://github.com/QuantumNous/new-api/issues/4203",
    ),
    Preset(
        "qwen",
        'Qwen and other models on DashScope: id "" on continuations',
        ("split-header", "empty-id"),
        "https://github.com/anomalyco/opencode/pull/40969",
    ),
    Preset(
        "fireworks",
        "Fireworks: id, name and type are null on continuations",
        ("split-header", "null-identity"),
        "https://github.com/Effect-TS/effect-smol/pull/2338",
    ),
    Preset(
        "gemini-openai",
        "Gemini as Chat Completions: complete calls, no index, no id, finish reason stop with the last call",
        ("whole-calls", "finish-with-calls", "missing-index", "missing-id", "wrong-finish"),
        "https://github.com/googleapis/python-genai/issues/2868",
    ),
    Preset(
        "mistral",
        "Mistral: all calls and the finish reason in one event, no index, no type",
        ("whole-calls", "calls-in-one-event", "finish-with-calls", "missing-index", "missing-type"),
        "https://github.com/vercel/ai/pull/12901",
    ),
    Preset(
        "grok",
        "xAI: each call complete in one event",
        ("whole-calls",),
        "https://github.com/vercel/ai/pull/1653",
    ),
    Preset(
        "ollama-openai",
        "Ollama as Chat Completions: complete calls at index 0, finish reason stop",
        ("whole-calls", "reused-index", "wrong-finish"),
        "https://github.com/ollama/ollama/pull/7963",
    ),
    Preset(
        "litellm-bedrock",
        "LiteLLM and other converters of Anthropic blocks: indexes begin at 1",
        ("split-header", "offset-index"),
        "https://github.com/BerriAI/litellm/issues/11407",
    ),
    Preset(
        "poolside",
        "another id on every continuation",
        ("split-header", "changing-id"),
        "https://github.com/poolsideai/pool/issues/9",
    ),
    Preset(
        "nim-glm",
        "NVIDIA NIM with GLM: no finish reason",
        ("missing-finish",),
        "https://github.com/earendil-works/pi/pull/6225",
    ),
    Preset(
        "qianfan",
        "Baidu Qianfan and other cumulative streams: each delta repeats all arguments sent so far",
        ("split-header", "cumulative-arguments"),
        "https://github.com/NousResearch/hermes-agent/pull/35718",
    ),
    Preset(
        "eliza",
        "proxies that send the complete call again after its fragments",
        ("replayed-arguments",),
        "https://github.com/elizaOS/eliza/pull/16973",
    ),
    Preset(
        "copilot-responses",
        "GitHub Copilot, Responses: another item id on every event",
        ("rotating-item-id",),
        "https://github.com/BerriAI/litellm/issues/30071",
    ),
    Preset(
        "bifrost",
        "Bifrost, Anthropic: end_turn although the response has tool calls",
        ("wrong-finish",),
        "https://github.com/maximhq/bifrost/issues/3638",
    ),
)
