"""Every protocol: paths, recognition, tolerance, and quiet frames."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.protocols.frames import FOREIGN, frame
from tests.proxy.flows import response_bodies
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.wire.json_value import may_hide_letters
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from pathlib import Path

    from toolstream_core.model import EventContent
    from toolstream_core.protocols.protocol import WireProtocol

BY_NAME = {protocol.name: protocol for protocol in PROTOCOLS}
MODEL = "amazon.nova-lite-v1:0"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/chat/completions", "openai-chat"),
        ("/api/v1/chat/completions", "openai-chat"),
        ("/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", "openai-chat"),
        ("/chat/completions", "openai-chat"),
        ("/v1/responses", "openai-responses"),
        ("/openai/v1/responses?api-version=preview", "openai-responses"),
        ("/v1/messages", "anthropic"),
        ("/v1/messages?beta=true", "anthropic"),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/c:streamRawPredict", "anthropic"),
        ("/model/us.anthropic.claude%3A0/invoke-with-response-stream", "anthropic"),
        ("/model/us.anthropic.claude%3A0/invoke", "anthropic"),
        ("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", "gemini"),
        ("/v1/projects/p/locations/l/publishers/google/models/g:generateContent", "gemini"),
        ("/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=k", "gemini-live"),
        ("/ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContentConstrained", "gemini-live"),
        ("/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent", "gemini-live"),
        ("/api/chat", "ollama"),
        ("/v1/messages/count_tokens", None),
        ("/v1/embeddings", None),
        ("/v1/models", None),
        ("/api/generate", None),
    ],
)
def test_paths(path: str, name: str | None) -> None:
    """The paths of an API, also behind gateways, are claimed by its protocol only."""
    assert [protocol.name for protocol in PROTOCOLS if protocol.claims(path)] == ([name] if name else [])


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_the_public_url(protocol: WireProtocol, *, streamed: bool) -> None:
    """A protocol claims its public URL, and its shortest request is valid."""
    assert protocol.claims(protocol.api.public_url(MODEL, streamed=streamed, array=False))
    assert protocol.api.fits(protocol.api.shortest_request(MODEL, streamed=streamed))


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("payload", FOREIGN, ids=lambda payload: repr(payload)[:40])
def test_malformed_payloads_raise_nothing(protocol: WireProtocol, payload: object) -> None:
    """Readers raise nothing for malformed payloads."""
    for name in ("", "error", "message_delta", "response.completed"):
        made = frame(payload, name)
        protocol.read(made)
        protocol.read_response(made.json)
        protocol.recognise(name, made.json)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("choices", "delta", "message", "tool_calls", "function_call", "function", "index", "id", "name"),
                    *("arguments", "finish_reason", "error", "type", "content_block", "partial_json", "text_delta"),
                    *("response", "item", "output", "status", "call_id", "candidates", "content", "parts", "done"),
                    *("functionCall", "finishReason", "args", "text", "thinking_delta", "response.output_text.delta"),
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
TYPES = st.sampled_from(
    [
        *("", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"),
        *("response.output_item.added", "response.function_call_arguments.delta", "response.completed", "error"),
        *("response.output_text.delta", "message_start", "tool_use", "text_delta"),
    ]
)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
@given(JSON, TYPES, st.booleans())
def test_quiet_frames_have_no_content(protocol: WireProtocol, payload: object, kind: str, escaped: bool) -> None:
    """A frame that `quiet` skips has no fragment, finish reason, error or end."""
    if isinstance(payload, dict) and kind:
        payload = {**payload, "type": kind}
    text = json.dumps(payload)
    if escaped:
        text = (
            text.replace('"tool_c', '"tool\\u005fc').replace('"error', '"\\u0065rror').replace('"item', '"i\\u0074em')
        )
    made = frame(text.encode())
    if protocol.quiet(made.raw):
        assert_no_content(protocol.read(made))


def assert_no_content(content: EventContent) -> None:
    """Assert that an event has no fragment, finish reason, error or end."""
    assert (content.fragments, content.finishes, content.error, content.end) == ((), (), None, False)


@pytest.mark.parametrize("path", sorted((ROOT / "flows").glob("*.flow")), ids=lambda path: path.stem)
def test_quiet_frames_of_saved_streams_have_no_content(path: Path) -> None:
    """A frame of a saved flow that `quiet` skips has no fragment, finish reason, error or end."""
    frames = [one for body in response_bodies(path) for one in SseFramer().feed(body) if one.data]
    for protocol in PROTOCOLS:
        for one in [one for one in frames if protocol.quiet(one.raw)]:
            assert_no_content(protocol.read(one))


@pytest.mark.parametrize(
    ("raw", "hides"),
    [
        (rb'{"tool\u005fcalls":1}', True),
        (rb'{"a":"\u0041"}', True),
        (rb'{"a":"\u00e9\n\u003c"}', False),
        (rb'{"a":"b"}', False),
        (rb'{"a":"\\u0041"}', True),
    ],
)
def test_escapes_that_may_hide_letters(raw: bytes, hides: bool) -> None:
    """An escaped ASCII letter can hide a key; an escaped backslash before `u` is treated in the same way."""
    assert may_hide_letters(raw) is hides
