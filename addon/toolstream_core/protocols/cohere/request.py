"""Requests for Cohere v2 chat: messages, tools and repeated calls have the form of Chat Completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.requests.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json

_OF_COHERE: Final = ("strict_tools", "citation_options", "safety_mode")
"""Keys that other requests with `messages` do not have."""


class CohereRequests(Requests):
    """https://docs.cohere.com/reference/chat-stream."""

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        return "model" in request and self.fits(request) and any(key in request for key in _OF_COHERE)
