"""How one protocol's requests are read. Other protocols' requests differ from the common shapes in single methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.requests import conversation, tools
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json
    from toolstream_core.protocols.requests.conversation import Conversation
    from toolstream_core.protocols.requests.tools import OfferedTool, ToolChoice


class Requests:
    """Reads requests. The methods know the forms of OpenAI, Anthropic, Gemini and Ollama.

    No method raises, for any request.
    """

    def fits(self, request: Mapping[str, Json]) -> bool:
        """Whether a request to one of the protocol's paths requests a completion."""
        return isinstance(request.get("messages"), list)

    def claims(self, request: Mapping[str, Json]) -> bool:
        """Whether a request to an unknown path can only be the protocol's."""
        return False

    def form(self, path: str, request: Json) -> Form:
        """The framing of the requested response; `path` includes the query."""
        return Form.EVENTS if json_access.get(request, "stream") is True else Form.WHOLE

    def schemas(self, request: Json) -> dict[str, Json]:
        """The JSON schema of the parameters of each tool on offer, by the tool's name."""
        return tools.schemas(request)

    def tools(self, request: Json) -> dict[str, bool]:
        """The tools on offer by name, and whether each has required parameters."""
        return {
            name: bool(json_access.items(json_access.get(schema, "required")))
            for name, schema in self.schemas(request).items()
        }

    def tool_name(self, request: Json, name: str) -> str:
        """The name of the tool that a call names."""
        return name

    def lists_all_tools(self, request: Json) -> bool:
        """Whether a call can name no other tool than those of the request."""
        return tools.lists_all(request)

    def offered(self, request: Json) -> list[OfferedTool]:
        """The tools on offer that the client runs, in their order."""
        return tools.offered(request)

    def tool_choice(self, request: Json) -> ToolChoice:
        """The tools that the response may call."""
        return tools.tool_choice(request)

    def ends_with_results(self, request: Json) -> bool:
        """Whether results of tools have come since the assistant's last words or calls."""
        return self.results(conversation.after_last_response(request)) > 0

    def conversation(self, request: Json) -> Conversation:
        """The earlier calls that the request repeats, and the tools' results."""
        return conversation.conversation(request)

    def earlier_ids(self, request: Json) -> frozenset[str]:
        """The ids of the calls in the conversation so far."""
        return conversation.earlier_ids(request)

    def results(self, request: Json) -> int:
        """How many tool results the conversation holds."""
        return len(self.conversation(request).results)

    def words(self, request: Json) -> str:
        """The last user message; `""` if unknown."""
        return conversation.words(request)

    def opening(self, request: Json) -> str:
        """The first user message; `""` if unknown."""
        return conversation.opening(request)

    def unstreamed_path(self, path: str) -> str:
        """The path, with query, of the same request without a stream."""
        return path

    def model(self, path: str, request: Json) -> str | None:
        """The model that a request's body names; where bodies name none, the one in the path."""
        return tools.model_in_body(request)

    def unstreamed(self, request: Json) -> Json:
        """The same request without a stream; everything else is unchanged."""
        kept = {key: value for key, value in request.items() if key not in {"stream", "stream_options"}}
        return {**kept, "stream": False}
