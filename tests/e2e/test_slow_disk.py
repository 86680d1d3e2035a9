"""A slow disk delays captures, but never the traffic."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.changes import fetch, sample_stream
from tests.e2e.harness.proxies import HERE, client, route
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.script import Response, Send
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

PIPE = "SLOW_DISK_PIPE"
"""The variable of harness/slow_disk.py, which cannot be imported here: it patches the spool."""
MIB = 1024 * 1024
LONG = 40 * MIB
"""More bytes than may wait for the disk."""


def test_a_response_that_exceeds_the_buffer_is_not_captured(proxies: Proxies, plain: Upstream, tmp_path: Path) -> None:
    """While the disk is blocked, clients get complete responses; only the too long response is not captured."""
    pipe, captures = tmp_path / "pipe", tmp_path / "captures"
    os.mkfifo(pipe)
    sample = openai_chat("call_1", "Bern")
    chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "word " * (MIB // 5)}}]}
    event = b"data: " + json.dumps(chunk).encode() + b"\n\n"
    scripts = (addon_script(), HERE / "slow_disk.py")
    with proxies.make({"toolstream_capture": str(captures)}, scripts=scripts, env={PIPE: str(pipe)}) as proxy:
        plan = plain.plan(Response((Send(event),) * (LONG // MIB)))
        with client("h1", route(proxy, plain)) as connection:
            rest = iter(connection.request(sample.path, sample.body, plan.headers).next_chunk, b"")
            assert sum(map(len, rest)) == len(event) * (LONG // MIB)
        _, body, _ = fetch(proxy, plain, sample, "h1", sample_stream(sample))
        assert body == b"".join(sample.chunks)
        assert list(captures.glob("*.flow")) == []
        pipe.write_bytes(b"continue")
    assert len([line for line in proxy.output if "the disk is too slow" in line]) == 1
    assert len(list(captures.glob("*.flow"))) == 1
