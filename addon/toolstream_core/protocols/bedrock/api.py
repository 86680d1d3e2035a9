"""The Converse API: the model and the operation are in the path."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, override
from urllib.parse import quote, unquote

from toolstream_core.protocols.api import Api, Specification

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.api import Question

_OPERATION: Final = re.compile(r"^(.*)/model/([^/]+)/converse(?:-stream)?$")


class BedrockApi(Api):
    """Amazon Bedrock's runtime."""

    specification = Specification(
        title="Amazon Bedrock, ConverseStream",
        url="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html",
        server_sent_events=False,
    )
    server = "https://bedrock-runtime.us-east-1.amazonaws.com"
    hosts = ("bedrock-runtime.us-east-1.amazonaws.com",)
    prefix = ""
    endpoint = "/converse"
    key_variables = ("AWS_BEARER_TOKEN_BEDROCK",)
    base_url_variables = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",)  # AWS's SDKs
    signs_address = True
    offline = {  # noqa: RUF012 # declared so in the class above
        "AWS_ACCESS_KEY_ID": "toolstream-offline",
        "AWS_SECRET_ACCESS_KEY": "toolstream-offline",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }

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


API: Final = BedrockApi()
