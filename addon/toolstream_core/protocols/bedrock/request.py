"""Requests for Converse: the path has the model and whether to stream.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override
from urllib.parse import unquote

from toolstream_core.model import ABSENT
from toolstream_core.protocols.requests import conversation as common
from toolstream_core.protocols.requests.conversation import CallFields, Conversation, EchoedCall, ToolResult, error_mark
from toolstream_core.protocols.requests.requests import Requests
from toolstream_core.protocols.requests.tools import OfferedTool, ToolChoice, description_of
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.frame import Form

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolstream_core.model import Json

_OWN: Final = ("toolConfig", "inferenceConfig", "additionalModelRequestFields", "guardrailConfig")
"""Keys that other requests with `messages` do not have."""
_STREAMS: Final = {"/converse-stream": "/converse", "/invoke-with-response-stream": "/invoke"}


class BedrockRequests(Requests):
    """Messages of content blocks, of which each is an object with one key."""

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        return self.fits(request) and "model" not in request and any(key in request for key in _OWN)

    @override
    def form(self, path: str, request: Json) -> Form:
        return Form.MESSAGES if path.partition("?")[0].endswith(tuple(_STREAMS)) else Form.WHOLE

    @override
    def schemas(self, request: Json) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for tool in json_access.items(json_access.get(request, "toolConfig", "tools")):
            name = json_access.get(tool, "toolSpec", "name")
            if name and isinstance(name, str):
                schema = json_access.get(tool, "toolSpec", "inputSchema", "json")
                found[name] = schema if isinstance(schema, dict) else None
        return found

    @override
    def offered(self, request: Json) -> list[OfferedTool]:
        specs = [
            json_access.get(tool, "toolSpec")
            for tool in json_access.items(json_access.get(request, "toolConfig", "tools"))
        ]
        described = {str(json_access.get(spec, "name")): description_of(spec) for spec in specs}
        return [
            OfferedTool(name, schema, description=described[name]) for name, schema in self.schemas(request).items()
        ]

    @override
    def tool_choice(self, request: Json) -> ToolChoice:
        name = json_access.get(request, "toolConfig", "toolChoice", "tool", "name")
        return ToolChoice(frozenset([name]) if isinstance(name, str) else None)

    @override
    def conversation(self, request: Json) -> Conversation:
        blocks = list(_blocks(request))
        return Conversation(
            tuple(_echoed(tool) for block in blocks if isinstance(tool := block.get("toolUse"), dict)),
            tuple(_result(result) for block in blocks if isinstance(result := block.get("toolResult"), dict)),
            common.conversation(request).texts,
            continues=False,
        )

    @override
    def unstreamed(self, request: Json) -> Json:
        return request

    @override
    def unstreamed_path(self, path: str) -> str:
        bare, mark, query = path.partition("?")
        for streamed, unstreamed in _STREAMS.items():
            if bare.endswith(streamed):
                bare = bare.removesuffix(streamed) + unstreamed
        return bare + mark + query

    @override
    def model(self, path: str, request: Json) -> str | None:
        return model_in(path)


def model_in(path: str) -> str | None:
    """The model that a path names, or `None`."""
    before, found, rest = path.partition("/model/")
    del before
    return unquote(rest.partition("/")[0]) if found else None


def _blocks(request: Json) -> Iterator[dict[str, Json]]:
    for message in json_access.items(json_access.get(request, "messages")):
        for block in json_access.items(json_access.get(message, "content")):
            if isinstance(block, dict):
                yield block


def _echoed(tool: dict[str, Json]) -> EchoedCall:
    value = tool.get("input")
    arguments = value if isinstance(value, str) else "" if value is None else numbers.dumps(value)
    written = CallFields(tool.get("toolUseId", ABSENT), tool.get("name", ABSENT), value)
    return EchoedCall(_text(written.id), _text(written.name), arguments, written)


def _result(result: dict[str, Json]) -> ToolResult:
    texts: list[str] = []
    for part in json_access.items(result.get("content")):
        text = json_access.get(part, "text")
        texts.append(text if isinstance(text, str) else numbers.dumps(json_access.get(part, "json") or part))
    identity = result.get("toolUseId", ABSENT)
    return ToolResult(_text(identity), "", "".join(texts), identity, error_mark(result))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
