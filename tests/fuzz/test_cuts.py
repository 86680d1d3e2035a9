"""One stream of each framing with events longer than a chunk. `scripts/fuzz --cuts` checks all streams."""

from __future__ import annotations

import pytest

from tests.fuzz.cuts import FORMS, Stream, differences, streams
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.wire.frame import Form

CHOSEN = [
    ("openai-chat", Form.EVENTS, "arguments", "code", "crlf"),
    ("openai-responses", Form.EVENTS, "text", "words", "lf"),
    ("openai-responses", Form.LINES, "arguments", "wide", "lf"),
    ("ollama", Form.LINES, "arguments", "words", "lf"),
    ("gemini", Form.ARRAY, "field before", "code", "crlf"),
    ("bedrock", Form.MESSAGES, "arguments", "wide", "lf"),
    ("anthropic", Form.MESSAGES, "field after", "words", "lf"),
]


@pytest.mark.parametrize(("protocol", "form", "place", "text", "end"), CHOSEN)
def test_no_chunk_boundary_changes_a_healthy_stream(protocol: str, form: Form, place: str, text: str, end: str) -> None:
    """Chunk boundaries change no byte, record or log line, with any log, with and without repairs and fast path."""
    wire = next(one for one in PROTOCOLS if one.name == protocol)
    for size in (1_000, 5_000):
        assert list(differences(Stream(wire, form, place, size, text, "compact", end))) == []


def test_every_protocol_and_framing_is_checked() -> None:
    """The streams include every protocol and framing, and their short versions have the intended calls."""
    short = [one for one in streams([1_000]) if one[2:] == ("arguments", 1_000, "words", "compact", "lf")]
    assert {one.protocol.name for one in short} == {one.name for one in PROTOCOLS}
    assert len(short) == len(PROTOCOLS) + sum(len(forms) - 1 for forms in FORMS.values())
    assert [why for one in short for why in differences(one, ["events"])] == []
