"""The Responses API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, override

from toolstream_core.protocols.api import Api, Specification, functions

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.api import Question


class ResponsesApi(Api):
    """The Responses API."""

    specification = Specification(
        title="OpenAI, Responses: streaming events",
        url="https://platform.openai.com/docs/api-reference/responses-streaming",
    )
    server = "https://api.openai.com"
    endpoint = "/responses"
    key_variables = ("OPENAI_API_KEY",)
    base_path = "/v1"
    base_url_variables = ("OPENAI_BASE_URL",)

    @override
    def shortest_request(self, model: str, *, streamed: bool) -> Json:
        return {"model": model, "input": "", "stream": streamed}

    @override
    def request(self, question: Question) -> dict[str, Any]:
        return {
            "model": question.model,
            "input": [{"role": "user", "content": question.prompt}],
            "tools": [{"type": "function", "strict": False, **function} for function in functions(question.tools)],
            "stream": question.streamed,
            "store": False,
        }


API: Final = ResponsesApi()
