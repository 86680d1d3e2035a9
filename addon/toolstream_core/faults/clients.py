"""The shapes and repairs that each of some clients needs to work, by name."""

from __future__ import annotations

from typing import Final, NamedTuple


class ClientSet(NamedTuple):
    """One client."""

    name: str
    """As in `for:NAME`."""
    client: str
    versions: str
    """The versions that need it."""
    shapes: tuple[str, ...]
    repairs: tuple[str, ...]
    """Names of defects, or `safe`."""
    why: str
    source: str


CLIENTS: Final[tuple[ClientSet, ...]] = (
    ClientSet(
        "aichat",
        "aichat",
        "0.30.0 and the states before its fix",
        ("whole-calls", "one-call-per-event", "even-ids"),
        ("safe", "early-finish"),
        "keys calls by id and index of each delta, passes over shorter keys and an event's further entries, "
        "reads no call behind a finish reason, and needs [DONE]",
        "https://github.com/sigoden/aichat",
    ),
    ClientSet(
        "ruby_llm",
        "ruby_llm with ruby_llm-responses_api",
        "1.9.2",
        ("sequential", "one-call-per-event", "self-contained-deltas"),
        ("safe",),
        "takes every id on a delta for a new call; in Responses it parses each delta alone, under its own name",
        "https://github.com/crmne/ruby_llm",
    ),
    ClientSet(
        "spring-ai",
        "Spring AI OpenAiChatModel",
        "2.0.0-RC1, 2.0.1",
        ("whole-calls", "one-call-per-event"),
        ("safe",),
        "RC1 takes every id that is present, also an empty one, for a new call; 2.0.1 needs an index on every entry",
        "https://github.com/spring-projects/spring-ai/issues/5806",
    ),
    ClientSet(
        "openclaw",
        "OpenClaw assistant",
        "before its aggregator",
        ("whole-calls", "one-call-per-event"),
        ("safe",),
        "takes every delta for a call of its own",
        "https://github.com/openclaw/openclaw",
    ),
    ClientSet(
        "pi-ai",
        "Pi SDK",
        "0.51.1",
        ("sequential",),
        ("safe",),
        "reads deltas only, so calls of the final message are streamed before the finish; "
        "takes a delta without an id for more of the last call; "
        "an answer without calls needs the repair missing-calls beside it, which costs a request",
        "https://github.com/earendil-works/pi",
    ),
    ClientSet(
        "langchain4j",
        "LangChain4j OpenAiStreamingChatModel",
        "1.19.0",
        ("sequential",),
        ("safe",),
        "takes a call for whole when a fragment of another comes, and what follows of it for a call without a name",
        "https://github.com/langchain4j/langchain4j/issues/4937",
    ),
    ClientSet(
        "openai-stream",
        "OpenAI's stream helpers, and what reads as they do (LlamaIndex)",
        "Python `chat.completions.stream`, JavaScript `chat.completions.stream` and `runTools`",
        ("sequential",),
        ("safe",),
        "take a call for done, and parse it, when an entry of another one comes",
        "https://github.com/openai/openai-python/blob/main/src/openai/lib/streaming/chat/_completions.py",
    ),
)
