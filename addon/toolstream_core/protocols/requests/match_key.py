"""The requested response of an LLM request, in any protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from toolstream_core.model import Json
from toolstream_core.protocols.api import Api
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.registry import PROTOCOLS, claiming
from toolstream_core.protocols.requests import conversation, tools
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Form
from toolstream_core.wire.json_paths import top_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKey:
    """The properties of a request that decide which saved response fits it."""

    protocol: str
    """The protocol's name."""
    model: str | None
    form: Form
    tools: frozenset[str]
    """The names of the tools on offer."""
    results: int
    """The number of tool results in the messages: the turn of a tool-calling conversation."""
    words: str
    """The last user message."""
    opening: str = ""
    """The first user message: equal in all requests of a conversation."""


# In the path of Gemini and Vertex (`/models/NAME:…`), of Azure (`/deployments/NAME/…`), and of Bedrock
# (`/model/NAME/…`, with `%3A` for a colon).
_MODEL_IN_PATH = re.compile(r"/models/([^/:?]+):|/deployments/([^/?]+)/|/model/([^/?]+)/(?:invoke|converse)")
# Requests with the same bodies for other purposes.
_OTHER = re.compile(r"token|embed|moderation|batch|rank", re.IGNORECASE)
_COMMON = Api()
_HEAD: Final = 64 * 1024
_OF_LLM: Final = frozenset(
    (b"messages", b"input", b"contents", b"prompt", b"model", b"tools", b"system", b"instructions", b"stream")
)
"""Keys of which every request to an LLM has one near its beginning."""


def read(path: str, request: Json) -> RequestKey | None:
    """The properties of a POST of `request` to `path` (with query); `None` if it does not request a completion."""
    protocol = protocol_of(path, request)
    if protocol is None:
        return None
    reader = protocol.api
    return RequestKey(
        protocol=protocol.name,
        model=model_of(path, request),
        form=reader.form(path, request),
        tools=frozenset(tools.schemas(request)),
        results=conversation.results(request),
        words=conversation.words(request),
        opening=conversation.opening(request),
    )


def protocol_of(path: str, request: Json) -> WireProtocol | None:
    """The protocol in which a POST of `request` to `path` requests a completion; `None` if it does not."""
    if not isinstance(request, dict):
        return None
    claimed = claiming(path)
    if claimed is not None:
        return claimed if claimed.api.fits(request) else None
    if _OTHER.search(path.partition("?")[0]):
        return None
    return next((one for one in reversed(PROTOCOLS) if one.api.claims(request)), None)


def reader_of(path: str, request: Json) -> Api:
    """The API that reads a request; for an unknown protocol, one for the common forms."""
    protocol = claiming(path) or protocol_of(path, request)
    return _COMMON if protocol is None else protocol.api


def model_of(path: str, request: Json) -> str | None:
    """The requested model: the one in the body, else the one in the path."""
    return reader_of(path, request).model(path, request) or _model_in(path)


def wants_stream(path: str, request: Json) -> bool:
    """Whether a request is for a stream: by its body, by its path (Gemini), or by default (Ollama)."""
    claimed = claiming(path)
    if json_access.get(request, "stream") is True:
        return True
    return claimed is not None and claimed.api.form(path, request) is not Form.WHOLE


def may_be_llm(path: str, body: bytes) -> bool:
    """Whether a body is worth parsing: by its path, or by the top-level keys that its first bytes show.

    Parsing delays all streams, so a long upload to another API is not parsed.
    """
    return len(body) <= _HEAD or claiming(path) is not None or not _OF_LLM.isdisjoint(top_keys(body[:_HEAD]))


def looks_like_llm(path: str, request: Json) -> bool:
    """Whether a POST of `request` to `path` is one to an LLM API."""
    if not isinstance(request, dict):
        return False
    claimed = claiming(path)
    if claimed is not None and claimed.api.fits(request):
        return True
    if protocol_of(path, request) is not None:
        return True
    return "model" in request and (isinstance(request.get("messages"), list) or "input" in request)


def _model_in(path: str) -> str | None:
    found = _MODEL_IN_PATH.search(path)
    return unquote(next(filter(None, found.groups()))) if found else None
