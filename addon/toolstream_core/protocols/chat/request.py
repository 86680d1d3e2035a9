"""Requests for Chat Completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.requests.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json


class ChatRequests(Requests):
    """The shape that most gateways speak: a list of messages, and a model."""

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        return "model" in request and self.fits(request)
