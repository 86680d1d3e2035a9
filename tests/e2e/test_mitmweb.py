"""LLM responses in mitmweb and in mitmproxy's console, in each version."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING, Final, Self

import pytest

from tests.e2e.harness import samples
from tests.e2e.harness.changes import with_empty_ids
from tests.e2e.harness.mitmweb import SECRET, Web, misread, send_request
from tests.e2e.harness.samples import NAME
from tests.e2e.harness.versions import ROOT, VERSIONS, Version
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

PATIENCE: Final = 60.0
SAVED: Final = ROOT / "flows" / "deepseek-empty-id.flow"
_ESCAPES: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[()][A-Z0-9]|[=>78cM])")
"""Escape sequences of a terminal."""


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: version.name)
def version(request: pytest.FixtureRequest) -> Version:
    """A version of mitmproxy; skipped if it is not installed."""
    found: Version = request.param
    if found.unavailable:
        pytest.skip(found.unavailable)
    return found


@pytest.fixture
def web(version: Version, tmp_path: Path) -> Iterator[Web]:
    """A mitmweb with default options."""
    with Web(version, tmp_path) as started:
        yield started


def test_mitmweb_shows_a_misread_response(web: Web, plain: Upstream, tmp_path: Path) -> None:
    """A misread response is marked, commented and shown with its verdict; a command writes it; *Save* has no body."""
    sample = misread(web, plain)
    first, second = web.flows()
    assert first["marked"] == "❌"
    assert first["comment"].startswith("returned-without-arguments at event ")
    response = web.shown(first, "response")
    assert response["view_name"] == "Tool calls"
    assert response["text"].startswith(f"verdict: The client returned call 0 {NAME} without arguments")
    assert web.shown(second, "request")["view_name"] == "Tool calls"
    assert web.shown(first, "request")["view_name"] == "JSON"
    events = web.shown(first, "response", "events")["text"].splitlines()
    assert events[-1].split() == [str(len(sample.chunks) - 1), *events[-1].split()[1:]]
    assert sample.chunks[0] not in web.saved()
    assert sample.call_id.encode() in web.saved()
    assert web.command("toolstream.view", f"@{first['id']}", str(tmp_path / "page.html")) == {"value": None}
    web.proxy.wait_for(f"toolstream wrote {tmp_path}/page.html")
    page = (tmp_path / "page.html").read_text()
    assert "without arguments" in page
    assert SECRET not in page
    assert "exists" in web.command("toolstream.view", "@all", str(tmp_path / "page.html"))["error"]


@pytest.mark.parametrize(
    "options",
    [
        {"toolstream_repair": "safe"},
        {"toolstream_shape": "tiny-fragments"},
        {"toolstream_fault": "stall:ms=50,at=event:2"},
        {"toolstream_fault": "recut:bytes=7"},
    ],
    ids=["repair", "shape", "stall", "recut"],
)
def test_mitmweb_shows_the_body_that_the_client_received(
    tmp_path: Path, plain: Upstream, options: dict[str, str]
) -> None:
    """The body of a changed or delayed response is the client's, and the view `events` shows the provider's."""
    sample = with_empty_ids(samples.openai_chat("mitmweb body", "Lugano"))
    with Web(Version("pinned"), tmp_path, **options) as web:
        received = send_request(web, plain, sample)
        [flow] = web.flows()
        assert web.body(flow) == received
        assert 'id=""' in web.shown(flow, "response", "events")["text"]
        assert received not in web.saved()


@pytest.mark.parametrize("opened", [False, True], ids=["at the start", "opened"])
def test_mitmweb_shows_saved_flows(version: Version, tmp_path: Path, opened: bool) -> None:
    """Saved flows are shown and marked like live flows."""
    options = {} if opened else {"rfile": str(SAVED)}
    with Web(version, tmp_path, **options) as web:
        if opened:
            web.open(SAVED)
        web.proxy.wait_for("verdict ok")
        flow = web.flows()[0]
        assert (flow["marked"], flow["comment"]) == ("🔻", "empty-id at event 2")
        assert "returned: as intended" in web.shown(flow, "response")["text"]


class Console:
    """mitmproxy's console in a pseudo-terminal."""

    def __init__(self, version: Version, confdir: Path, *arguments: str) -> None:
        """Start it."""
        terminal, process_end = pty.openpty()
        fcntl.ioctl(process_end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        program = version.program.with_name("mitmproxy")
        command = [str(program), "-s", str(addon_script()), "--set", f"confdir={confdir}", "-p", "0", *arguments]
        environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self._process = subprocess.Popen(
            command, stdin=process_end, stdout=process_end, stderr=process_end, env=environment
        )
        os.close(process_end)
        self._terminal = terminal
        self._shown = b""

    def __enter__(self) -> Self:
        """The console is already started."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.wait()
        os.close(self._terminal)

    def type(self, keys: str) -> None:
        """Type keys, and forget the text that was shown before."""
        self._shown = b""
        os.write(self._terminal, keys.encode())

    def wait_for(self, wanted: str) -> None:
        """Wait until the console shows a text."""
        until = time.monotonic() + PATIENCE
        while wanted not in self.text:
            readable, _, _ = select.select([self._terminal], [], [], max(0.0, until - time.monotonic()))
            assert readable, f"{wanted!r} is not shown:\n{self.text}"
            self._shown += os.read(self._terminal, 65536)

    @property
    def text(self) -> str:
        """The text that the console has shown since the last keys."""
        return _ESCAPES.sub(b"", self._shown).decode("utf-8", "replace")


@pytest.mark.parametrize("loaded", [False, True], ids=["at the start", "loaded"])
def test_the_console_shows_a_misread_response(version: Version, tmp_path: Path, loaded: bool) -> None:
    """The console shows the mark in the list, and the verdict with a response; a command sets an option."""
    with Console(version, tmp_path, *([] if loaded else ["-r", str(SAVED)])) as console:
        if loaded:
            console.wait_for("Load flows")
            console.type("L")
            console.wait_for("view.flows.load")
            console.type(f"{SAVED}\r")
        console.wait_for("chat/completions")
        console.wait_for("🔻")
        console.type("g\r")
        console.wait_for("deepseek-chat")
        console.type("\t")
        console.wait_for("verdict: The client read call 0 read_file as sent (ok)")
        console.type(":toolstream.repair safe\r")
        console.wait_for("toolstream_repair: safe")
