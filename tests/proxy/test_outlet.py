"""Where told lines go: in batches, to whatever can take them."""

from __future__ import annotations

import asyncio
import io
import logging
from typing import TYPE_CHECKING

import pytest

from toolstream_core.proxy.report import FLUSH_AT, FileOutlet, Outlet, terminal, to_log, to_stream

if TYPE_CHECKING:
    from pathlib import Path


def test_lines_of_one_moment_are_written_together() -> None:
    """One write for many lines, soon after the first."""
    written: list[str] = []

    async def run() -> None:
        done = asyncio.Event()

        def write(text: str) -> None:
            written.append(text)
            done.set()

        outlet = Outlet(write)
        for line in ("a", "b", "c"):
            outlet.line(line)
        assert written == []
        await done.wait()

    asyncio.run(run())
    assert written == ["a\nb\nc\n"]


def test_a_flood_is_written_at_once() -> None:
    """Memory stays bounded."""
    written: list[str] = []

    async def run() -> None:
        outlet = Outlet(written.append)
        for _ in range(FLUSH_AT):
            outlet.line("x")

    asyncio.run(run())
    assert [text.count("\n") for text in written] == [FLUSH_AT]


def test_without_a_loop_each_line_is_written() -> None:
    """At mitmproxy's end there may be no loop left."""
    written: list[str] = []
    Outlet(written.append).line("x")
    assert written == ["x\n"]


def test_what_an_encoding_cannot_say_is_escaped() -> None:
    """A terminal of another time gets an escape, no error."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    to_stream(stream)("é\ud83d\n")
    assert raw.getvalue() == b"\\xe9\\ud83d\n"


def test_a_closed_stream_is_given_up() -> None:
    """Nobody listens: no error."""
    stream = io.StringIO()
    write = to_stream(stream)
    stream.close()
    write("x")
    write("y")


def test_to_log(caplog: pytest.LogCaptureFixture) -> None:
    """A record for each line."""
    with caplog.at_level(logging.INFO):
        to_log("a\nb\n")
    assert caplog.messages == ["a", "b"]


def test_terminal(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    """Standard output, or the event log where mitmproxy has one."""
    terminal(event_log=False).line("out")
    assert capsys.readouterr().out == "out\n"
    with caplog.at_level(logging.INFO):
        terminal(event_log=True).line("log")
    assert caplog.messages == ["log"]


def test_file(tmp_path: Path) -> None:
    """Appended to, readable by its owner alone, also where it was there before."""
    path = tmp_path / "told.jsonl"
    path.write_text("before\n", encoding="utf-8")
    path.chmod(0o644)
    outlet = FileOutlet(path)
    outlet.line("é")
    outlet.close()
    assert path.read_text(encoding="utf-8") == "before\né\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    """The caller is told."""
    with pytest.raises(OSError, match="directory"):
        FileOutlet(tmp_path / "no" / "such")
