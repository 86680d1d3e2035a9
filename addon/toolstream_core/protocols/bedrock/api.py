"""The Converse API: the path has the model and whether to stream.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, override
from urllib.parse import quote, unquote

from toolstream_core.model import Json
from toolstream_core.protocols.api import Api, Question, Specification
from toolstream_core.protocols.requests.tools import ToolChoice
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Form

_OPERATION: Final = re.compile(r"^(.*)/model/([^/]+)/converse(?:-stream)?$")

_STREAMS: Final = {"/converse-stream": "/converse", "/invoke-with-response-stream": "/invoke"}


class BedrockApi(Api):
    """Messages of content blocks, of which each is an object with one key."""

    specification = Specification(
        title="Amazon Bedrock, ConverseStream",
        url="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html",
        server_sent_events=False,
    )
    # Nova's models stream Converse's events through InvokeModel too.
    request_paths = re.compile(
        r"/model/(?:[^/]+/converse(?:-stream)?|[^/]*nova[^/]*/invoke(?:-with-response-stream)?)$", re.IGNORECASE
    )
    server = "https://bedrock-runtime.us-east-1.amazonaws.com"
    hosts = ("bedrock-runtime.us-east-1.amazonaws.com",)
    prefix = ""
    endpoint = "/converse"
    key_variables = ("AWS_BEARER_TOKEN_BEDROCK",)
    base_url_variables = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",)  # AWS's SDKs
    signs_address = True
    stream_form = Form.MESSAGES
    own_keys = ("toolConfig", "inferenceConfig", "additionalModelRequestFields", "guardrailConfig")
    offline = {  # noqa: RUF012 # declared so in the class above
        "AWS_ACCESS_KEY_ID": "toolstream-offline",
        "AWS_SECRET_ACCESS_KEY": "toolstream-offline",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        return self.fits(request) and "model" not in request and any(key in request for key in self.own_keys)

    @override
    def form(self, path: str, request: Json) -> Form:
        return Form.MESSAGES if path.partition("?")[0].endswith(tuple(_STREAMS)) else Form.WHOLE

    @override
    def tool_choice(self, request: Json) -> ToolChoice:
        name = json_access.get(request, "toolConfig", "toolChoice", "tool", "name")
        return ToolChoice(frozenset([name]) if isinstance(name, str) else None)

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
        _, found, rest = path.partition("/model/")
        return unquote(rest.partition("/")[0]) if found else None

    @override
    def path(self, given: str, model: str) -> str:
        return f"{given}/model/{quote(model, safe='')}"

    @override
    def path_and_model(self, given: str) -> tuple[str, str | None]:
        found = _OPERATION.match(given)
        return (found[1], unquote(found[2])) if found else (given, None)

    @override
    def url(self, base: str, query: list[tuple[str, str]], *, streamed: bool) -> tuple[str, list[tuple[str, str]]]:
        return f"{base}/converse{'-stream' if streamed else ''}", query

    @override
    def shortest_request(self, model: str, *, streamed: bool) -> Json:
        return {"messages": []}

    @override
    def request(self, question: Question) -> dict[str, Any]:
        tools = [
            {
                "toolSpec": {
                    "name": tool.name,
                    "description": tool.description,
                    "inputSchema": {"json": tool.parameters},
                }
            }
            for tool in question.tools
        ]
        return {
            "messages": [{"role": "user", "content": [{"text": question.prompt}]}],
            "toolConfig": {"tools": tools},
        }
