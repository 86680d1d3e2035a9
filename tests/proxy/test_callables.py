"""The stream function of a response together with one that another addon set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.proxy.flows import CHUNK, DONE, llm_flow
from toolstream_core.proxy.live_response import LiveResponse, chunks, through
from toolstream_core.saved.flow import facts_of, request_json
from toolstream_core.settings import NOTHING, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable


def live_response(settings: Settings) -> LiveResponse:
    """Return a response whose body follows."""
    flow = llm_flow()
    return LiveResponse(flow, facts_of(flow, request_json(flow.request)), lambda *_: (), lambda *_: None, settings)


def upper_case(chunk: bytes) -> Iterable[bytes]:
    """Return the chunk in upper case, with two more chunks."""
    return [chunk.upper(), b"", b"!"] if chunk else [b"END"]


def test_the_stream_function_without_another_addon() -> None:
    """The stream function of toolstream is used, whatever `stream` was before."""
    response = live_response(NOTHING)
    assert through(response, before=True) == response.stream
    assert chunks(b"a") == [b"a"]
    assert chunks([b"a", b"b"]) == [b"a", b"b"]


def test_another_addon_receives_the_forwarded_chunks() -> None:
    """A rewritten body has no empty chunk before its end, as mitmproxy treats an empty chunk as the end."""
    unchanged = through(live_response(NOTHING), upper_case)
    assert list(unchanged(CHUNK)) == [CHUNK.upper(), b"", b"!"]
    rewriting = through(live_response(Settings(shapes=("crlf",))), upper_case)
    forwarded = list(rewriting(CHUNK))
    assert forwarded == [CHUNK.replace(b"\n", b"\r\n").upper(), b"!"]
    assert list(rewriting(DONE))[-1] == b"!"
    assert list(rewriting(b"")) == [b"END"]
