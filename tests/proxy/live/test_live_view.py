"""The live view: patches add up to the document, memory is bounded, and traffic is not delayed."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tests.proxy.flows import CHUNK, DONE, SECRET, llm_flow
from tests.view.test_document import SCHEMA
from toolstream_core.engine.session import read_body
from toolstream_core.proxy.live.view import LiveCursor, LiveView
from toolstream_core.proxy.live_response import LiveResponse
from toolstream_core.saved.flow import facts_of, request_json
from toolstream_core.settings import Words, settings

if TYPE_CHECKING:
    from mitmproxy import http

    from toolstream_core.proxy.live.recording import LiveRecording

TEXT = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%d"}}]}\n\n'


def begin(view: LiveView, flow: http.HTTPFlow) -> LiveRecording:
    """Start the recording of a response."""
    return view.begin(flow, request_json(flow.request))


def end(flow: http.HTTPFlow, recording: LiveRecording) -> None:
    """End a response as the live response does."""
    body = b"".join(data for _, data in recording.chunks)
    recording.end(flow, read_body([body], recording.exchange), None, differs=False)


def fail(error: Exception) -> None:
    """Raise an internal error of the view."""
    raise error


def apply(document: dict[str, Any], patch: dict[str, Any]) -> None:
    """Apply a patch as the page does."""
    patch = json.loads(json.dumps(patch))
    for key in ("conversations", "models", "projects", "defects"):
        if key in patch:
            document[key] = patch.pop(key)
    if "response" not in patch:
        return
    at, responses = patch.pop("response"), document["responses"]
    if "begin" in patch:
        responses[at:] = [patch.pop("begin"), *responses[at + 1 :]]
    responses[at]["events"] += patch.pop("events", [])
    responses[at] |= patch


async def apply_patches(cursor: LiveCursor, document: dict[str, Any]) -> int:
    """Apply all new patches and return their number."""
    patches = await cursor.next(5)
    for patch in patches:
        apply(document, patch)
    return len(patches)


def test_patches_add_up_to_the_document() -> None:
    """Each event gives a patch; at the end the page equals the document, without secrets."""

    async def run() -> None:
        view = LiveView(fail)
        page = json.loads(json.dumps(view.document()))
        cursor = LiveCursor(view)
        flow = llm_flow()
        recording = begin(view, flow)
        recording.take_upstream(1.0, CHUNK)
        await apply_patches(cursor, page)
        (response,) = page["responses"]
        assert (response["state"], len(response["events"]), response["lanes"]) == ("live", 1, ["call-0"])
        recording.take_upstream(1.5, TEXT % 1)
        await apply_patches(cursor, page)
        assert [event.get("ms") for event in response["events"]] == [0, 500]
        recording.take_upstream(1.6, DONE)
        end(flow, recording)
        await apply_patches(cursor, page)
        assert page["responses"][0]["state"] == "complete"
        assert page == json.loads(json.dumps(view.document()))
        assert [error.message for error in SCHEMA.iter_errors(page)] == []
        assert SECRET not in json.dumps(page)
        view.end()
        assert await cursor.next(5) == [{"ended": True}]

    asyncio.run(run())


def test_a_slow_viewer_gets_one_patch() -> None:
    """Patches are not queued: a thousand chunks are one patch."""

    async def run() -> None:
        view = LiveView(fail)
        page, cursor = json.loads(json.dumps(view.document())), LiveCursor(view)
        recording = begin(view, llm_flow())
        recording.take_upstream(0.0, CHUNK)
        await apply_patches(cursor, page)
        for number in range(1000):
            recording.take_upstream(0.0, TEXT % number)
        assert await apply_patches(cursor, page) == 1
        assert len(page["responses"][0]["events"]) == 1001

    asyncio.run(run())


def test_memory_is_bounded() -> None:
    """The oldest complete responses lose their events, and a response that is too long is not recorded to its end."""
    view = LiveView(fail, limit=10 * len(CHUNK))
    for _ in range(30):
        flow = llm_flow()
        recording = begin(view, flow)
        recording.take_upstream(0.0, CHUNK)
        end(flow, recording)
    document = view.document()
    assert sum(len(response["events"]) for response in document["responses"]) <= 10
    long = begin(view, llm_flow())
    for _ in range(30):
        long.take_upstream(0.0, CHUNK)
    assert len(long.chunks) == long.size // len(CHUNK) <= 10


def test_responses_without_a_viewer_are_not_read() -> None:
    """Chunks are stored and read when a viewer asks for the document."""
    view = LiveView(fail)
    recording = begin(view, llm_flow())
    recording.take_upstream(0.0, CHUNK)
    assert view.document()["responses"][0]["events"]
    unread = begin(view, llm_flow())
    unread.take_upstream(0.0, b"no response at all")
    assert len(view.document()["responses"]) == 1


def test_an_internal_error_is_reported_once() -> None:
    """An internal error stops the recording and raises nothing."""
    errors: list[Exception] = []
    view = LiveView(errors.append)
    recording = begin(view, llm_flow())
    recording._keep = lambda size: 1 // (size * 0) > 0
    recording.take_upstream(0.0, CHUNK)
    recording.take_upstream(0.0, CHUNK)
    assert [type(error) for error in errors] == [ZeroDivisionError]
    assert recording.chunks == []


def test_two_recordings_get_all_chunks() -> None:
    """A capture and the view record the same response."""
    view, other = LiveView(fail), LiveView(fail)
    flow = llm_flow()
    first, second = begin(view, flow), begin(other, flow)
    response = LiveResponse(
        flow,
        facts_of(flow, request_json(flow.request)),
        lambda *_: (),
        lambda _, error: fail(error),
        settings(Words(repair=["safe"])),
    )
    response.record_with([first, second])
    response.stream(CHUNK)
    response.added(DONE)
    response.finish(broken="lost")
    response.close()
    for recording in (first, second):
        assert (recording.chunks, recording.sent, recording.broken, recording.over) == (
            [(0, CHUNK)],
            [DONE],
            "lost",
            True,
        )
    assert response.recorded == first.size
