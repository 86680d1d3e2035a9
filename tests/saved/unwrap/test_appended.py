"""Concatenated response bodies are read one by one."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from tests.saved.unwrap.test_pasted_files import command
from tests.saved.unwrap.test_reading import NAMES, bare, comparable, expected, read
from tests.saved.unwrap.test_tools import with_other_ids
from tests.saved.unwrap.wrappers import network_chunks
from toolstream_core.saved.files import responses
from toolstream_core.saved.unwrap.parts import bodies

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}\n\n'


def gzip_of_all(*parts: bytes) -> bytes:
    """Return one gzip member with all bodies."""
    return gzip.compress(b"".join(parts))


def gzip_of_each(*parts: bytes) -> bytes:
    """Return a gzip member for each body."""
    return b"".join(map(gzip.compress, parts))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_bodies_are_divided_at_the_first_event_of_the_next(name: str, size: int) -> None:
    """The division is exact for any chunk size, also between two equal responses."""
    parts = [bare(name), bare(name), with_other_ids(bare(name))]
    found = bodies(network_chunks(b"".join(parts), size), "")
    assert [b"".join(part) for part in found] == parts


@pytest.mark.parametrize("first", ["openai-chat-parallel", "anthropic-parallel", "openai-responses-parallel"])
@pytest.mark.parametrize("second", ["gemini-parallel", "cohere-v2-single", "ollama-parallel"])
@pytest.mark.parametrize("join", [lambda *parts: b"".join(parts), gzip_of_all, gzip_of_each])
def test_the_next_body_may_be_of_another_protocol(
    first: str, second: str, join: Callable[..., bytes], tmp_path: Path
) -> None:
    """Each body is read as if it were alone and has its own name, also in a compressed file."""
    path = tmp_path / "two.sse"
    path.write_bytes(join(bare(first), bare(second)))
    assert [comparable(record) for record in read(path)] == [expected(first), expected(second)]
    assert [response.source for response in responses(str(path)) if response.body] == [str(path), f"{path}#2"]


def test_a_long_first_body_is_divided(tmp_path: Path) -> None:
    """The second body starts after the first 64 KB."""
    path = tmp_path / "two.sse"
    head, mark, tail = bare("openai-chat-parallel").partition(b"\n\n")
    identity = head[head.index(b'"id":"') :].split(b",")[0]
    text = TEXT.replace(b'"id":"chatcmpl-1"', identity)
    long = head + mark + text * 2000 + tail
    path.write_bytes(long + bare("anthropic-parallel"))
    assert [response.body for response in responses(str(path))] == [long, bare("anthropic-parallel")]


def test_the_commands_name_each_response(tmp_path: Path) -> None:
    """`inspect` numbers the responses; `repair` rejects the file, as it cannot write two responses into one body."""
    path = tmp_path / "two.sse"
    path.write_bytes(bare("openai-chat-parallel") + bare("anthropic-parallel"))
    result = command("inspect", str(path))
    assert result.returncode == 0
    assert f"{path.name}#2" in result.stdout.decode()
    assert command("repair", str(path), "-o", str(tmp_path / "out.sse")).returncode == 2


LATE = {
    "the same id": ("openai-chat-parallel", TEXT),
    "a usage of another id": ("openai-chat-parallel", b'data: {"id":"chatcmpl-2","choices":[],"usage":{}}\n\n'),
    "a second end": ("openai-chat-parallel", b"data: [DONE]\n\n"),
    "a delta": (
        "anthropic-parallel",
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}\n\n',
    ),
    "a delta of Cohere": (
        "cohere-v2-single",
        b'data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"x"}}}}\n\n',
    ),
    "a second end of Responses": (
        "openai-responses-parallel",
        b'event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_1","output":[]}}\n\n',
    ),
}


@pytest.mark.parametrize("late", LATE)
def test_other_events_after_the_end_belong_to_the_response(late: str) -> None:
    """Events after the end are a defect of the provider."""
    name, event = LATE[late]
    body = bare(name)
    if late == "the same id":
        identity = body[body.index(b'"id":"') :].split(b",")[0]
        event = event.replace(b'"id":"chatcmpl-1"', identity)
    assert [b"".join(part) for part in bodies([body + event], "")] == [body + event]


def test_chunks_are_passed_on_before_the_end() -> None:
    """A pipe is read chunk by chunk, also inside an event."""
    body = bare("openai-chat-parallel")
    assert b"[DONE]" in body
    size = 100
    taken = 0
    found = next(iter(bodies(network_chunks(body[: len(body) // 2], size), "")))
    for chunk in found:
        assert body[taken:].startswith(chunk)
        assert len(chunk) == min(size, len(body) // 2 - taken)
        taken += len(chunk)
    assert taken == len(body) // 2
