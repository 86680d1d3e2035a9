"""What goes by as text says nothing else, and is one event."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.engine.fast_path.quiet_frames import QuietFrames
from toolstream_core.engine.fast_path.template import MAX_MISSES
from toolstream_core.engine.stage_set import never_leaks
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.stages.leaks import may_leak
from toolstream_core.wire.sse import SseFramer

BY_NAME = {dialect.name: dialect for dialect in PROTOCOLS}
TEXTS = st.text(max_size=12) | st.sampled_from(
    ['"', "\\", "}", '","tool_calls":[', "tool_calls", "\ud83d", "é", "\n", "\r\n\r\n", "<tool_call>", "[TOOL_CALLS]"]
)
JUNK = st.binary(max_size=4) | st.sampled_from([b'"', b"\\", b"\n", b"\r", b"\n\n", b'","error":"', b"\\u0022", b"}"])


def frame(dialect: str, text: str, number: int, padding: str = "", name: str = "") -> bytes:
    """A frame of text."""
    payloads: dict[str, object] = {
        "openai-chat": {"choices": [{"index": 0, "delta": {"content": text}}], "obfuscation": padding},
        "openai-responses": {"type": "response.output_text.delta", "delta": text, "sequence_number": number},
        "anthropic": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        "gemini": {
            "candidates": [{"content": {"parts": [{"text": text}]}}],
            "usageMetadata": {"totalTokenCount": number},
        },
    }
    data = json.dumps(payloads[dialect], separators=(",", ":")).encode()
    return (b"event: " + name.encode() + b"\n" if name else b"") + b"data: " + data + b"\n\n"


def learned(raw: bytes) -> QuietFrames:
    """Knows one frame."""
    quiet_frames = QuietFrames(may_leak)
    quiet_frames.on = True
    assert quiet_frames.learn(raw)
    return quiet_frames


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini"])
@given(text=TEXTS, number=st.integers(0, 10**6), junk=JUNK, at=st.integers(0, 400), more=st.booleans())
def test_what_goes_by_is_text(dialect: str, text: str, number: int, junk: bytes, at: int, more: bool) -> None:
    """Whatever bytes are put wherever."""
    quiet_frames = learned(frame(dialect, "word", 1, "ab", "x"))
    raw = frame(dialect, text, number, "abc", "x")
    raw = raw[: at % len(raw)] + junk + raw[at % len(raw) :] + (raw if more else b"")
    stop = quiet_frames.stop(raw, 0)
    if not stop:
        return
    frames = SseFramer().feed(raw[:stop])
    assert [len(one.raw) for one in frames] == [stop]
    assert frames[0].data is not None
    said = BY_NAME[dialect].read(frames[0])
    assert (said.fragments, said.finishes, said.end, said.error) == ((), (), False, None)
    assert not may_leak(said.text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize("text", ["", "other words", "tool_calls", "{}", '\\"', "é"])
def test_text_goes_by(dialect: str, text: str) -> None:
    """Any text that begins no markup, and any number."""
    raw = frame(dialect, text, 12, "x")
    assert learned(frame(dialect, "word", 1, "ab")).stop(b"...." + raw, 4) == len(raw) + 4
    other = frame(dialect, f"{text}<", 12, "x")
    assert learned(frame(dialect, "word", 1, "ab")).stop(other, 0) == 0


def test_nothing_goes_by_unless_it_may() -> None:
    """Only while it is on."""
    quiet_frames = learned(frame("openai-chat", "word", 1))
    quiet_frames.on = False
    assert quiet_frames.stop(frame("openai-chat", "word", 1), 0) == 0


def test_learning_in_vain_ends() -> None:
    """A stream whose frames are never alike costs no more."""
    quiet_frames = QuietFrames(never_leaks)
    quiet_frames.on = True
    one = b'data: {"id":1,"content":"a"}\n\n'
    assert [quiet_frames.learn(one) for _ in range(MAX_MISSES + 2)] == [True] * (MAX_MISSES - 1) + [False] * 3
    assert quiet_frames.stop(one, 0) == 0


@pytest.mark.parametrize("raw", [b": comment\n\n", b'\xef\xbb\xbfdata: {"text":"a"}\n\n', b'data: {"text":"a"}\r\r'])
def test_odd_frames_are_no_pattern(raw: bytes) -> None:
    """Only a block that begins with a field and ends with a line feed: its bytes mean the same wherever they stand."""
    assert not QuietFrames(never_leaks).learn(raw)
