"""Gemini: a whole answer made a stream, and a stream made the whole answer that it amounts to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import ABSENT
from toolstream_core.protocols.answers import arguments_object, dictionary, merged
from toolstream_core.wire import json_access
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.model import Call, Json
    from toolstream_core.protocols.answers import Payload, Payloads


def streamed(answer: Payload, request: Json) -> Iterator[bytes]:
    """https://ai.google.dev/api/generate-content: each event has the shape of the whole answer."""
    del request
    if answer.get("candidates"):
        yield b"data: " + encoded(answer) + b"\r\n\r\n"


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """As `WireProtocol.assembled`."""
    candidate: dict[str, Json] = {"index": 0}
    parts: list[Json] = []
    for payload in payloads:
        streamed = json_access.get(payload, "candidates", 0)
        candidate.update(dictionary(streamed))
        parts.extend(
            part for part in json_access.items(json_access.get(streamed, "content", "parts")) if part != {"text": ""}
        )
    if any(json_access.get(part, "functionCall", "partialArgs") is not ABSENT for part in parts):
        parts = [part for part in parts if json_access.get(part, "functionCall") is ABSENT]
        parts += [{"functionCall": {"name": call.name, "args": arguments_object(call)}} for call in calls]
    candidate["content"] = {"role": "model", "parts": _joined(parts)}
    return {**merged(payloads, leaving=("candidates",)), "candidates": [candidate]}


def _joined(parts: Sequence[Json]) -> list[Json]:
    """The parts, with each run of plain texts as one."""
    joined: list[Json] = []
    for part in parts:
        if joined and dictionary(joined[-1]).keys() == {"text"} == dictionary(part).keys():
            joined[-1] = {"text": f"{joined[-1]['text']}{part['text']}"}
        else:
            joined.append(part)
    return joined
