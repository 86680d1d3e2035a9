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


def body(path: Path | str) -> bytes:
    """The bare body that a file is."""
    [data] = [b"".join(saved.chunks) for saved in responses(str(path))]
    return data


def put(path: Path, data: bytes) -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_file_is_itself_there_or_not(tmp_path: Path) -> None:
    """Whether it can be opened, opening will tell."""
    missing = str(tmp_path / "missing.sse")
    assert list(files(missing)) == [missing]
    assert list(files("-")) == ["-"]


def test_a_folder_is_all_files_below_it_sorted_but_for_hidden_ones(tmp_path: Path) -> None:
    """`.git` and its like hold no streams that anybody means."""
    for name in ("b.sse", "a/z.flow", "a/b/c", ".git/d.sse", "a/.e.sse"):
        put(tmp_path / name, b"")
    assert list(files(str(tmp_path))) == [str(tmp_path / name) for name in ("a/b/c", "a/z.flow", "b.sse")]


def test_a_pipe_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    """Opening it would wait for a writer for ever."""
    os.mkfifo(tmp_path / "pipe")
    assert list(files(str(tmp_path))) == []


@pytest.mark.parametrize("data", [b"", b"x", SSE, SSE * 10_000])
def test_a_bare_body_is_its_bytes(tmp_path: Path, data: bytes) -> None:
    """However many they are."""
    assert body(put(tmp_path / "a.sse", data)) == data


def test_a_pipe_is_read_as_it_is_written(tmp_path: Path) -> None:
    """As the shell's `<(curl …)` gives it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(SSE,))
    writer.start()
    assert body(pipe) == SSE
    writer.join()


def test_standard_input_is_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """Named `-`."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(SSE))))
    assert body("-") == SSE


def test_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has none then."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UnreadableError, match="closed"):
        body("-")


def test_the_request_goes_with_a_bare_body(tmp_path: Path) -> None:
    """A HAR or flow file has its own."""
    [bare] = responses(str(put(tmp_path / "a.sse", SSE)), {"model": "m"})
    [entry] = responses(str(put(tmp_path / "a.har", HAR)), {"model": "m"})
    assert bare.facts.request == {"model": "m"}
    assert not entry.facts.request


@pytest.mark.parametrize("name", ["a.har", "a.json", "a", "a.flow", "a.har.gz"])
def test_a_har_file_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    """Whatever its name."""
    data = gzip.compress(HAR) if name.endswith(".gz") else HAR
    [saved] = responses(str(put(tmp_path / name, data)))
    assert saved.facts.source == f"{tmp_path / name}#0"
    assert saved.facts.host == "a.example"


@pytest.mark.parametrize("name", ["a.flow", "a.mitm", "dump", "a.flow.gz"])
def test_a_flow_file_is_read_from_its_beginning(tmp_path: Path, name: str) -> None:
    """Whatever its name, compressed or not."""
    flow = demo.located(f"{demo.PREFIX}{demo.names()[0]}").read_bytes()
    path = put(tmp_path / name, gzip.compress(flow) if name.endswith(".gz") else flow)
    assert next(responses(str(path))).facts.source == f"{path}#0"


def test_a_compressed_body_is_decoded(tmp_path: Path) -> None:
    """The coding is that of the file, not that of the response."""
    path = put(tmp_path / "a.sse.gz", gzip.compress(SSE))
    assert [saved.facts.content_encoding for saved in responses(str(path))] == [""]
    assert body(path) == SSE


@pytest.mark.parametrize(
    ("name", "data", "right"),
    [
        ("a.flow", b"what?", "mitmdump -w"),
        ("a.mitm", b"\x00\x01", "mitmdump -w"),
        ("a.har", b"{}", "entries"),
        ("a.har", HAR[:-9], "entries"),
        ("a.har.gz", gzip.compress(HAR, mtime=0)[:-30], "entries"),
        ("a.flow.gz", b"\x1f\x8bjunk", "while decompressing"),
    ],
)
def test_a_file_that_is_not_what_it_is_called_is_told(tmp_path: Path, name: str, data: bytes, right: str) -> None:
    """With what would be right."""
    with pytest.raises(UnreadableError, match=right):
        list(responses(str(put(tmp_path / name, data))))


@pytest.mark.parametrize(("path", "why"), [("missing", "No such file"), (".", "is a folder"), ("a\0b", "null")])
def test_what_cannot_be_opened_is_told(tmp_path: Path, path: str, why: str) -> None:
    """In the system's words."""
    with pytest.raises(UnreadableError, match=why):
        body(f"{tmp_path}/{path}")


def test_an_error_while_reading_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk may fail in the middle."""

    class Failing(io.RawIOBase):
        left = 100

        def readable(self) -> bool:
            return True

        def readinto(self, into: memoryview) -> int:  # type: ignore[override]
            if not self.left:
                raise OSError(5, "Input/output error")
            into[: self.left] = bytes(self.left)
            took, self.left = self.left, 0
            return took

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Failing())))
    with pytest.raises(UnreadableError, match="Input/output error"):
        body("-")
