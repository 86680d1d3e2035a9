"""One flow while it is captured: the part that runs on mitmproxy's event loop. Knows mitmproxy's flow."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mitmproxy import http

from toolstream_core.model import Record
from toolstream_core.proxy.capture.body import TimedChunk
from toolstream_core.proxy.capture.draft import Draft, Ending
from toolstream_core.proxy.capture.worker import Worker
from toolstream_core.proxy.flow_facts import provided

BATCH = 512 * 1024
"""Bytes that the worker gets at once."""
_OVERHEAD = 150
"""Bytes of memory that a chunk takes in addition to its data."""

SAVED_AFTER = 2.0
"""Seconds after which a response is saved for the recovery after a kill of the proxy."""
_SHARE = 50
"""The saves of all responses together use one of this number of seconds of the processor."""

type Take = Callable[[float, bytes], None]
"""Takes a chunk with its time, in seconds of a monotonic clock."""


class Saves:
    """The turns in which responses are saved: the cost of a save grows with the received bytes."""

    def __init__(self) -> None:
        """The first turn is at once."""
        self._next = 0.0
        self._cost = 1e-7
        """CPU seconds for each byte of the last save."""

    def wait(self, size: int) -> float:
        """Reserve CPU time for `size` bytes. Returns the seconds until then."""
        now = time.monotonic()
        turn = max(now, self._next)
        self._next = turn + _SHARE * self._cost * size
        return turn - now

    def saved(self, size: int, seconds: float) -> None:
        """Record that a save of `size` bytes took `seconds` of the processor."""
        self._cost = seconds / max(1, size)


class Recording:
    """Records the chunks that the provider sent, and those that the client received."""

    def __init__(
        self, flow: http.HTTPFlow, draft: Draft, worker: Worker, saves: Saves, kept: Callable[[Ending], bool]
    ) -> None:
        """`kept` decides at the end of the flow whether it is written."""
        self._draft, self._worker, self._saves, self._kept = draft, worker, saves, kept
        self._head = _head(flow.response)
        draft.state = lambda: self._state(flow)
        if self._head is not None and provided(flow) is not None:
            # `proxy.provider` set a length that the recorded response did not have.
            self._head["headers"] = [field for field in self._head["headers"] if field[0].lower() != b"content-length"]
        self._request: http.Request | None = None
        self._arrived = _Chunks(self._upstream_sent)
        self._forwarded = _Chunks(self._client_got)
        self._lost = self._over = False
        self._saving: asyncio.Task[None] | None = None
        """Saves the beginning of the response regularly."""
        self._save_waits = False
        """Whether the worker has not done the last save yet."""

    @property
    def size(self) -> int:
        """Bytes that the provider has sent."""
        return self._arrived.size

    def take_upstream(self, when: float, data: bytes) -> None:
        """Take a chunk that the provider sent, not decoded."""
        self._safely(self._arrived.add, when, data)
        if self._saving is None:
            with contextlib.suppress(RuntimeError):  # no loop runs
                self._saving = asyncio.get_running_loop().create_task(self._save_regularly())

    def take_client(self) -> Take:
        """A function that takes all bytes of the client, if they may differ."""
        self._draft.compares = True
        return partial(self._safely, self._forwarded.add)

    def response_started(self, response: http.Response, request: http.Request) -> None:
        """Record the request and the complete response of a changed request."""
        self._head, self._request = _head(response), request
        if response.raw_content:
            self.take_upstream(time.monotonic(), response.raw_content)

    def end(self, flow: http.HTTPFlow, record: Record | None, broken: str | None, *, differs: bool) -> None:
        """The flow ended; `broken` is why, if it ended early. `differs`: as in `Ending`."""
        if not self._over:
            self._over = True
            if self._saving is not None:
                self._saving.cancel()
            self._safely(self._finish, lambda: Ending(self._state(flow), record, broken, differs))
            self._safely(self._submit, self._draft.discard)

    def give_up(self, error: Exception) -> None:
        """End the capture of the flow and report why. Called by the worker's thread too."""
        self._lost = True
        self._draft.give_up(error)

    def _safely(self, do: Callable[..., object], *args: object) -> None:
        """Call `do`; an error ends the capture, not the traffic."""
        try:
            do(*args)
        except Exception as error:  # noqa: BLE001 - after any error, the traffic continues
            self.give_up(error)

    async def _save_regularly(self) -> None:
        """Save the beginning of the response after each `SAVED_AFTER` seconds in which bytes arrived."""
        saved = 0
        while not self._lost:
            await asyncio.sleep(SAVED_AFTER)
            if self.size > saved and not self._save_waits:
                await asyncio.sleep(self._saves.wait(self.size))
                saved, self._save_waits = self.size, True
                self._safely(self._arrived.flush)
                self._safely(self._submit, partial(self._save, saved))

    def _save(self, size: int) -> None:
        """Save, in the worker's thread."""
        begun = time.thread_time()
        self._draft.save()
        self._saves.saved(size, time.thread_time() - begun)
        self._save_waits = False

    def _finish(self, ended: Callable[[], Ending]) -> None:
        self._arrived.flush()
        self._forwarded.flush()
        ending = ended()
        if not self._lost and self._kept(ending):
            self._submit(partial(self._draft.finish, ending))

    def _state(self, flow: http.HTTPFlow) -> dict[str, Any]:
        """The state of the flow, with the response's head as the provider sent it, without the body."""
        state: dict[str, Any] = flow.get_state()
        if self._request is not None:
            state["request"] = self._request.get_state()
        if self._head is not None and flow.response is not None:
            ended = flow.response.timestamp_end or time.time()
            trailers = state["response"]["trailers"]
            state["response"] = {**self._head, "timestamp_end": ended, "trailers": trailers}
        return state

    def _upstream_sent(self, batch: Sequence[TimedChunk], size: int) -> None:
        coding = dict(self._head["headers"]).get(b"content-encoding", b"") if self._head else b""
        self._add(lambda: self._draft.add_upstream(batch, coding.decode("latin-1")), size)

    def _client_got(self, batch: Sequence[TimedChunk], size: int) -> None:
        self._add(lambda: self._draft.add_client(batch), size)

    def _add(self, job: Callable[[], None], size: int) -> None:
        if not self._lost and not self._submit(job, size):
            self.give_up(OSError(errno.EBUSY, "the disk is too slow for the traffic"))

    def _submit(self, job: Callable[[], None], size: int = 0) -> bool:
        """Let the worker do a job; returns `False` if too many bytes wait."""
        return self._worker.submit(partial(self._safely, job), self, size)


class _Chunks:
    """Collects chunks for a job."""

    def __init__(self, hand_on: Callable[[Sequence[TimedChunk], int], None]) -> None:
        self._hand_on = hand_on
        self._waiting: list[TimedChunk] = []
        self._room = BATCH
        self.size = 0

    def add(self, when: float, data: bytes) -> None:
        """As `Take`."""
        self._waiting.append((when, data))
        self.size += len(data)
        self._room -= len(data) + _OVERHEAD
        if self._room < 0:
            self.flush()

    def flush(self) -> None:
        """Pass on the waiting chunks."""
        if self._waiting:
            batch, self._waiting = self._waiting, []
            size, self._room = BATCH - self._room, BATCH
            self._hand_on(batch, size)


def _head(response: http.Response | None) -> dict[str, Any] | None:
    return None if response is None else {**response.get_state(), "content": b""}
