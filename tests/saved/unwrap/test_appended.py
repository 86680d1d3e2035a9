"""Bodies that were appended to each other, without anything between them, are read one by one."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from tests.saved.unwrap.test_pasted_files import command
from tests.saved.unwrap.test_reading import NAMES, bare, expected, read, said
from tests.saved.unwrap.test_tools import other
from toolstream_core.saved.files import responses
from toolstream_core.saved.unwrap.appended import bodies

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}\n\n'


def chunks(body: bytes, size: int) -> list[bytes]:
    """A body in pieces of one size."""
    return [body[at : at + size] for at in range(0, len(body), size)]


def one_member(*parts: bytes) -> bytes:
    """A compressed file of them all."""
    return gzip.compress(b"".join(parts))


def several_members(*parts: bytes) -> bytes:
    """A compressed file of each, appended."""
    return b"".join(map(gzip.compress, parts))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_bodies_are_divided_at_the_first_event_of_the_next(name: str, size: int) -> None:
    """To the byte, wherever the chunks are cut, also if both are the same response."""
    parts = [bare(name), bare(name), other(bare(name))]
    found = bodies(chunks(b"".join(parts), size), "")
    assert [b"".join(part) for part in found] == parts


@pytest.mark.parametrize("first", ["openai-chat-parallel", "anthropic-parallel", "openai-responses-parallel"])
@pytest.mark.parametrize("second", ["gemini-parallel", "cohere-v2-single", "ollama-parallel"])
@pytest.mark.parametrize("packed", [lambda *parts: b"".join(parts), one_member, several_members])
def test_the_next_body_may_be_of_another_protocol(
    first: str, second: str, packed: Callable[..., bytes], tmp_path: Path
) -> None:
    """Each is read as if it were alone, and has a name of its own, also in a compressed file."""
    path = tmp_path / "two.sse"
    path.write_bytes(packed(bare(first), bare(second)))
    assert [said(one) for one in read(path)] == [expected(first), expected(second)]
    assert [one.source for one in responses(str(path)) if one.body] == [str(path), f"{path}#2"]


def test_a_long_first_body_is_divided_too(tmp_path: Path) -> None:
    """The second one begins far behind the first 64 KB."""
    path = tmp_path / "two.sse"
    head, mark, tail = bare("openai-chat-parallel").partition(b"\n\n")
    identity = head[head.index(b'"id":"') :].split(b",")[0]
    text = TEXT.replace(b'"id":"chatcmpl-1"', identity)
    long = head + mark + text * 2000 + tail
    path.write_bytes(long + bare("anthropic-parallel"))
    assert [one.body for one in responses(str(path))] == [long, bare("anthropic-parallel")]


def test_the_commands_name_each_response(tmp_path: Path) -> None:
    """`repair` cannot write two responses into one body."""
    path = tmp_path / "two.sse"
    path.write_bytes(bare("openai-chat-parallel") + bare("anthropic-parallel"))
    done = command("inspect", str(path))
    assert done.returncode == 0
    assert f"{path.name}#2" in done.stdout.decode()
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
    """They are a defect of the provider, which is reported as such."""
    name, event = LATE[late]
    body = bare(name)
    if late == "the same id":
        identity = body[body.index(b'"id":"') :].split(b",")[0]
        event = event.replace(b'"id":"chatcmpl-1"', identity)
    assert [b"".join(part) for part in bodies([body + event], "")] == [body + event]


def test_nothing_waits_before_the_end() -> None:
    """A pipe is read as it comes, also inside an event."""
    body = bare("openai-chat-parallel")
    assert b"[DONE]" in body
    size = 100
    taken = 0
    found = next(iter(bodies(chunks(body[: len(body) // 2], size), "")))
    for chunk in found:
        assert body[taken:].startswith(chunk)
        assert len(chunk) == min(size, len(body) // 2 - taken)
        taken += len(chunk)
    assert taken == len(body) // 2
