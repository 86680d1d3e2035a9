"""A pipeline that may rewrite loses no byte and says none twice, wherever a stream ends."""

from __future__ import annotations

import pytest

from tests.defects.healthy import Healthy, streams
from toolstream_core.body import Body
from toolstream_core.defects.framing import UNTERMINATED_EVENT
from toolstream_core.settings import SAFE, Settings

HEALTHY = [
    next(one for one in streams() if one.dialect == dialect)
    for dialect in ("openai-chat", "openai-responses", "anthropic", "gemini", "ollama")
]
WANTED = Settings(SAFE - {UNTERMINATED_EVENT.code})


def through(body: bytes, healthy: Healthy, size: int) -> bytes:
    """What goes on of `body`, cut in pieces of `size` bytes."""
    line = Body(healthy.exchange, WANTED)
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    out = b"".join(passed for piece in pieces for passed in line.feed(piece))
    out += b"".join(line.end())
    assert line.pipeline.error is None
    return out


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_a_stream_that_ends_within_its_first_event_passes_as_it_is(healthy: Healthy, size: int) -> None:
    """Also where that event is what the protocol is told by, and its terminator is what lacks."""
    end = b"\n" if healthy.dialect == "ollama" else b"\n\n"
    first = healthy.body.partition(end)[0]
    for body in (first, first + b"\n", first[:-1], first + end, b": hello\n\n" + first):
        assert through(body, healthy, size) == body


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_what_is_no_answer_on_an_answers_path_passes_as_it_is(healthy: Healthy, size: int) -> None:
    """Its frames have gone on before its end says that the path's protocol is all there is to go by."""
    frame = b'{"x":1}\n' if healthy.dialect == "ollama" else b'data: {"x":1}\n\n'
    for body in (frame, frame + frame, frame + frame.strip(), frame.strip()):
        assert through(body, healthy, size) == body
