"""The Realtime API."""

from __future__ import annotations

from typing import Final, override

from toolstream_core.protocols.api import Specification
from toolstream_core.protocols.responses.api import ResponsesApi


class RealtimeApi(ResponsesApi):
    """The Realtime API."""

    specification = Specification(
        title="OpenAI, Realtime: server events",
        url="https://platform.openai.com/docs/api-reference/realtime-server-events",
        server_sent_events=False,
    )
    endpoint = "/realtime"

    @override
    def public_url(self, model: str, *, streamed: bool, array: bool) -> str:
        return f"{super().public_url(model, streamed=streamed, array=array)}?model={model}"


API: Final = RealtimeApi()
