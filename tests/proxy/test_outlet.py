"""Outlets write lines in batches to a stream, the log or a file."""

from __future__ import annotations

import asyncio
import io
import logging
from pathlib import Path

import pytest

from toolstream_core.proxy.report import FLUSH_AT, FileOutlet, Outlet, terminal, to_log, to_stream


def test_simultaneous_lines_are_written_together() -> None:
    """Lines of the same moment need one write."""
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


def test_unwritten_lines_are_limited() -> None:
    """A full batch is written at once, which bounds the memory."""
    written: list[str] = []

    async def run() -> None:
        outlet = Outlet(written.append)
        for _ in range(FLUSH_AT):
            outlet.line("x")

    asyncio.run(run())
    assert [text.count("\n") for text in written] == [FLUSH_AT]


def test_without_a_loop_each_line_is_written() -> None:
    """Each line is written at once if mitmproxy has no event loop any more."""
    written: list[str] = []
    Outlet(written.append).line("x")
    assert written == ["x\n"]


def test_characters_outside_the_encoding_are_escaped() -> None:
    """A character that the terminal's encoding lacks is written as an escape."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    to_stream(stream)("é\ud83d\n")
    assert raw.getvalue() == b"\\xe9\\ud83d\n"


def test_a_closed_stream_raises_no_error() -> None:
    """Lines for a closed stream are dropped."""
    stream = io.StringIO()
    write = to_stream(stream)
    stream.close()
    write("x")
    write("y")


def test_to_log(caplog: pytest.LogCaptureFixture) -> None:
    """Each line is a log record."""
    with caplog.at_level(logging.INFO):
        to_log("a\nb\n")
    assert caplog.messages == ["a", "b"]


def test_terminal(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    """Lines go to standard output, or to the event log if mitmproxy has one."""
    terminal(event_log=False).line("out")
    assert capsys.readouterr().out == "out\n"
    with caplog.at_level(logging.INFO):
        terminal(event_log=True).line("log")
    assert caplog.messages == ["log"]


def test_file(tmp_path: Path) -> None:
    """Lines are appended to the file, which only its owner may read from then on."""
    path = tmp_path / "lines.jsonl"
    path.write_text("before\n", encoding="utf-8")
    path.chmod(0o644)
    outlet = FileOutlet(path)
    outlet.line("é")
    outlet.close()
    assert path.read_text(encoding="utf-8") == "before\né\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    """The constructor raises the system's error."""
    with pytest.raises(OSError, match="directory"):
        FileOutlet(tmp_path / "no" / "such")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
def test_a_full_disk_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is raised, when it is closed neither."""
    outlet = FileOutlet(Path("/dev/full"))
    for text in ("a", "b"):
        outlet.line(text)
        outlet.flush()
    outlet.close()
    (message,) = caplog.messages
    assert message.startswith("toolstream_jsonl: /dev/full cannot be written: No space left on device. ")
