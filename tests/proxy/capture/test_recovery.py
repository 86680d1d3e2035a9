from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.harness.captures import metadata, read
from tests.proxy.capture.test_draft import CaptureFolder
from tests.proxy.flows import CHUNK, DONE, SECRET, llm_flow
from toolstream_core.proxy.capture.folder import Folder
from toolstream_core.proxy.capture.recovery import recover

if TYPE_CHECKING:
    from pathlib import Path

    from mitmproxy import http


def leave_unfinished_capture(folder: Path, flow: http.HTTPFlow, *bodies: bytes) -> None:
    """Leave the file of a capture that was saved after each body, without its lock."""
    draft = CaptureFolder(folder).draft(flow)
    draft.state = flow.get_state
    for body in bodies:
        draft.add_upstream([(5.0, body[:50]), (5.2, body[50:])], "")
        draft.save()
    [spool] = folder.iterdir()
    content = spool.read_bytes()
    draft.discard()
    assert [*folder.iterdir()] == []
    spool.write_bytes(content)


def test_a_saved_response_is_recovered_once(tmp_path: Path) -> None:
    """A recovered capture is redacted and has the saved chunks with their times and an error."""
    leave_unfinished_capture(tmp_path, llm_flow(), CHUNK, DONE)
    [path] = recover(Folder(tmp_path, 10**6))
    assert [*recover(Folder(tmp_path, 10**6))] == []
    flow = read(path)
    assert flow.response is not None
    assert flow.response.content == CHUNK + DONE
    assert metadata(flow)["chunks"] == [[0, 50], [200, len(CHUNK) - 50], [0, len(DONE)]]
    assert flow.error is not None
    assert metadata(flow)["broken"] == flow.error.msg
    assert SECRET.encode() not in path.read_bytes()


def test_other_traffic_is_not_recovered(tmp_path: Path) -> None:
    """The file of a response that is not from an LLM is deleted."""
    flow = llm_flow()
    flow.request.path, flow.request.content = "/events", b""
    leave_unfinished_capture(tmp_path, flow, b"data: hello\n\n" * 9)
    assert [*recover(Folder(tmp_path, 10**6))] == []
    assert [*tmp_path.iterdir()] == []
