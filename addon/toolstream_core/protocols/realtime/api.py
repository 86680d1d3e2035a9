"""The Realtime API: requests are assembled from a socket in the form of Responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import override
from urllib.parse import parse_qs, urlsplit

from toolstream_core.model import Json
from toolstream_core.protocols.api import Specification
from toolstream_core.protocols.responses.api import ResponsesApi
from toolstream_core.wire.frame import Form


class RealtimeApi(ResponsesApi):
    """The session's model and tools, and the items since the last response."""

    specification = Specification(
        title="OpenAI, Realtime: server events",
        url="https://platform.openai.com/docs/api-reference/realtime-server-events",
        server_sent_events=False,
    )
    request_paths = re.compile(r"/realtime/?$")
    endpoint = "/realtime"
    stream_form = Form.LINES

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        return False

    @override
    def model(self, path: str, request: Json) -> str | None:
        return super().model(path, request) or model_of(path)

    @override
    def public_url(self, model: str, *, streamed: bool, array: bool) -> str:
        return f"{super().public_url(model, streamed=streamed, array=array)}?model={model}"


def model_of(path: str) -> str | None:
    """The model in a socket's path; Azure calls it `deployment`."""
    query = parse_qs(urlsplit(path).query)
    found = query.get("model") or query.get("deployment")
    return found[0] if found else None
