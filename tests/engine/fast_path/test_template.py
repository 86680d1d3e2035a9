"""Likeness reads exactly what the dialect's reader would, and saves most of its work."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.engine.fast_path.template import MAX_MISSES, TemplateReader
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolstream_core.model import EventContent
    from toolstream_core.protocols.protocol import WireProtocol

BY_NAME = {dialect.name: dialect for dialect in PROTOCOLS}
PADDING = st.text("abcXYZ019 -_~!#[]", max_size=12)
STRINGS = st.text(max_size=12) | st.sampled_from(
    ['"', "\\", "}", '"}', "obfuscation", "arguments", "\ud83d", "é", "\n"]
)


def chat(text: str, padding: str, number: int) -> dict[str, object]:
    """A chat delta."""
    entry = {"index": 0, "function": {"arguments": text}}
    return {"n": number % 2, "choices": [{"index": 0, "delta": {"tool_calls": [entry]}}], "obfuscation": padding}


def responses(text: str, padding: str, number: int) -> dict[str, object]:
    """A Responses delta, its number before it."""
    kind = "response.function_call_arguments.delta"
    return {"type": kind, "sequence_number": number, "item_id": "fc", "delta": text, "obfuscation": padding}


def anthropic(text: str, padding: str, number: int) -> dict[str, object]:
    """An Anthropic delta."""
    del padding
    return {"type": "content_block_delta", "index": number % 3, "delta": {"partial_json": text}}


MAKERS: dict[str, Callable[[str, str, int], dict[str, object]]] = {
    "openai-chat": chat,
    "openai-responses": responses,
    "anthropic": anthropic,
}


def frame(payload: object, *, ascii_only: bool, spaces: str, junk: bytes = b"", at: int = 0) -> Frame:
    """A frame, with spaces between its closing brackets and perhaps a byte put somewhere."""
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
def test_reads_what_the_dialect_reads(
    name: str, said: list[tuple[str, str, int, bool, str]], data: st.DataObject
) -> None:
    """For frames alike, nearly alike, and alike with a byte changed."""
    dialect, make = BY_NAME[name], MAKERS[name]
    like = TemplateReader(dialect.read)
    for text, padding, number, ascii_only, spaces in said:
        junk = data.draw(st.sampled_from([b"", b"", b"", b'"', b"\\", b"{", b"1", b" ", b"\xff", b"\x01"]))
        at = data.draw(st.integers(0, 400))
        one = frame(make(text, padding, number), ascii_only=ascii_only, spaces=spaces, junk=junk, at=at)
        assert like.read(one) == dialect.read(Frame(one.raw, 0, one.data))


class Counting:
    """A dialect's reader that counts its work."""

    def __init__(self, dialect: WireProtocol) -> None:
        """Of `dialect`."""
        self.reads = 0
        self._read = dialect.read

    def __call__(self, one: Frame) -> EventContent:
        """Count and read."""
        self.reads += 1
        return self._read(one)


@pytest.mark.parametrize("name", MAKERS)
def test_saves_the_work(name: str) -> None:
    """A long call is parsed once, its other frames are not, whatever their padding and number."""
    counting = Counting(BY_NAME[name])
    like = TemplateReader(counting)
    for number in range(500):
        text, padding = f'piece "{number}"', "x" * (number % 9)
        spaces = " " * (number % 4) if name == "anthropic" else ""
        one = frame(MAKERS[name](text, padding, number * 6), ascii_only=True, spaces=spaces)
        assert like.read(one).fragments[0].arguments == text
    assert counting.reads == 1


def test_gives_up_where_there_is_no_likeness() -> None:
    """A stream whose frames never repeat costs no learning after a while, and reads right."""
    counting = Counting(BY_NAME["openai-chat"])
    like = TemplateReader(counting)
    for number in range(3 * MAX_MISSES):
        one = frame({"id": str(number), **chat(f"{number}", "", 0)}, ascii_only=True, spaces="")
        assert like.read(one).fragments[0].arguments == f"{number}"
    assert counting.reads == 3 * MAX_MISSES
    assert like._misses == MAX_MISSES


def test_recorded_streams(shared: Path) -> None:
    """Over every recorded event stream: the same as the dialect's reader, and often without it."""
    saved = 0
    for name, dialect in BY_NAME.items():
        for path in sorted((shared / "streams" / name).glob("*.sse")):
            counting = Counting(dialect)
            like = TemplateReader(counting)
            frames = [one for one in SseFramer().feed(path.read_bytes()) if one.data is not None]
            for one in frames:
                assert like.read(one) == dialect.read(Frame(one.raw, one.number, one.data, one.name)), path.name
            saved += len(frames) - counting.reads
    assert saved > 0
