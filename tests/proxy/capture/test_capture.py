"""Options of captures, and what is told when one fails."""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy.exceptions import OptionsError
from mitmproxy.test import taddons

from tests.proxy.flows import CHUNK, llm_flow
from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.proxy.capture.capture import Capture
from toolstream_core.proxy.capture.folder import Folder
from toolstream_core.proxy.options import size_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def context() -> Iterator[taddons.context]:
    """Where the options are declared."""
    with taddons.context(ToolstreamAddon(), loadcore=False) as made:
        yield made


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("500M", 500 * 2**20), ("1.5g", 3 * 2**29), (" 2 KiB ", 2048), ("3TB", 3 * 2**40)]
)
def test_sizes(text: str, size: int) -> None:
    """Bytes, with the usual suffixes."""
    assert size_of("toolstream_capture_max", text) == size


@pytest.mark.parametrize(
    ("option", "value", "right"),
    [
        ("toolstream_capture_when", "never", "Expected all, findings, errors"),
        ("toolstream_capture_text", "drop", "Expected keep, mask, shape"),
        ("toolstream_capture_max", "much", "for example, 500M"),
        ("toolstream_capture_max", "0", "for example, 500M"),
        ("toolstream_capture_secret", ["/(/"], "not a regular expression"),
        ("toolstream_capture", "/dev/null", "Expected a writable folder"),
        ("toolstream_capture", "/dev/null/x", "Expected a writable folder"),
    ],
)
def test_wrong_options(context: taddons.context, option: str, value: object, right: str) -> None:
    """The error names what would be right."""
    with pytest.raises(OptionsError, match=f"{option}: .*{right}"):
        context.options.update(**{option: value})


def test_it_is_off_until_there_is_a_folder(context: taddons.context, tmp_path: Path) -> None:
    """And again when there is none any more."""
    capture = Capture()
    for folder in ("", str(tmp_path / "new"), ""):
        context.options.toolstream_capture = folder
        capture.configure(context.options)
        assert capture.on == bool(folder)
        assert (capture.begin(llm_flow()) is not None) == bool(folder)
    assert (tmp_path / "new").is_dir()


def failing(context: taddons.context, path: Path, **options: Any) -> Capture:
    """A capture into a folder."""
    context.options.update(toolstream_capture=str(path), **options)
    capture = Capture()
    capture.configure(context.options)
    return capture


def play(capture: Capture) -> None:
    """Capture a flow, or try to."""
    flow = llm_flow()
    recording = capture.begin(flow)
    if recording is not None:
        recording.take_upstream(1.0, CHUNK, (len(CHUNK),))
        recording.end(flow, None, None, differs=False)
    capture.close()


def test_a_quota_ends_it_with_one_error(
    context: taddons.context, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing more is captured, and the log says what to do."""
    (tmp_path / "old.flow").write_bytes(bytes(1000))
    capture = failing(context, tmp_path, toolstream_capture_max="1000")
    with caplog.at_level(logging.ERROR):
        play(capture)
        assert not capture.on
        play(capture)
    assert len(caplog.messages) == 1
    assert "raise toolstream_capture_max" in caplog.messages[0]
    assert [one.name for one in tmp_path.iterdir()] == ["old.flow"]


def test_a_full_disk_is_one_error(
    context: taddons.context, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of as many as there are in a row; when it has room again, captures go on, and the next error is told."""
    capture = failing(context, tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/some/path")

    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            with monkeypatch.context() as patched:
                patched.setattr(Folder, "make_room", full)
                play(capture)
                play(capture)
            assert capture.on
            play(capture)
    assert [message.partition("captured: ")[2] for message in caplog.messages] == [
        "No space left on device. Traffic goes on."
    ] * 2
    assert len(list(tmp_path.iterdir())) == 2


def test_a_bug_of_ours_is_told_without_its_text(
    context: taddons.context, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which may hold anything."""
    capture = failing(context, tmp_path)

    def fail(*_: object) -> None:
        raise KeyError("sk-secret")

    monkeypatch.setattr("toolstream_core.proxy.capture.draft.pack", fail)
    with caplog.at_level(logging.ERROR):
        play(capture)
    [message] = caplog.messages
    assert "KeyError at test_capture.py" in message
    assert "sk-secret" not in message
    assert list(tmp_path.iterdir()) == []
