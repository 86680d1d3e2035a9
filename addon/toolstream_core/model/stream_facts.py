"""What is known of a stream beside its own bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolstream_core.wire.json_value import ABSENT

if TYPE_CHECKING:
    from toolstream_core.wire.json_value import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFacts:
    """What is known of a stream beside its own bytes."""

    source: str = ""
    """Where it was read from, for people: `flows/glm-5.flow#0`, `-`, or the flow's id."""
    host: str = ""
    path: str = ""
    """Request path with query; decides the order in which dialects are tried."""
    content_type: str = ""
    content_encoding: str = ""
    status: int = 200
    request: Json = ABSENT
    """The request's JSON body: model, tools, stream_options."""
