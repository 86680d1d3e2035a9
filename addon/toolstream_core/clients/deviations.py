"""Each deviation in words, and the projects in which it was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.clients.model import (
    Adding,
    Arguments,
    Entries,
    Id,
    Invalid,
    Kept,
    Key,
    Name,
    NoIndex,
    NoObject,
    Objects,
    Source,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.clients.model import Deviation

_GITHUB: Final = "https://github.com/"
PROJECTS: Final[Mapping[str, str]] = {
    "agent-framework": f"{_GITHUB}microsoft/agent-framework/issues/8336",
    "agno": f"{_GITHUB}agno-agi/agno",
    "AI SDK": f"{_GITHUB}vercel/ai",
    "aichat": f"{_GITHUB}sigoden/aichat",
    "anthropic-sdk-python": f"{_GITHUB}anthropics/anthropic-sdk-python",
    "any-llm": f"{_GITHUB}mozilla-ai/any-llm/pull/1305",
    "autogen": f"{_GITHUB}microsoft/autogen",
    "cline": f"{_GITHUB}cline/cline",
    "Codex": f"{_GITHUB}openai/codex",
    "Continue": f"{_GITHUB}continuedev/continue",
    "dshcode": f"{_GITHUB}whitelonng/dshcode/issues/36",
    "google-adk": f"{_GITHUB}google/adk-python",
    "haystack": f"{_GITHUB}deepset-ai/haystack",
    "hermes-agent": f"{_GITHUB}NousResearch/hermes-agent",
    "langchain": f"{_GITHUB}langchain-ai/langchain",
    "langchain-oracle": f"{_GITHUB}oracle/langchain-oracle/issues/253",
    "langchainjs": f"{_GITHUB}langchain-ai/langchainjs/pull/11471",
    "langgraph": f"{_GITHUB}langchain-ai/langgraph",
    "LangChain4j": f"{_GITHUB}langchain4j/langchain4j/issues/4937",
    "litellm": f"{_GITHUB}BerriAI/litellm/pull/33223",
    "llama-index": f"{_GITHUB}run-llama/llama_index",
    "open-interpreter": f"{_GITHUB}endolith/open-interpreter/issues/315",
    "Open WebUI": f"{_GITHUB}open-webui/open-webui/pull/27190",
    "openai-agents (Python)": f"{_GITHUB}openai/openai-agents-python",
    "openai-agents-js": f"{_GITHUB}openai/openai-agents-js",
    "openai-node": f"{_GITHUB}openai/openai-node",
    "openai-python": f"{_GITHUB}openai/openai-python",
    "OpenClaw": f"{_GITHUB}openclaw/openclaw",
    "opencode": f"{_GITHUB}anomalyco/opencode",
    "openrouter-ai-sdk": f"{_GITHUB}OpenRouterTeam/ai-sdk-provider",
    "pi-ai": f"{_GITHUB}earendil-works/pi",
    "pydantic-ai": f"{_GITHUB}pydantic/pydantic-ai",
    "Qwen-Agent": f"{_GITHUB}QwenLM/Qwen-Agent/pull/943",
    "ruby_llm": f"{_GITHUB}crmne/ruby_llm",
    "semantic-kernel": f"{_GITHUB}microsoft/semantic-kernel/pull/9601",
    "smolagents": f"{_GITHUB}huggingface/smolagents",
    "Spring AI": f"{_GITHUB}spring-projects/spring-ai/issues/5806",
    "strands": f"{_GITHUB}strands-agents/sdk-python",
    "whip": f"{_GITHUB}context-labs/whip/pull/111",
}
"""Where each project, or the report on it, is found."""


class Row(NamedTuple):
    """One deviation."""

    words: str
    """What the client does; a sentence without its subject."""
    projects: tuple[str, ...] = ()
    """In which it was seen, by their names in `PROJECTS`."""


ROWS: Final[Mapping[Deviation, Row]] = {
    Key.CHANGED_ID: Row("takes an id that differs from the open call's for a new call", ("pi-ai", "Qwen-Agent")),
    Key.PRESENT_ID: Row("takes every present id for a new call", ("Spring AI", "ruby_llm")),
    Key.GIVEN_ID: Row("takes every id that is not empty for a new call", ("ruby_llm",)),
    Key.ID: Row("goes by the id alone, and takes what has none for more of the last call", ("ruby_llm",)),
    Key.INDEX_AND_ID: Row("takes every change of index or id, to no id too, for a new call", ("aichat",)),
    Key.LONGER_ID: Row("takes a change of index or id for a new call unless the two are shorter", ("aichat",)),
    Key.NEWEST_OF_INDEX: Row("takes another id at the same index for a new call", ("hermes-agent",)),
    Key.FIRST_OF_INDEX: Row(
        "takes another id at the same index for a new call, and what has no id for more of the first one",
        ("langchain", "anthropic-sdk-python"),
    ),
    Key.ONLY_OF_INDEX: Row("passes over what has no id where several calls fit it", ("AI SDK",)),
    Key.CHANGED_INDEX: Row("takes every change of the index for a new call", ("llama-index", "LangChain4j")),
    Key.POSITION: Row(
        "takes the index for a position in its list of calls, and appends where there is none", ("openai-python",)
    ),
    Key.PLACE: Row("goes by the entry's place in its event"),
    Key.ITEM: Row("goes by the item id alone", ("pydantic-ai",)),
    Key.LAST: Row(
        "adds every delta to the call that was opened last",
        ("llama-index", "pi-ai", "agent-framework", "langchain-oracle", "any-llm"),
    ),
    Key.ENTRY: Row("takes every entry for a call of its own", ("OpenClaw",)),
    Key.ONE: Row("takes all entries for one call", ("open-interpreter",)),
    NoIndex.NEW: Row("takes an entry without an index for a new call", ("pi-ai", "AI SDK", "openai-node", "strands")),
    NoIndex.LAST: Row("takes an entry without an index for more of the last call"),
    NoIndex.PLACE: Row("takes an entry without an index for the call of its place in the event"),
    NoIndex.ID: Row("goes by the id where there is no index"),
    NoIndex.DROPPED: Row("passes over entries without an index", ("Open WebUI",)),
    Entries.FIRST: Row("reads only the first entry of an event", ("aichat", "llama-index", "open-interpreter")),
    Adding.WHOLE: Row("closes a call once its arguments are whole, and loses what follows", ("AI SDK",)),
    Adding.HEADER: Row("takes a name behind whole arguments for a new call", ("AI SDK",)),
    Adding.NEXT: Row("takes whatever follows whole arguments for a new call", ("google-adk",)),
    Adding.FINISH: Row("reads nothing behind the finish reason", ("strands", "aichat")),
    Adding.REPLACE: Row("lets an entry with an id replace what came of its call", ("ruby_llm",)),
    Source.MESSAGE: Row("reads the calls of the final message too"),
    Source.DELTAS: Row("reads the deltas alone, and not what says the call as a whole", ("langchain", "pi-ai")),
    Source.DONE: Row("takes the arguments from the event that says them whole", ("llama-index",)),
    Source.ITEM: Row("takes the call from the event that closes its item", ("Codex", "AI SDK")),
    Source.COMPLETED: Row("takes the calls from the event that ends the response", ("openai-agents (Python)",)),
    Source.START: Row("takes the arguments from the event that opens the call"),
    Source.START_AND_DELTAS: Row("puts the deltas behind the arguments of the event that opens the call", ("AI SDK",)),
    Name.LAST: Row("takes the last name of a call", ("agno", "openai-agents (Python)", "openai-node")),
    Name.JOINED: Row(
        "joins the names of a call",
        ("autogen", "llama-index", "pydantic-ai", "google-adk", "haystack", "openai-python", "Qwen-Agent"),
    ),
    Name.OPENING: Row("takes the name from the entry that opens the call, and from no other", ("strands",)),
    Name.OVERWRITTEN: Row("overwrites the name, with an empty one too", ("semantic-kernel", "dshcode")),
    Id.LAST: Row("takes the last id of a call", ("agno", "openai-node", "pydantic-ai")),
    Id.JOINED: Row("joins the ids of a call", ("LangChain4j", "llama-index", "autogen", "openai-python")),
    Id.OPENING: Row("takes the id from the entry that opens the call, and from no other", ("strands",)),
    Id.OVERWRITTEN: Row("overwrites the id, with an empty one too", ("langchain",)),
    Id.ITEM: Row("takes the item id for the call's", ("pydantic-ai",)),
    Id.OWN: Row("gives calls ids of its own", ("agno", "google-adk")),
    Id.UNIQUE: Row("gives a call whose id is taken one of its own", ("AI SDK",)),
    Arguments.FIRST: Row(
        "reads the first fragment of the arguments alone", ("AI SDK", "strands", "smolagents", "openrouter-ai-sdk")
    ),
    Arguments.LAST: Row("reads the last fragment of the arguments alone", ("ruby_llm",)),
    Arguments.AFTER_OPENING: Row("loses the arguments of the entry that opens the call"),
    Objects.OWN_STRING: Row(
        "makes `[object Object]`, or what its language makes, of arguments that are an object",
        ("openai-node", "openai-agents-js"),
    ),
    Objects.PASSED_OVER: Row("passes over arguments that are no string, or stand under another key"),
    Invalid.EMPTY: Row("makes `{}` of arguments that are not valid JSON", ("strands", "AI SDK", "openrouter-ai-sdk")),
    Invalid.HEAD: Row(
        "keeps the valid head of arguments that are not valid JSON", ("AI SDK", "openrouter-ai-sdk", "pi-ai")
    ),
    Invalid.COMPLETED: Row(
        "repairs arguments that are not valid JSON: closes open strings and brackets, makes a list of several values",
        ("langchain", "langchainjs", "langgraph", "pi-ai"),
    ),
    Invalid.SHORTENED: Row("drops the last member of arguments that were cut off, and closes the brackets"),
    Invalid.WRAPPED: Row("wraps arguments that are not valid JSON into an object or a string", ("pydantic-ai",)),
    NoObject.INVALID: Row("treats arguments that are a string as not valid", ("AI SDK", "pydantic-ai")),
    Kept.NAMED: Row("drops calls without a name", ("aichat", "opencode", "cline")),
    Kept.WITH_ID: Row("drops calls without an id", ("litellm",)),
    Kept.VALID: Row("drops calls whose arguments are not valid JSON", ("haystack", "smolagents")),
    Kept.FIRST: Row("keeps the first call only", ("Continue",)),
    Kept.LAST: Row("keeps the last call only"),
    Kept.PADDED: Row("fills the places before the first index with empty calls", ("agno", "whip")),
}
"""Every deviation. Those of equal effect are told apart by how many projects they were seen in."""
BY_THE_LETTER: Final = "reads the stream as the protocol says; the stream says the calls otherwise than they were meant"


def names(deviations: tuple[Deviation, ...]) -> list[str]:
    """The names of deviations, as reports say them."""
    return [one.value for one in deviations]


def projects(deviations: tuple[Deviation, ...]) -> dict[str, str]:
    """The projects in which any of the deviations was seen, those that share most of them first, with their links."""
    seen = [name for one in deviations for name in ROWS[one].projects]
    ordered = sorted(dict.fromkeys(seen), key=lambda name: -seen.count(name))
    return {name: PROJECTS[name] for name in ordered}
