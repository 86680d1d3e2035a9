"""Fragments of arguments that a gateway parsed as JSON: numbers and booleans in the place of text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import inspected, repaired
from tests.invariants.healthy import CONTENT_TYPES, SSE
from tests.invariants.unknown_keys import frames_of
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import named
from toolstream_core.protocols.writing import HealthyCall, HealthyResponse

if TYPE_CHECKING:
    from toolstream_core.protocols.protocol import WireProtocol

PROTOCOLS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini-interactions": "/v1beta/interactions",
    "cohere-v2": "/v2/chat",
    "bedrock": "/model/m/converse-stream",
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "in a text": {"path": "/glm-5.1/main.go"},
    "values": {"limit": 42, "ratio": 0.10, "all": True, "none": False},
    "between other text": {"text": "a 7 b 8 true", "n": 1, "m": 0.5},
    "last in a list": {"list": [1, 20, 300]},
}
_PARSED = re.compile(rb'("(?:arguments|partial_json|delta|input)": ?)"(0|[1-9]\d*|true|false)"')


def stream(protocol: WireProtocol, arguments: dict[str, Any]) -> tuple[bytes, bytes]:
    """Return a healthy stream, and the same stream with parsed fragments."""
    call = HealthyCall("read", json.dumps(arguments, separators=(",", ":")))
    body = b"".join(protocol.healthy_stream(HealthyResponse(model="m", request={"stream": True}, calls=(call,))))
    frames, writer = frames_of(body, CONTENT_TYPES.get(protocol.name, SSE))
    assert writer is not None
    parsed = [writer.rewrite(frame, _PARSED.sub(rb"\1\2", frame.data)) if frame.data else frame for frame in frames]
    return body, b"".join(frame.raw for frame in parsed)


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_no_fragment_is_lost(name: str, arguments: dict[str, Any]) -> None:
    """A call with parsed fragments has all of its arguments, before and after the repair."""
    healthy, parsed = stream(named(name), arguments)
    assert parsed != healthy
    content_type = CONTENT_TYPES.get(name, SSE)
    exchange = StreamFacts(path=PROTOCOLS[name], content_type=content_type, request={"stream": True})
    parsed_outcome = inspected(parsed, exchange)
    assert parsed_outcome.calls == [("read", arguments)]
    assert set(parsed_outcome.finding_names) == {"object-arguments"}
    outcome = repaired(parsed, exchange)
    assert inspected(outcome.out, exchange).finding_names == []
    assert inspected(outcome.out, exchange).calls == [("read", arguments)]


def test_an_empty_list_is_no_fragment() -> None:
    """An empty list in the place of arguments, as PHP writes an empty object, is ignored."""
    body, _ = stream(named("openai-chat"), {"a": 1})
    with_list = body.replace(b'"arguments":"{\\""', b'"arguments":[]', 1)
    assert with_list != body
    exchange = StreamFacts(path="/v1/chat/completions", content_type="text/event-stream", request={"stream": True})
    assert [call.complete for call in inspected(with_list, exchange).record.calls] == [False]
