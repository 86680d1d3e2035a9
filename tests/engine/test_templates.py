"""The fast path reads and rewrites a frame like an earlier frame as if it were parsed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.engine.chain import StageSet
from toolstream_core.engine.fast_path import FastPath, Template
from toolstream_core.model import EventContent
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.stages.leaks import may_leak
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolstream_core.protocols.protocol import WireProtocol

BY_NAME = {dialect.name: dialect for dialect in PROTOCOLS}
TEXTS = st.text(max_size=12) | st.sampled_from(
    ['"', "\\", "}", '","tool_calls":[', "tool_calls", "\ud83d", "é", "\n", "\r\n\r\n", "<tool_call>", "[TOOL_CALLS]"]
)
JUNK = st.binary(max_size=4) | st.sampled_from([b'"', b"\\", b"\n", b"\r", b"\n\n", b'","error":"', b"\\u0022", b"}"])


def frame(dialect: str, text: str, number: int, padding: str = "", name: str = "") -> bytes:
    """Return an event with text."""
    payloads: dict[str, object] = {
        "openai-chat": {"choices": [{"index": 0, "delta": {"content": text}}], "obfuscation": padding},
        "openai-responses": {"type": "response.output_text.delta", "delta": text, "sequence_number": number},
        "cohere-v2": {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}},
        "gemini-interactions": {
            "index": 0,
            "delta": {"text": text, "type": "text"},
            "event_type": "step.delta",
        },
        "anthropic": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        "gemini": {
            "candidates": [{"content": {"parts": [{"text": text}]}}],
            "usageMetadata": {"totalTokenCount": number},
        },
    }
    data = json.dumps(payloads[dialect], separators=(",", ":")).encode()
    return (b"event: " + name.encode() + b"\n" if name else b"") + b"data: " + data + b"\n\n"


def fast_path(dialect: str = "openai-chat", read: Callable[[Frame], EventContent] | None = None) -> FastPath:
    """Return the fast path of a new event stream."""
    protocol = BY_NAME[dialect]
    return FastPath(SseFramer(), read or protocol.read, protocol.quiet, StageSet(may_leak=may_leak))


class Learned:
    """A fast path that has learned one frame of text."""

    def __init__(self, dialect: str, raw: bytes, *, passes: bool = True) -> None:
        self.path = fast_path(dialect)
        self.is_pattern = self.path._learn_text(raw)
        self.path._passes_text, self.path.is_idle = passes, not passes

    def stop(self, raw: bytes) -> int:
        """Return the end of the first frame of `raw` if it is skipped, else 0."""
        sent = Mock()
        self.path.forward_frames(raw, 0, sent)
        return sent.call_args_list[0].args[2] if sent.called else 0


@pytest.mark.parametrize(
    "dialect", ["openai-chat", "openai-responses", "anthropic", "gemini", "gemini-interactions", "cohere-v2"]
)
@given(text=TEXTS, number=st.integers(0, 10**6), junk=JUNK, at=st.integers(0, 400), more=st.booleans())
def test_only_text_is_skipped(dialect: str, text: str, number: int, junk: bytes, at: int, more: bool) -> None:
    """A skipped frame is one frame of text without markup, for any inserted bytes."""
    learned = Learned(dialect, frame(dialect, "word", 1, "ab", "x"))
    raw = frame(dialect, text, number, "abc", "x")
    raw = raw[: at % len(raw)] + junk + raw[at % len(raw) :] + (raw if more else b"")
    stop = learned.stop(raw)
    if not stop:
        return
    frames = SseFramer().feed(raw[:stop])
    assert [len(one.raw) for one in frames] == [stop]
    assert frames[0].data is not None
    content = BY_NAME[dialect].read(frames[0])
    assert (content.fragments, content.finishes, content.end, content.error) == ((), (), False, None)
    assert not may_leak(content.text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    "dialect", ["openai-chat", "openai-responses", "anthropic", "gemini", "gemini-interactions", "cohere-v2"]
)
@pytest.mark.parametrize("text", ["", "other words", "tool_calls", "{}", '\\"', "é"])
def test_text_is_skipped(dialect: str, text: str) -> None:
    """A frame with other text and numbers is skipped, unless the text may begin markup."""
    raw = frame(dialect, text, 12, "x")
    assert Learned(dialect, frame(dialect, "word", 1, "ab")).stop(raw) == len(raw)
    assert Learned(dialect, frame(dialect, "word", 1, "ab")).stop(frame(dialect, f"{text}<", 12, "x")) == 0


def test_no_text_is_skipped_if_disabled() -> None:
    """No text is skipped while that is disabled, for example while a stage holds frames."""
    raw = frame("openai-chat", "word", 1)
    assert Learned("openai-chat", raw, passes=False).stop(raw) == 0


@pytest.mark.parametrize("raw", [b'\xef\xbb\xbfdata: {"text":"a"}\n\n', b'data: {"text":"a"}\r\r'])
def test_unusual_frames_are_not_learned(raw: bytes) -> None:
    """Only a block that begins with a field and ends with line feeds is learned."""
    assert not Learned("openai-chat", raw).is_pattern


HEAD = b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"arguments":'
RAW = HEAD + b'"a"}}]}}]}\n\n'


@pytest.mark.parametrize(
    ("out", "edit"),
    [
        (RAW, (None, None)),
        (RAW.replace(b'"id":"",', b""), (HEAD.replace(b'"id":"",', b""), None)),
        (RAW.replace(b"}}]}}]}", b"},1]}"), (None, b"},1]}\n\n")),
        (RAW.replace(b'"a"', b'"b"'), None),
        (
            RAW.replace(b'"id":"",', b"").replace(b"}}]}}]}", b"},1]}"),
            (HEAD.replace(b'"id":"",', b""), b"},1]}\n\n"),
        ),
        (RAW.replace(b"}}]}}]}", b'},"a"]}').replace(b'"id":"",', b""), None),
    ],
)
def test_learned_edits(out: bytes, edit: tuple[bytes | None, bytes | None] | None) -> None:
    """A change before the arguments, after them, or both is learned; other changes are not."""
    assert Template(RAW, len(HEAD), len(HEAD) + 3, EventContent()).edit(RAW, out) == edit


PADDING = st.text("abcXYZ019 -_~!#[]", max_size=12)
STRINGS = st.text(max_size=12) | st.sampled_from(
    ['"', "\\", "}", '"}', "obfuscation", "arguments", "\ud83d", "é", "\n"]
)


def chat(text: str, padding: str, number: int) -> dict[str, object]:
    """Return a Chat Completions delta."""
    entry = {"index": 0, "function": {"arguments": text}}
    return {"n": number % 2, "choices": [{"index": 0, "delta": {"tool_calls": [entry]}}], "obfuscation": padding}


def responses(text: str, padding: str, number: int) -> dict[str, object]:
    """Return a Responses delta with a sequence number."""
    kind = "response.function_call_arguments.delta"
    return {"type": kind, "sequence_number": number, "item_id": "fc", "delta": text, "obfuscation": padding}


def anthropic(text: str, padding: str, number: int) -> dict[str, object]:
    """Return an Anthropic delta."""
    del padding
    return {"type": "content_block_delta", "index": number % 3, "delta": {"partial_json": text}}


MAKERS: dict[str, Callable[[str, str, int], dict[str, object]]] = {
    "openai-chat": chat,
    "openai-responses": responses,
    "anthropic": anthropic,
}


def framed(payload: object, *, ascii_only: bool, spaces: str, junk: bytes = b"", at: int = 0) -> Frame:
    """Return a frame with spaces between its closing brackets, and `junk` in the place of a byte."""
    data = json.dumps(payload, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    data = data.replace(b"}}", b"}" + spaces.encode() + b"}")
    if junk:
        at %= len(data)
        data = data[:at] + junk + data[at + 1 :]
    return Frame(b"data: " + data + b"\n\n", 0, data)


@pytest.mark.parametrize("name", MAKERS)
@given(
    st.lists(
        st.tuples(STRINGS, PADDING, st.integers(0, 10**19), st.booleans(), st.sampled_from(["", " ", "   "])),
        min_size=1,
        max_size=30,
    ),
    st.data(),
)
def test_the_fast_path_agrees_with_the_reader(
    name: str, values: list[tuple[str, str, int, bool, str]], data: st.DataObject
) -> None:
    """The fast path reads similar and damaged frames as the protocol's reader does."""
    dialect, make = BY_NAME[name], MAKERS[name]
    fast = fast_path(name)
    for text, padding, number, ascii_only, spaces in values:
        junk = data.draw(st.sampled_from([b"", b"", b"", b'"', b"\\", b"{", b"1", b" ", b"\xff", b"\x01"]))
        at = data.draw(st.integers(0, 400))
        one = framed(make(text, padding, number), ascii_only=ascii_only, spaces=spaces, junk=junk, at=at)
        assert fast.read(one) == dialect.read(Frame(one.raw, 0, one.data))


