"""Options of captures and the log when a capture fails."""

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
    """Yield a context in which toolstream's options are declared."""
    with taddons.context(ToolstreamAddon(), loadcore=False) as test_context:
        yield test_context


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("500M", 500 * 2**20), ("1.5g", 3 * 2**29), (" 2 KiB ", 2048), ("3TB", 3 * 2**40)]
)
def test_capture_max_accepts_size_suffixes(text: str, size: int) -> None:
    """A size is a number of bytes with an optional suffix."""
    assert size_of("toolstream_capture_max", text) == size


@pytest.mark.parametrize(
    ("option", "value", "expected"),
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
def test_an_invalid_option_is_rejected(context: taddons.context, option: str, value: object, expected: str) -> None:
    """The error names the option and the expected values."""
    with pytest.raises(OptionsError, match=f"{option}: .*{expected}"):
        context.options.update(**{option: value})


def test_capture_is_on_while_a_folder_is_set(context: taddons.context, tmp_path: Path) -> None:
    """Responses are captured only while `toolstream_capture` names a folder."""
    capture = Capture()
    for folder in ("", str(tmp_path / "new"), ""):
        context.options.toolstream_capture = folder
        capture.configure(context.options)
        assert capture.on == bool(folder)
        assert (capture.begin(llm_flow()) is not None) == bool(folder)
    assert (tmp_path / "new").is_dir()


def configured(context: taddons.context, path: Path, **options: Any) -> Capture:
    """Return a capture that writes into a folder."""
    context.options.update(toolstream_capture=str(path), **options)
    capture = Capture()
    capture.configure(context.options)
    return capture


def capture_flow(capture: Capture) -> None:
    """Capture one flow."""
    flow = llm_flow()
    recording = capture.begin(flow)
    if recording is not None:
        recording.take_upstream(1.0, CHUNK)
        recording.end(flow, None, None, differs=False)
    capture.close()


def test_the_size_limit_stops_captures_with_one_error(
    context: taddons.context, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After the size limit is reached, nothing more is captured and the log names the option to raise."""
    (tmp_path / "old.flow").write_bytes(bytes(1000))
    capture = configured(context, tmp_path, toolstream_capture_max="1000")
    with caplog.at_level(logging.ERROR):
        capture_flow(capture)
        assert not capture.on
        capture_flow(capture)
    assert len(caplog.messages) == 1
    assert "raise toolstream_capture_max" in caplog.messages[0]
    assert [path.name for path in tmp_path.iterdir()] == ["old.flow"]


def test_consecutive_disk_errors_are_logged_once(
    context: taddons.context, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Captures continue when the disk has room again, and the next error is logged again."""
    capture = configured(context, tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/some/path")

    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            with monkeypatch.context() as patched:
                patched.setattr(Folder, "make_room", full)
                capture_flow(capture)
                capture_flow(capture)
            assert capture.on
            capture_flow(capture)
    assert [message.partition("captured: ")[2] for message in caplog.messages] == [
        "No space left on device. Traffic continues."
    ] * 2
    assert len(list(tmp_path.iterdir())) == 2


def test_an_internal_error_is_logged_without_its_message(
    context: taddons.context, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log names the type and place of an internal error, since its message may contain a secret."""
    capture = configured(context, tmp_path)

    def fail(*_: object) -> None:
        raise KeyError("sk-secret")

    monkeypatch.setattr("toolstream_core.proxy.capture.draft.pack", fail)
    with caplog.at_level(logging.ERROR):
        capture_flow(capture)
    [message] = caplog.messages
    assert "KeyError at test_capture.py" in message
    assert "sk-secret" not in message
    assert list(tmp_path.iterdir()) == []
