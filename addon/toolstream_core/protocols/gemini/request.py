"""Requests for Gemini generateContent: model, method and framing are said in the path."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, override
from urllib.parse import parse_qs

from toolstream_core.protocols.requests.requests import Requests
from toolstream_core.wire.form import Form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json

_ALT: Final = re.compile(r"[?&]alt=sse(?=&|$)")


class GeminiRequests(Requests):
    """Contents of parts; https://ai.google.dev/api/generate-content."""

    @override
    def fits(self, request: Mapping[str, Json]) -> bool:
        return isinstance(request.get("contents"), list | dict)

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        return self.fits(request)

    @override
    def form(self, path: str, request: Json) -> Form:
        if ":streamGenerateContent" not in path:
            return Form.WHOLE
        return Form.EVENTS if "sse" in parse_qs(path.partition("?")[2]).get("alt", ()) else Form.ARRAY

    @override
    def unstreamed_path(self, path: str) -> str:
        return _ALT.sub("", path.replace(":streamGenerateContent", ":generateContent"))

    @override
    def unstreamed(self, request: Json) -> Json:
        return request
