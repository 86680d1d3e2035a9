"""The upstream's side of an HTTP/2 connection: each chunk is a DATA frame, sent at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import h2.config
import h2.connection
import h2.errors
import h2.events

from tests.e2e.harness.plan import Plan, ReceivedRequest, perform, unplanned
from tests.e2e.harness.script import Break, Response

if TYPE_CHECKING:
    from collections.abc import Mapping


class Http2:
    """A connection and its streams."""

    def __init__(self, transport: asyncio.Transport, plans: Mapping[str, Plan]) -> None:
        """Send the preface."""
        self.transport = transport
        self.connection = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        )
        self.connection.initiate_connection()
        self._plans = plans
        self._streams: dict[int, Stream] = {}
        self.flush()

    def receive(self, data: bytes) -> None:
        """Read data, and respond to each complete request."""
        for event in self.connection.receive_data(data):
            match event:
                case h2.events.RequestReceived():
                    self._streams[event.stream_id] = Stream(self, event.stream_id, as_text(event))
                case h2.events.DataReceived():
                    self._streams[event.stream_id].body += event.data
                    self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case h2.events.StreamEnded():
                    self._streams[event.stream_id].respond(self._plans)
                case h2.events.StreamReset():
                    self._streams[event.stream_id].leave()
                case h2.events.WindowUpdated():
                    self._widen(event.stream_id)
        self.flush()

    def lost(self) -> None:
        """The connection was closed: end every stream."""
        for stream in self._streams.values():
            stream.leave()

    def flush(self) -> None:
        """Write the pending data of h2 to the peer."""
        if not self.transport.is_closing():
            self.transport.write(self.connection.data_to_send())

    def _widen(self, number: int) -> None:
        streams = [self._streams[number]] if number in self._streams else self._streams.values()
        for stream in streams:
            stream.room.set()


def as_text(event: h2.events.RequestReceived) -> dict[str, str]:
    """The header fields as text; h2's types allow bytes."""
    return {str(name): str(value) for name, value in event.headers}


class Stream:
    """A request and its response."""

    def __init__(self, http: Http2, number: int, headers: dict[str, str]) -> None:
        """Wait for the rest of the request."""
        self.body = bytearray()
        self.room = asyncio.Event()
        self._http = http
        self._number = number
        self._headers = headers
        self._plan: Plan | None = None
        self._task: asyncio.Task[None] | None = None

    def respond(self, plans: Mapping[str, Plan]) -> None:
        """The request is complete: start its response."""
        fields = tuple((name, value) for name, value in self._headers.items() if not name.startswith(":"))
        request = ReceivedRequest("h2", self._headers[":method"], self._headers[":path"], fields, bytes(self.body))
        self._plan = plans.get(request.key) or unplanned()
        self._plan.take(request)
        self._task = asyncio.get_running_loop().create_task(perform(self._plan, self))
        self._task.add_done_callback(self._plan.settle)

    def leave(self) -> None:
        """The client has cancelled the request."""
        if self._plan is not None and self._task is not None and not self._task.done():
            self._plan.client_left.open()
            self._task.cancel()

    def head(self, response: Response) -> None:
        """Send status and headers."""
        self._http.connection.send_headers(self._number, [(":status", str(response.status)), *response.fields])
        self._http.flush()

    async def send(self, data: bytes) -> None:
        """Send one DATA frame, or several if the peer's window or frame size is smaller."""
        connection = self._http.connection
        while data:
            self.room.clear()
            room = min(connection.local_flow_control_window(self._number), connection.max_outbound_frame_size)
            if room <= 0:
                await self.room.wait()
                continue
            connection.send_data(self._number, data[:room])
            self._http.flush()
            data = data[room:]

    def end(self) -> None:
        """Send END_STREAM."""
        self._http.connection.end_stream(self._number)
        self._http.flush()

    def break_off(self, how: Break) -> None:
        """Reset the stream, or close the connection."""
        if how is Break.CLOSE:
            self._http.transport.close()
            return
        self._http.connection.reset_stream(self._number, h2.errors.ErrorCodes.INTERNAL_ERROR)
        self._http.flush()
