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
        "0.30.0 and earlier",
        ("whole-calls", "one-call-per-event", "even-ids"),
        ("safe", "early-finish"),
        "matches calls on id and index of each delta, skips shorter keys and all but the first entry of an event, "
        "ignores calls after a finish reason, and requires [DONE]",
        "https://github.com/sigoden/aichat",
    ),
    ClientSet(
        "ruby_llm",
        "ruby_llm with ruby_llm-responses_api",
        "1.9.2",
        ("sequential", "one-call-per-event", "self-contained-deltas"),
        ("safe",),
        "treats every id on a delta as a new call; in Responses it parses each delta separately, under its own name",
        "https://github.com/crmne/ruby_llm",
    ),
    ClientSet(
        "spring-ai",
        "Spring AI OpenAiChatModel",
        "2.0.0-RC1, 2.0.1",
        ("whole-calls", "one-call-per-event"),
        ("safe",),
        "RC1 treats every id, even an empty one, as a new call; 2.0.1 requires an index on every entry",
        "https://github.com/spring-projects/spring-ai/issues/5806",
    ),
    ClientSet(
        "openclaw",
        "OpenClaw assistant",
        "before the aggregator was added",
        ("whole-calls", "one-call-per-event"),
        ("safe",),
        "treats every delta as a separate call",
        "https://github.com/openclaw/openclaw",
    ),
    ClientSet(
        "pi-ai",
        "Pi SDK",
        "0.51.1",
        ("sequential",),
        ("safe",),
        "reads only deltas, so calls of the final message are streamed before the finish; "
        "adds a delta without an id to the last call; "
        "a response without calls also needs the repair missing-calls, which costs a request",
        "https://github.com/earendil-works/pi",
    ),
    ClientSet(
        "langchain4j",
        "LangChain4j OpenAiStreamingChatModel",
        "1.19.0",
        ("sequential",),
        ("safe",),
        "treats a call as complete when a fragment of another call arrives, "
        "and its later fragments as a call without a name",
        "https://github.com/langchain4j/langchain4j/issues/4937",
    ),
    ClientSet(
        "openai-stream",
        "OpenAI's stream helpers, and clients that use them (LlamaIndex)",
        "Python `chat.completions.stream`, JavaScript `chat.completions.stream` and `runTools`",
        ("sequential",),
        ("safe",),
        "treat a call as complete, and parse it, when an entry of another call arrives",
        "https://github.com/openai/openai-python/blob/main/src/openai/lib/streaming/chat/_completions.py",
    ),
)
