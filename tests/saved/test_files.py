from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from toolstream_core.saved import demo
from toolstream_core.saved.exchange import UnreadableError
from toolstream_core.saved.files import files, responses

if TYPE_CHECKING:
    from pathlib import Path

HAR = b'{\r\n "log": {"entries": [{"request": {"url": "https://a.example/x"}, "response": {"status": 200}}]}}'
SSE = b"data: {}\n\n" * 30


def bare_body(path: Path | str) -> bytes:
    """Return the bare body in a file."""
    [data] = [b"".join(saved.chunks) for saved in responses(str(path))]
    return data


def write_file(path: Path, data: bytes) -> Path:
    """Write a file with its folders and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_file_need_not_exist(tmp_path: Path) -> None:
    """A missing file is reported when it is opened."""
    missing = str(tmp_path / "missing.sse")
    assert list(files(missing)) == [missing]
    assert list(files("-")) == ["-"]


def test_a_folder_means_all_visible_files_below_it(tmp_path: Path) -> None:
    """The files are sorted; hidden files and folders such as `.git` are skipped."""
    for name in ("b.sse", "a/z.flow", "a/b/c", ".git/d.sse", "a/.e.sse"):
        write_file(tmp_path / name, b"")
    assert list(files(str(tmp_path))) == [str(tmp_path / name) for name in ("a/b/c", "a/z.flow", "b.sse")]


def test_a_pipe_in_a_folder_is_skipped(tmp_path: Path) -> None:
    """Opening it would wait for a writer."""
    os.mkfifo(tmp_path / "pipe")
    assert list(files(str(tmp_path))) == []


@pytest.mark.parametrize("data", [b"", b"x", SSE, SSE * 10_000])
def test_a_bare_body_is_its_bytes(tmp_path: Path, data: bytes) -> None:
    """Bodies of any length are read unchanged."""
    assert bare_body(write_file(tmp_path / "a.sse", data)) == data


def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    """The shell's `<(curl …)` is a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(SSE,))
    writer.start()
    assert bare_body(pipe) == SSE
    writer.join()


def test_standard_input_is_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` means standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(SSE))))
    assert bare_body("-") == SSE


def test_a_closed_standard_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has no `sys.stdin` in this case."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UnreadableError, match="closed"):
        bare_body("-")


def test_the_given_request_belongs_to_a_bare_body(tmp_path: Path) -> None:
    """A HAR or flow file has its own requests."""
    [bare] = responses(str(write_file(tmp_path / "a.sse", SSE)), {"model": "m"})
    [entry] = responses(str(write_file(tmp_path / "a.har", HAR)), {"model": "m"})
    assert bare.facts.request == {"model": "m"}
    assert not entry.facts.request


@pytest.mark.parametrize("name", ["a.har", "a.json", "a", "a.flow", "a.har.gz"])
def test_a_har_file_is_recognized_by_its_content(tmp_path: Path, name: str) -> None:
    """The file name does not matter."""
    data = gzip.compress(HAR) if name.endswith(".gz") else HAR
    [saved] = responses(str(write_file(tmp_path / name, data)))
    assert saved.facts.source == f"{tmp_path / name}#0"
    assert saved.facts.host == "a.example"


@pytest.mark.parametrize("name", ["a.flow", "a.mitm", "dump", "a.flow.gz"])
def test_a_flow_file_is_recognized_by_its_content(tmp_path: Path, name: str) -> None:
    """The file name does not matter, and the file may be compressed."""
    flow = demo.located(f"{demo.PREFIX}{demo.names()[0]}").read_bytes()
    path = write_file(tmp_path / name, gzip.compress(flow) if name.endswith(".gz") else flow)
    assert next(responses(str(path))).facts.source == f"{path}#0"


def test_a_compressed_file_is_decompressed(tmp_path: Path) -> None:
    """The compression is that of the file, not a content coding of the response."""
    path = write_file(tmp_path / "a.sse.gz", gzip.compress(SSE))
    assert [saved.facts.content_encoding for saved in responses(str(path))] == [""]
    assert bare_body(path) == SSE


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.flow", b"what?", "mitmdump -w"),
        ("a.mitm", b"\x00\x01", "mitmdump -w"),
        ("a.har", b"{}", "entries"),
        ("a.har", HAR[:-9], "entries"),
        ("a.har.gz", gzip.compress(HAR, mtime=0)[:-30], "entries"),
        ("a.flow.gz", b"\x1f\x8bjunk", "while decompressing"),
    ],
)
def test_a_file_that_does_not_match_its_name_is_an_error(tmp_path: Path, name: str, data: bytes, expected: str) -> None:
    """The error names the expected content."""
    with pytest.raises(UnreadableError, match=expected):
        list(responses(str(write_file(tmp_path / name, data))))


@pytest.mark.parametrize(("path", "reason"), [("missing", "No such file"), (".", "is a folder"), ("a\0b", "null")])
def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path, path: str, reason: str) -> None:
    """The error has the system's message."""
    with pytest.raises(UnreadableError, match=reason):
        bare_body(f"{tmp_path}/{path}")


def test_a_read_error_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk may fail inside a file."""

    class Failing(io.RawIOBase):
        left = 100

        def readable(self) -> bool:
            return True

        def readinto(self, into: memoryview) -> int:  # type: ignore[override]
            if not self.left:
                raise OSError(5, "Input/output error")
            into[: self.left] = bytes(self.left)
            count, self.left = self.left, 0
            return count

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Failing())))
    with pytest.raises(UnreadableError, match="Input/output error"):
        bare_body("-")
