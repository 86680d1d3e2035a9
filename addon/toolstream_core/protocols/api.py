"""An API: its address, its requests and how they are read, and the configuration of its clients."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from toolstream_core.model import Json
from toolstream_core.protocols.requests import conversation, tools
from toolstream_core.protocols.requests.conversation import Conversation
from toolstream_core.protocols.requests.tools import ToolChoice
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Form


class Tool(NamedTuple):
    """An offered tool, independent of a protocol."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON Schema."""


class Question(NamedTuple):
    """A prompt for a model, and the tools on offer."""

    model: str
    prompt: str
    tools: Sequence[Tool]
    streamed: bool


class ModelList(enum.Enum):
    """How an API lists its models."""

    DATA = "data"
    """`GET /v1/models`, entries under `data`: OpenAI and Anthropic."""
    MODELS = "models"
    """`GET /v1beta/models`, entries under `models`: Gemini."""
    NAMES = "names"
    """`GET /v1/models`, entries under `models`, each under the name that requests use."""
    TAGS = "tags"
    """`GET /api/tags`: Ollama."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    """The public description of a protocol."""

    title: str
    url: str
    server_sent_events: bool = True
    """Whether its streams are server-sent events, which a separate standard describes."""


class Api:
    """One API. The methods that read requests know the forms of OpenAI, Anthropic and Ollama, and never raise."""

    specification: ClassVar[Specification]
    request_paths: ClassVar[re.Pattern[str]]
    """Its request paths, anywhere in the path: gateways put prefixes before them."""
    server: ClassVar[str]
    """Scheme and host of the provider who defined the protocol."""
    hosts: ClassVar[tuple[str, ...]] = ()
    """Hosts with this protocol on every path."""
    port: ClassVar[int | None] = None
    """The usual port of a local server, if there is one."""
    prefix: ClassVar[str] = "/v1"
    """The prefix of the endpoint if a URL has no path."""
    base_has_prefix: ClassVar[bool] = True
    """Whether a URL that has a path has the prefix in it; else clients append it to that path."""
    endpoint: ClassVar[str]
    """The end of a request's path."""
    key_variables: ClassVar[tuple[str, ...]]
    """Environment variables that usually hold the key."""
    base_path: ClassVar[str] = ""
    """The path that clients expect after the host in their base URL."""
    base_url_variables: ClassVar[tuple[str, ...]]
    """Environment variables in which clients look for a base URL, the official one first."""

    offline: ClassVar[Mapping[str, str]] = {}
    """Other variables without which clients do not start, and values for a provider that is not real."""

    signs_address: ClassVar[bool] = False
    """Whether requests are signed with their host: no proxy can forward them to another one then."""

    model_list: ClassVar[ModelList] = ModelList.DATA
    own_keys: ClassVar[tuple[str, ...]] = ()
    """Keys that requests of the same form to other APIs do not have."""
    stream_form: ClassVar[Form] = Form.EVENTS
    """The framing of a stream, unless the request decides it. JSON lines are streamed unless the request denies it."""

    def path(self, given: str, model: str) -> str:
        """The path of a request, for a given path with or without the endpoint."""
        if given.endswith(self.endpoint):
            return given
        is_complete = given and (self.base_has_prefix or given.endswith(self.prefix))
        return f"{given}{'' if is_complete else self.prefix}{self.endpoint}"

    def path_and_model(self, given: str) -> tuple[str, str | None]:
        """The part of a path before the model, and the model that the path names."""
        return given, None

    def url(self, base: str, query: list[tuple[str, str]], *, streamed: bool) -> tuple[str, list[tuple[str, str]]]:
        """The address of a request and its query; `base` ends with the result of `path`."""
        return base, query

    def key_headers(self, host: str, key: str | None) -> dict[str, str]:
        """The headers with the key, and those that the protocol requires."""
        if key is None:
            return {}
        return {"api-key": key} if host.endswith(".azure.com") else {"authorization": f"Bearer {key}"}

    def public_url(self, model: str, *, streamed: bool, array: bool) -> str:
        """The provider's own address of a request; `array`: whether the stream is a JSON array."""
        address, query = self.url(f"{self.server}{self.path('', model)}", [], streamed=streamed)
        return f"{address}?{urlencode(query)}" if query and not array else address

    def shortest_request(self, model: str, *, streamed: bool) -> Json:
        """A request of the fewest fields."""
        return {"model": model, "messages": [], "stream": streamed}

    def request(self, question: Question) -> dict[str, Any]:
        """The request's body, in the form of Chat Completions."""
        return {
            "model": question.model,
            "messages": [{"role": "user", "content": question.prompt}],
            "tools": [{"type": "function", "function": function} for function in functions(question.tools)],
            "stream": question.streamed,
        }

    def fits(self, request: Mapping[str, Json]) -> bool:
        """Whether a request to one of the protocol's paths requests a completion."""
        return isinstance(request.get("messages"), list)

    def claims(self, request: Mapping[str, Json]) -> bool:
        """Whether a request to an unknown path can only be the protocol's."""
        return "model" in request and self.fits(request) and any(key in request for key in self.own_keys)

    def form(self, path: str, request: Json) -> Form:
        """The framing of the requested response; `path` includes the query."""
        wanted = json_access.get(request, "stream")
        streams = wanted is not False if self.stream_form is Form.LINES else wanted is True
        return self.stream_form if streams else Form.WHOLE

    def tool_name(self, request: Json, name: str) -> str:
        """The name of the tool that a call names."""
        return name

    def tool_choice(self, request: Json) -> ToolChoice:
        """The tools that the response may call."""
        return tools.tool_choice(request)

    def conversation(self, request: Json) -> Conversation:
        """The earlier calls that the request repeats, and the tools' results."""
        return conversation.conversation(request)

    def model(self, path: str, request: Json) -> str | None:
        """The model in a request's body, or in the path if bodies have none."""
        return tools.model_in_body(request)

    def unstreamed_path(self, path: str) -> str:
        """The path, with query, of the same request without a stream."""
        return path

    def unstreamed(self, request: Json) -> Json:
        """The same request without a stream; everything else is unchanged."""
        kept = {key: value for key, value in request.items() if key not in {"stream", "stream_options"}}
        return {**kept, "stream": False}


def functions(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Tools in the form of OpenAI's protocols."""
    return [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools]
