"""Each deviation in words, the projects in which it was seen, and the client versions that were measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from toolstream_core.clients.model import (
    STANDARD,
    Adding,
    Arguments,
    ClientModel,
    Deviation,
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
from toolstream_core.defects.defect import CHAT
from toolstream_core.protocols.protocol import WireProtocol

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
    "docker-agent": f"{_GITHUB}docker/docker-agent/pull/2992",
    "dshcode": f"{_GITHUB}whitelonng/dshcode/issues/36",
    "fantasy": f"{_GITHUB}charmbracelet/fantasy",
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
    "multi-llm-ts": f"{_GITHUB}nbonamy/multi-llm-ts",
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
"""The address of each project, or of the report on it."""


class Quirk(NamedTuple):
    """A deviation of a client, in words."""

    words: str
    """What the client does; a predicate whose subject is the client."""
    fix: str
    """What to change in the client, imperative. `{key}`, `{index}`, `{item}`, `{id}` stand for fields of a protocol."""
    cause: str
    """What it did at the event where the deviation first shows, without a full stop. `{did}` is what it did with it."""
    projects: tuple[str, ...] = ()
    """The projects in which it was seen, by their names in `PROJECTS`."""


_FINDS: Final = "At event {event} the client {did}, because it "
_INVALID: Final = "At event {event} the arguments end as invalid JSON, and the client "
_DROPPED: Final = "The client dropped the call that ends at event {event}, because "
_NOT_READ: Final = "The client does not use what event {event} contains, because it reads "

QUIRKS: Final[Mapping[Deviation, Quirk]] = {
    Key.CHANGED_ID: Quirk(
        "starts a new call when the id differs from the open call's",
        "key fragments by {key}, not by a changed {id}",
        _FINDS + "compares only the id with that of the open call",
        ("pi-ai", "Qwen-Agent"),
    ),
    Key.PRESENT_ID: Quirk(
        "starts a new call for every id, also an empty one",
        "key fragments by {key}, even if {id} is repeated or empty",
        _FINDS + "opens a call for each id that is present",
        ("Spring AI", "ruby_llm"),
    ),
    Key.GIVEN_ID: Quirk(
        "starts a new call for every non-empty id",
        "key fragments by {key}, even if {id} is repeated",
        _FINDS + "opens a call for each id that is not empty",
        ("ruby_llm",),
    ),
    Key.ID: Quirk(
        "matches on id only, and adds fragments without an id to the last call",
        "key fragments by {key}, not by {id}",
        _FINDS + "matches on the id alone",
        ("ruby_llm",),
    ),
    Key.INDEX_AND_ID: Quirk(
        "starts a new call whenever `index` or `id` changes, including when `id` is missing",
        "key fragments by {key} alone",
        _FINDS + "compares index and id with those of the event before",
        ("aichat",),
    ),
    Key.LONGER_ID: Quirk(
        "starts a new call when index or id changes, unless both are shorter",
        "key fragments by {key} alone, not by the longer {id}",
        _FINDS + "compares the lengths of index and id with the open call",
        ("aichat",),
    ),
    Key.NEWEST_OF_INDEX: Quirk(
        "starts a new call for another id at the same index",
        "key fragments by {key}, even if {id} changes",
        _FINDS + "compares ids at the same index",
        ("hermes-agent",),
    ),
    Key.FIRST_OF_INDEX: Quirk(
        "starts a new call for another id at the same index, and adds fragments without an id to the first one",
        "key fragments by {key} alone, and add those without {id} to the newest call",
        _FINDS + "compares ids at the same index, else uses the first call",
        ("langchain", "anthropic-sdk-python"),
    ),
    Key.ONLY_OF_INDEX: Quirk(
        "skips fragments without an id where several calls match",
        "key fragments by {key}, and skip none that comes without {id}",
        _FINDS + "matches on the id before the index",
        ("AI SDK",),
    ),
    Key.CHANGED_INDEX: Quirk(
        "starts a new call whenever the index changes",
        "keep open calls in a map by {key}, as fragments of several calls may alternate",
        _FINDS + "compares the index with that of the event before",
        ("llama-index", "LangChain4j"),
    ),
    Key.INDEX_ALONE: Quirk(
        "adds everything with one index to one call, also the event that opens another call",
        "start a new call at every event that opens one, even if its {key} was used before",
        _FINDS + "uses only the index",
        ("pydantic-ai", "langchain"),
    ),
    Key.POSITION: Quirk(
        "treats the index as a position in its list of calls, and appends where the position is missing",
        "keep open calls in a map by {key}, not in a list",
        _FINDS + "uses the index as a position in its list of calls",
        ("openai-python",),
    ),
    Key.PLACE: Quirk(
        "matches on the position of the entry in its event",
        "key fragments by {key}, not by their position in the event",
        _FINDS + "matches on the position of the entry in the event",
    ),
    Key.ITEM: Quirk(
        "matches on the item id only",
        "key fragments by {index} if {item} is unknown",
        _FINDS + "matches on the item id alone",
        ("pydantic-ai",),
    ),
    Key.LAST: Quirk(
        "adds every delta to the last opened call",
        "key fragments by {key}, not by the last opened call",
        _FINDS + "adds each delta to the last opened call",
        ("llama-index", "pi-ai", "agent-framework", "langchain-oracle", "any-llm"),
    ),
    Key.FIRST_OPENED: Quirk(
        "adds every delta to the first opened call",
        "key fragments by {key}, not by the first opened call",
        _FINDS + "adds each delta to the first opened call",
    ),
    Key.ENTRY: Quirk(
        "treats every entry as a separate call",
        "join all fragments with the same {key} into one call",
        _FINDS + "treats each entry as a call",
        ("OpenClaw",),
    ),
    Key.ONE: Quirk(
        "treats all entries as one call",
        "keep a separate call for each {key}",
        _FINDS + "keeps a single call for all entries",
        ("open-interpreter",),
    ),
    NoIndex.NEW: Quirk(
        "starts a new call for an entry without an index",
        "add a fragment without {index} to the open call",
        _FINDS + "opens a call for each entry without an index",
        ("pi-ai", "AI SDK", "openai-node", "strands"),
    ),
    NoIndex.LAST: Quirk(
        "adds an entry without an index to the last call",
        "treat a missing {index} as 0, not as that of the last call",
        _FINDS + "uses the last call if the index is missing",
    ),
    NoIndex.PLACE: Quirk(
        "matches an entry without an index on its position in the event",
        "treat a missing {index} as 0, not as the position in the event",
        _FINDS + "uses the position in the event if the index is missing",
    ),
    NoIndex.ID: Quirk(
        "matches on the id where the index is missing",
        "treat a missing {index} as 0, even if {id} is new",
        _FINDS + "matches on the id if the index is missing",
    ),
    NoIndex.DROPPED: Quirk(
        "skips entries without an index",
        "read fragments without {index}",
        _FINDS + "skips entries without an index",
        ("Open WebUI",),
    ),
    Entries.FIRST: Quirk(
        "reads only the first entry of an event",
        "read every entry of an event",
        _FINDS + "reads only the first entry of an event",
        ("aichat", "llama-index", "open-interpreter"),
    ),
    Entries.BEFORE_FINISH: Quirk(
        "skips the tool calls of the event with the finish reason",
        "read the tool calls of an event before its finish reason",
        "At event {event} the client {did}, because the event has the finish reason",
        ("docker-agent",),
    ),
    Entries.FROM_ID: Quirk(
        "opens a call only at an entry with an id, and skips the entries before it",
        "open a call at the first fragment of each {key}, even without {id}",
        _FINDS + "opens a call only at an entry with an id",
        ("multi-llm-ts",),
    ),
    Adding.WHOLE: Quirk(
        "closes a call when its arguments are valid JSON, and drops later fragments",
        "append fragments until the response ends, even after valid JSON",
        "At event {event} the client {did}, because the arguments of the call were valid JSON already",
        ("AI SDK",),
    ),
    Adding.HEADER: Quirk(
        "starts a new call for a name after complete arguments",
        "start a new call for another {key}, not for a name after complete arguments",
        "At event {event} the client {did}, because a name came after complete arguments",
        ("AI SDK",),
    ),
    Adding.NEXT: Quirk(
        "starts a new call for anything after complete arguments",
        "start a new call for another {key}, not for text after complete arguments",
        "At event {event} the client {did}, because the fragment came after complete arguments",
        ("google-adk",),
    ),
    Adding.FINISH: Quirk(
        "ignores everything after the finish reason",
        "read all events until the stream ends, even after the finish reason",
        "At event {event} the client {did}, because the finish reason had come",
        ("strands", "aichat"),
    ),
    Adding.REPLACE: Quirk(
        "replaces a call when a later entry of it has an id again",
        "append to a call whose {id} is repeated, and keep what it has",
        "The client lost what event {event} contains, because a later event of the call has an id again",
        ("ruby_llm",),
    ),
    Adding.CONTINUED: Quirk(
        "keeps the arguments of earlier calls in the buffer of the next call",
        "keep an arguments buffer for each {key}, and start it empty",
        "At event {event} the client opened a call, and did not reset its buffer of arguments",
    ),
    Adding.OPENED: Quirk(
        "closes a call when the next one opens, and drops later fragments",
        "append fragments by {key} until the response ends, even after another call has opened",
        "At event {event} the client {did}, because another call had been opened",
        ("fantasy",),
    ),
    Source.MESSAGE: Quirk(
        "also reads the calls of the final message",
        "read the calls of the final message only if no deltas came",
        _FINDS + "also reads the calls of the final message",
    ),
    Source.DELTAS: Quirk(
        "reads only deltas, not events with the complete call",
        "read the complete call from the events that repeat it",
        "At event {event} the client does not use the complete call, because it reads only deltas",
        ("langchain", "pi-ai"),
    ),
    Source.DONE: Quirk(
        "reads the arguments from the event with the complete arguments",
        "read the argument deltas, and not only the event with the complete arguments",
        _NOT_READ + "arguments only from the event with the complete arguments",
        ("llama-index",),
    ),
    Source.ITEM: Quirk(
        "reads the call from the event that closes its item",
        "read the deltas, and not only the event that closes the item",
        _NOT_READ + "calls only from the event that closes their item",
        ("Codex", "AI SDK"),
    ),
    Source.COMPLETED: Quirk(
        "reads the calls from the event that ends the response",
        "read the events of each call, and not only the event that ends the response",
        _NOT_READ + "calls only from the event that ends the response",
        ("openai-agents (Python)",),
    ),
    Source.START: Quirk(
        "reads the arguments from the event that opens the call",
        "read the argument deltas, and not only the event that opens the call",
        _NOT_READ + "arguments only from the event that opens the call",
    ),
    Source.START_AND_DELTAS: Quirk(
        "appends the deltas to the arguments of the event that opens the call",
        "let the deltas replace the arguments of the event that opens the call",
        "At event {event} the client appended arguments to those of the event that opens the call",
        ("AI SDK",),
    ),
    Name.LAST: Quirk(
        "uses the last name of a call",
        "keep the first name of a call, and ignore later ones",
        "At event {event} the client replaced the name of the call by another one",
        ("agno", "openai-agents (Python)", "openai-node"),
    ),
    Name.JOINED: Quirk(
        "concatenates the names of a call",
        "keep the first name of a call, and append nothing to it",
        "At event {event} the client appended a name to the name of the call",
        ("autogen", "llama-index", "pydantic-ai", "google-adk", "haystack", "openai-python", "Qwen-Agent"),
    ),
    Name.OPENING: Quirk(
        "reads the name only from the entry that opens the call",
        "read the name from any fragment of the call",
        "At event {event} the client ignored the name, because the event does not open the call",
        ("strands",),
    ),
    Name.OVERWRITTEN: Quirk(
        "overwrites the name, even with an empty one",
        "keep the name of a call, even if a later one is empty",
        "At event {event} the client overwrote the name of the call",
        ("semantic-kernel", "dshcode"),
    ),
    Id.LAST: Quirk(
        "uses the last id of a call",
        "keep the first {id} of a call, and ignore later ones",
        "At event {event} the client replaced the id of the call by another one",
        ("agno", "openai-node", "pydantic-ai"),
    ),
    Id.JOINED: Quirk(
        "concatenates the ids of a call",
        "keep the first {id} of a call, and append nothing to it",
        "At event {event} the client appended an id to the id of the call",
        ("LangChain4j", "llama-index", "autogen", "openai-python"),
    ),
    Id.OPENING: Quirk(
        "reads the id only from the entry that opens the call",
        "read {id} from any fragment of the call",
        "At event {event} the client ignored the id, because the event does not open the call",
        ("strands",),
    ),
    Id.OVERWRITTEN: Quirk(
        "overwrites the id, even with an empty one",
        "keep the {id} of a call, even if a later one is empty",
        "At event {event} the client overwrote the id of the call",
        ("langchain", "haystack"),
    ),
    Id.ITEM: Quirk(
        "uses the item id as the call id",
        "return {id}, not the id of the item",
        "At event {event} the client used the id of the item as the id of the call",
        ("pydantic-ai",),
    ),
    Id.OWN: Quirk(
        "generates ids for calls",
        "return the {id} from the stream",
        "From event {event} on the client generated the ids of calls",
        ("agno", "google-adk"),
    ),
    Id.UNIQUE: Quirk(
        "generates an id for a call whose id is already used",
        "return the {id} from the stream, even if it is repeated",
        "From event {event} on the client generated the id of each call whose id was in use",
        ("AI SDK",),
    ),
    Arguments.FIRST: Quirk(
        "reads only the first fragment of the arguments",
        "append all argument fragments of a call, not only the first",
        "At event {event} the client ignored arguments, because it had read a fragment of them already",
        ("AI SDK", "strands", "smolagents", "openrouter-ai-sdk"),
    ),
    Arguments.LAST: Quirk(
        "reads only the last fragment of the arguments",
        "append all argument fragments of a call, not only the last",
        "At event {event} the client replaced the arguments by a fragment of them",
        ("ruby_llm",),
    ),
    Arguments.AFTER_OPENING: Quirk(
        "drops the arguments of the entry that opens the call",
        "keep the arguments of the fragment that opens the call",
        "At event {event} the client dropped the arguments, because the event opens the call",
    ),
    Objects.OWN_STRING: Quirk(
        "converts an arguments object to `[object Object]` or its language's equivalent",
        "serialize an arguments object as JSON",
        "At event {event} the client converted an arguments object to text that is not JSON",
        ("openai-node", "openai-agents-js"),
    ),
    Objects.PASSED_OVER: Quirk(
        "skips arguments that are not a string or have another key",
        "accept arguments that are an object or have another key",
        "At event {event} the client skipped arguments that are not a string or have another key",
    ),
    Invalid.EMPTY: Quirk(
        "replaces arguments that are not valid JSON by `{}`",
        "reject arguments that are not valid JSON instead of using `{{}}`",
        _INVALID + "replaced them by `{{}}`",
        ("strands", "AI SDK", "openrouter-ai-sdk"),
    ),
    Invalid.HEAD: Quirk(
        "keeps the valid beginning of arguments that are not valid JSON",
        "reject arguments that are not valid JSON instead of using their beginning",
        _INVALID + "kept only their valid beginning",
        ("AI SDK", "openrouter-ai-sdk", "pi-ai"),
    ),
    Invalid.COMPLETED: Quirk(
        "repairs arguments that are not valid JSON: closes open strings and brackets, puts several values into a list",
        "reject arguments that are not valid JSON instead of completing them",
        _INVALID + "completed them",
        ("langchain", "langchainjs", "langgraph", "pi-ai"),
    ),
    Invalid.SHORTENED: Quirk(
        "drops the last member of truncated arguments, and closes the brackets",
        "reject arguments that are not valid JSON instead of shortening them",
        _INVALID + "shortened them to valid JSON",
    ),
    Invalid.WRAPPED: Quirk(
        "wraps arguments that are not valid JSON into an object or a string",
        "reject arguments that are not valid JSON instead of wrapping them",
        _INVALID + "wrapped them",
        ("pydantic-ai",),
    ),
    NoObject.INVALID: Quirk(
        "treats arguments that are a string as invalid",
        "accept arguments that are a JSON string with an object",
        "At event {event} the arguments end as a JSON string, which the client treats as invalid",
        ("AI SDK", "pydantic-ai"),
    ),
    Kept.NAMED: Quirk(
        "drops calls without a name",
        "report a call without a name instead of dropping it",
        _DROPPED + "it has no name",
        ("aichat", "opencode", "cline"),
    ),
    Kept.WITH_ID: Quirk(
        "drops calls without an id", "keep calls without {id}", _DROPPED + "it has no id", ("litellm",)
    ),
    Kept.VALID: Quirk(
        "drops calls whose arguments are not valid JSON",
        "report a call with invalid arguments instead of dropping it",
        _DROPPED + "its arguments are not valid JSON",
        ("haystack", "smolagents"),
    ),
    Kept.FIRST: Quirk(
        "keeps only the first call",
        "keep every call of a response, not only the first",
        _DROPPED + "it keeps only the first call",
        ("Continue",),
    ),
    Kept.LAST: Quirk(
        "keeps only the last call",
        "keep every call of a response, not only the last",
        _DROPPED + "it keeps only the last call",
    ),
    Kept.CLOSED: Quirk(
        "keeps one open call, and drops it when another one opens before it is closed",
        "keep open calls in a map by {key}, not in one variable",
        _DROPPED + "another call opened before it was closed",
        ("strands",),
    ),
    Kept.PADDED: Quirk(
        "fills the positions before the first index with empty calls",
        "keep open calls in a map by {key}, and add no empty calls",
        "From event {event} on the client fills its list of calls with empty ones up to each index",
        ("agno", "whip"),
    ),
}
"""Every deviation. Ties are decided by the number of projects they were seen in."""
_CHAT_KEYS: Final = ("index",)
FOLLOWS_PROTOCOL: Final = "followed the protocol, but the stream is malformed"


def fix(deviations: tuple[Deviation, ...], protocol: WireProtocol | None = None) -> str:
    """What to change: in the client, or in the stream of a client without deviations.

    `protocol` names the fields; by default those of Chat Completions.
    """
    if not deviations:
        return "the provider has to send a valid stream"
    return f"fix the client: {'; '.join(_fix(one, protocol) for one in deviations)}"


def _fix(deviation: Deviation, protocol: WireProtocol | None) -> str:
    keys = _CHAT_KEYS if protocol is None else protocol.call_keys
    if isinstance(deviation, Key) and not keys:
        joins = deviation is Key.ENTRY
        return "add an entry without a name to the call before it" if joins else "treat each entry as a complete call"
    fields = [f"`{one}`" for one in keys or _CHAT_KEYS]
    id_key = "id" if protocol is None else protocol.id_key
    return QUIRKS[deviation].fix.format(key=" or ".join(fields), index=fields[-1], item=fields[0], id=f"`{id_key}`")


def projects(deviations: tuple[Deviation, ...]) -> dict[str, str]:
    """The projects in which any of the deviations was seen, those that share most of them first, with their links."""
    seen = [name for one in deviations for name in QUIRKS[one].projects]
    ordered = sorted(dict.fromkeys(seen), key=lambda name: -seen.count(name))
    return {name: PROJECTS[name] for name in ordered}


class MeasuredClient(NamedTuple):
    """A client version, and the fewest deviations that reproduce what it returned."""

    name: str
    version: str
    project: str
    """Its name in `PROJECTS`."""
    deviations: tuple[Deviation, ...]
    reproduced: int
    """Responses after which it returned exactly what its model gives."""
    measured: int
    """Responses after which it sent another request."""
    protocol: str = CHAT

    @property
    def model(self) -> ClientModel:
        return STANDARD.with_deviations(self.deviations)


MEASURED: Final = (
    MeasuredClient("agno", "3.1.10 (openai 3.54.0)", "agno", (Name.LAST, Id.LAST, Kept.PADDED), 43, 45),
    MeasuredClient(
        "AI SDK",
        "6.0.326 (@ai-sdk/openai-compatible 2.0.87)",
        "AI SDK",
        (Key.ONLY_OF_INDEX, Id.OPENING, Invalid.EMPTY, NoObject.INVALID),
        42,
        44,
    ),
    MeasuredClient(
        "langchain-openai", "1.7.3 (langchain-core 1.7.2)", "langchain", (Key.FIRST_OF_INDEX, Invalid.COMPLETED), 35, 35
    ),
    MeasuredClient("litellm stream_chunk_builder", "1.106.2", "litellm", (), 34, 34),
    MeasuredClient(
        "openai-agents-js", "0.20.0 (openai 7.57.0)", "openai-agents-js", (Objects.OWN_STRING, Kept.WITH_ID), 36, 36
    ),
    MeasuredClient("openai-node runTools", "6.49.0", "openai-node", (Name.LAST, Id.LAST, Objects.OWN_STRING), 36, 36),
    MeasuredClient("openai-python, loop of its docs", "3.54.0", "openai-python", (Id.OPENING,), 32, 32),
    MeasuredClient("openai-python stream helper", "3.54.0", "openai-python", (Id.JOINED,), 25, 25),
    MeasuredClient("pi-ai", "0.51.1", "pi-ai", (Key.CHANGED_ID,), 36, 36),
    MeasuredClient(
        "pydantic-ai",
        "2.68.0 (openai 3.54.0)",
        "pydantic-ai",
        (NoIndex.ID, Name.JOINED, Id.LAST, Invalid.WRAPPED, NoObject.INVALID),
        44,
        45,
    ),
    MeasuredClient(
        "strands-agents", "1.62.0 (openai 2.54.0)", "strands", (Adding.FINISH, Invalid.EMPTY, Kept.WITH_ID), 42, 43
    ),
)


def measured_in(protocol: str) -> list[MeasuredClient]:
    """The client versions that were measured in a protocol."""
    return [one for one in MEASURED if one.protocol == protocol]
