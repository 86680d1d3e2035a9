"""An answer's stream callable, beside one that another addon has set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.proxy.flows import CHUNK, DONE, llm_flow
from toolstream_core.proxy.live_response import LiveResponse, chunks, through
from toolstream_core.saved.flow import request_json
from toolstream_core.settings import NOTHING, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable


def watch(settings: Settings) -> LiveResponse:
    """Of an answer whose body comes next."""
    flow = llm_flow()
    return LiveResponse(flow, request_json(flow.request), lambda *_: (), lambda *_: None, settings)


def shout(chunk: bytes) -> Iterable[bytes]:
    """What another addon does."""
    return [chunk.upper(), b"", b"!"] if chunk else [b"END"]


def test_alone_it_is_ours() -> None:
    """Whatever mitmproxy was told before."""
    one = watch(NOTHING)
    assert through(one, before=True) == one.stream
    assert chunks(b"a") == [b"a"]
    assert chunks([b"a", b"b"]) == [b"a", b"b"]


def test_another_addons_has_its_say_after_us() -> None:
    """Where we only look it gets the same chunks; what would end the body is left out where we rewrite."""
    looking = through(watch(NOTHING), shout)
    assert list(looking(CHUNK)) == [CHUNK.upper(), b"", b"!"]
    rewriting = through(watch(Settings(shapes=("crlf",))), shout)
    said = list(rewriting(CHUNK))
    assert said == [CHUNK.replace(b"\n", b"\r\n").upper(), b"!"]
    assert list(rewriting(DONE))[-1] == b"!"
    assert list(rewriting(b"")) == [b"END"]