class Counting:
    """A protocol's reader that counts its calls."""

    def __init__(self, dialect: WireProtocol) -> None:
        """Wrap the reader of `protocol`."""
        self.reads = 0
        self._read = dialect.read

    def __call__(self, one: Frame) -> EventContent:
        """Count the call and read."""
        self.reads += 1
        return self._read(one)


@pytest.mark.parametrize("name", MAKERS)
def test_a_long_call_is_parsed_once(name: str) -> None:
    """One frame of a long call is parsed; the others are not, with any padding and number."""
    counting = Counting(BY_NAME[name])
    fast = fast_path(name, counting)
    for number in range(500):
        text, padding = f'piece "{number}"', "x" * (number % 9)
        spaces = " " * (number % 4) if name == "anthropic" else ""
        one = framed(MAKERS[name](text, padding, number * 6), ascii_only=True, spaces=spaces)
        assert fast.read(one).fragments[0].arguments == text
    assert counting.reads == 1


def test_learning_ends_if_no_frames_are_alike() -> None:
    """A stream without similar frames is read correctly, and learning stops after a while."""
    counting = Counting(BY_NAME["openai-chat"])
    fast = fast_path(read=counting)
    for number in range(48):
        one = framed({"id": str(number), **chat(f"{number}", "", 0)}, ascii_only=True, spaces="")
        assert fast.read(one).fragments[0].arguments == f"{number}"
    assert counting.reads == 48
    assert fast._misses < 48


def test_the_fast_path_agrees_with_the_reader_on_recorded_streams(shared: Path) -> None:
    """The fast path reads every recorded event stream as the protocol's reader does, and often without it."""
    saved = 0
    for name, dialect in BY_NAME.items():
        for path in sorted((shared / "streams" / name).glob("*.sse")):
            counting = Counting(dialect)
            fast = fast_path(read=counting)
            frames = [one for one in SseFramer().feed(path.read_bytes()) if one.data is not None]
            for one in frames:
                assert fast.read(one) == dialect.read(Frame(one.raw, one.number, one.data, one.name)), path.name
            saved += len(frames) - counting.reads
    assert saved > 0
