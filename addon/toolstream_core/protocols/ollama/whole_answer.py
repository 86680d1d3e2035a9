"""Ollama: a whole answer made a stream, and a stream made the whole answer that it amounts to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.answers import add_texts, arguments_object, merged
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.model import Call, Json
    from toolstream_core.protocols.answers import Payload, Payloads


def streamed(answer: Payload, request: Json) -> Iterator[bytes]:
    """https://github.com/ollama/ollama/blob/main/docs/api.md: a line with the message, one that says done."""
    del request
    message = answer.get("message")
    if isinstance(message, dict):
        head = {key: answer[key] for key in ("model", "created_at") if key in answer}
        yield encoded({**head, "message": message, "done": False}) + b"\n"
        yield encoded({**answer, "message": {"role": "assistant", "content": ""}, "done": True}) + b"\n"


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """As `WireProtocol.assembled`."""
    message: dict[str, Json] = {"role": "assistant", "content": ""}
    for payload in payloads:
        add_texts(message, payload.get("message"))
    if calls:
        message["tool_calls"] = [
            {
                **({"id": call.id} if call.id else {}),
                "function": {"name": call.name, "arguments": arguments_object(call)},
            }
            for call in calls
        ]
    return {**merged(payloads, leaving=()), "message": message}
