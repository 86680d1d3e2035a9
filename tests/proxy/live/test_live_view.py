"""The live view grows by patches that give the document, keeps bounded memory, and costs traffic nothing."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tests.proxy.flows import CHUNK, DONE, SECRET, llm_flow
from tests.view.test_document import SCHEMA
from toolstream_core.engine.session import read_body
from toolstream_core.proxy.live.view import LiveCursor, LiveView
from toolstream_core.proxy.live_response import LiveResponse
from toolstream_core.saved.flow import request_json
from toolstream_core.settings import Words, settings

if TYPE_CHECKING:
    from mitmproxy import http

    from toolstream_core.proxy.live.recording import LiveRecording

TEXT = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%d"}}]}\n\n'


def begun(view: LiveView, flow: http.HTTPFlow) -> LiveRecording:
    """The recording of a response that begins."""
    return view.begin(flow, request_json(flow.request))


def ended(flow: http.HTTPFlow, recording: LiveRecording) -> None:
    """End a response as the watch does."""
    body = b"".join(data for _, data in recording.chunks)
    recording.end(flow, read_body([body], recording.exchange), None, differs=False)


def failed(error: Exception) -> None:
    """Nothing may fail."""
    raise error


def apply(document: dict[str, Any], patch: dict[str, Any]) -> None:
    """A patch, as the page applies it."""
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


async def followed(cursor: LiveCursor, document: dict[str, Any]) -> int:
    """Apply what is new; how many patches that were."""
    patches = await cursor.next(5)
    for patch in patches:
        apply(document, patch)
    return len(patches)


def test_it_grows() -> None:
    """Each event comes with a patch; at the end the page has the document, without secrets."""

    async def run() -> None:
        view = LiveView(failed)
        page = json.loads(json.dumps(view.document()))
        cursor = view.follow()
        flow = llm_flow()
        recording = begun(view, flow)
        recording.take_upstream(1.0, CHUNK, (len(CHUNK),))
        await followed(cursor, page)
        (response,) = page["responses"]
        assert (response["state"], len(response["events"]), response["lanes"]) == ("live", 1, ["call-0"])
        recording.take_upstream(1.5, TEXT % 1, ())
        await followed(cursor, page)
        assert [event.get("ms") for event in response["events"]] == [0, 500]
        recording.take_upstream(1.6, DONE, ())
        ended(flow, recording)
        await followed(cursor, page)
        assert page["responses"][0]["state"] == "complete"
        assert page == json.loads(json.dumps(view.document()))
        assert [error.message for error in SCHEMA.iter_errors(page)] == []
        assert SECRET not in json.dumps(page)
        view.end()
        assert await cursor.next(5) == [{"ended": True}]

    asyncio.run(run())


def test_a_slow_viewer_costs_nothing() -> None:
    """What it did not fetch is not queued: a thousand chunks are one patch."""

    async def run() -> None:
        view = LiveView(failed)
        page, cursor = json.loads(json.dumps(view.document())), view.follow()
        recording = begun(view, llm_flow())
        recording.take_upstream(0.0, CHUNK, ())
        await followed(cursor, page)
        for number in range(1000):
            recording.take_upstream(0.0, TEXT % number, ())
        assert await followed(cursor, page) == 1
        assert len(page["responses"][0]["events"]) == 1001

    asyncio.run(run())


def test_memory_is_bounded() -> None:
    """The oldest complete responses lose their events; one that is too long is not kept to its end."""
    view = LiveView(failed, limit=10 * len(CHUNK))
    for _ in range(30):
        flow = llm_flow()
        recording = begun(view, flow)
        recording.take_upstream(0.0, CHUNK, ())
        ended(flow, recording)
    document = view.document()
    assert sum(len(one["events"]) for one in document["responses"]) <= 10
    long = begun(view, llm_flow())
    for _ in range(30):
        long.take_upstream(0.0, CHUNK, ())
    assert len(long.chunks) == long.size // len(CHUNK) <= 10


def test_responses_without_a_viewer_are_not_read() -> None:
    """Chunks are appended, and nothing else."""
    view = LiveView(failed)
    recording = begun(view, llm_flow())
    recording.take_upstream(0.0, CHUNK, ())
    assert view.document()["responses"][0]["events"]
    again = begun(view, llm_flow())
    again.take_upstream(0.0, b"no response at all", ())
    assert len(view.document()["responses"]) == 1


def test_an_internal_error_is_reported_once() -> None:
    """And nothing raises."""
    errors: list[Exception] = []
    view = LiveView(errors.append)
    recording = begun(view, llm_flow())
    recording._keep = lambda size: 1 // (size * 0) > 0
    recording.take_upstream(0.0, CHUNK, ())
    recording.take_upstream(0.0, CHUNK, ())
    assert [type(one) for one in errors] == [ZeroDivisionError]
    assert recording.chunks == []


def test_both_recorders_get_everything() -> None:
    """A capture and the view."""
    view, other = LiveView(failed), LiveView(failed)
    flow = llm_flow()
    one, two = begun(view, flow), begun(other, flow)
    live = LiveResponse(
        flow,
        request_json(flow.request),
        lambda *_: (),
        lambda _, error: failed(error),
        settings(Words(repair=["safe"])),
    )
    live.record_with([one, two])
    live.stream(CHUNK)
    live.added(DONE)
    live.finish(broken="lost")
    live.close()
    for each in (one, two):
        assert (each.chunks, each.sent, each.broken, each.over) == ([(0, CHUNK)], [DONE], "lost", True)
    assert live.recorded == one.size
