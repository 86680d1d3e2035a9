"""mitmproxy's flows: the chunks of a response, its faults, and flows as saved responses."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Final, NamedTuple
from urllib.parse import urlsplit

from mitmproxy import connection, http
from mitmproxy.flow import Error, Flow
from mitmproxy.io import FlowReader, FlowWriter

from toolstream_core.engine.session import read_body
from toolstream_core.model import ABSENT, BAD_STATUS, Chunk, Injected, Json, Record, StreamFacts
from toolstream_core.printable import quoted
from toolstream_core.protocols.requests import match_key
from toolstream_core.protocols.requests.match_key import may_be_llm
from toolstream_core.redact import redacted
from toolstream_core.redaction import TextMode, known_secrets
from toolstream_core.saved.exchange import Exchange, Headers, UnreadableError, chunk_table, timed
from toolstream_core.sockets.lines import LineEnds
from toolstream_core.wire import json_access
from toolstream_core.wire.body import BodyFraming
from toolstream_core.wire.coding import CodingError, Decoder
from toolstream_core.wire.frame import Form, parse


def packed(flows: Iterable[Flow]) -> bytes:
    """A flow file of these flows."""
    file = io.BytesIO()
    writer = FlowWriter(file)
    for flow in flows:
        writer.add(flow)
    return file.getvalue()


def flows_in(stream: BinaryIO) -> Iterator[Flow]:
    """The flows in a flow file. Raises `UnreadableError` if one cannot be read."""
    count = 0
    try:
        for flow in FlowReader(stream).stream():
            yield flow
            count += 1
            del flow  # the next one is read before this name is bound again
    except OSError:
        raise
    except Exception as error:  # on foreign bytes mitmproxy raises more than its own exceptions
        where = f"unreadable after flow {count - 1}" if count else "unreadable from the beginning"
        reason = f"(mitmproxy: {quoted(redacted(str(error)), 200)})"
        raise UnreadableError(f"is a damaged or truncated mitmproxy flow file: {where} {reason}") from error


NOTE_VERSION: Final = 1
"""The version of `flow.metadata["toolstream"]`."""
LINE_ENDS: Final = "line_ends"
"""The key there of the `LineEnds.places` of a body whose lines were messages of a WebSocket."""


def chunks_of(flow: http.HTTPFlow) -> list[Chunk]:
    """The decoded chunks of a response; empty if they are lost or cannot be decoded."""
    body = flow.response.raw_content if flow.response else None
    if not body or flow.response is None:
        return []
    noted = json_access.get(flow.metadata, "toolstream", "chunks")
    table = chunk_table(noted, len(body)) or [(0, len(body))]
    try:
        decoder = Decoder(flow.response.headers.get("content-encoding", ""))
        chunks = [Chunk(one.after, decoder.decode(one.data)) for one in timed(body, table)]
    except CodingError:
        return []
    return [chunk for chunk in chunks if chunk.data]


def body_note(
    chunks: Iterable[Chunk],
    broken: str | None = None,
    line_ends: LineEnds | None = None,
    sent: Sequence[Chunk] | None = None,
) -> dict[str, Json]:
    """The note in `flow.metadata["toolstream"]` on a body, with its chunks: `[[ms since the first byte, bytes], …]`.

    `broken` is the error of the connection, `sent` what the client got, if that differs.
    """
    noted: dict[str, Json] = {"version": NOTE_VERSION, "chunks": [[chunk.after, len(chunk.data)] for chunk in chunks]}
    if line_ends:
        noted[LINE_ENDS] = line_ends.places
    if sent is not None:
        noted["sent"] = {"body": b"".join(chunk.data for chunk in sent), "chunks": body_note(sent)["chunks"]}
    return noted if broken is None else {**noted, "broken": broken}


def line_ends_of(flow: http.HTTPFlow) -> LineEnds:
    """The line ends of WebSocket messages that the body's lines lack."""
    noted = json_access.get(flow.metadata, "toolstream", LINE_ENDS)
    places = {key: json_access.items(json_access.get(noted, key)) for key in noted} if isinstance(noted, dict) else {}
    return LineEnds({key: [one for one in found if isinstance(one, int)] for key, found in places.items()})


def content_of(message: http.Message) -> bytes:
    """The body, its coding undone; empty if it cannot be decoded."""
    try:
        return message.get_content(strict=True) or b""
    except ValueError:
        return b""


def facts_of(flow: http.HTTPFlow, request: Json, source: str | None = None) -> StreamFacts:
    """The facts of a flow's response without its body; without a `source`, it is named by its id."""
    assert flow.response is not None
    headers = flow.response.headers
    return StreamFacts(
        source=flow.id if source is None else source,
        host=flow.request.pretty_host,
        path=flow.request.path,
        content_type=headers.get("content-type", ""),
        content_encoding=headers.get("content-encoding", ""),
        status=flow.response.status_code,
        request=request,
    )


def request_json(request: http.Request) -> Json:
    """The request's body as JSON, or `ABSENT`, which is also used for long requests that are not an LLM's."""
    if request.method != "POST" or "json" not in request.headers.get("content-type", "json"):
        return ABSENT
    try:
        body = request.content
    except ValueError:
        return ABSENT
    return parse(body) if body and may_be_llm(request.path, body) else ABSENT


def secrets_of(request: http.Request) -> tuple[str, ...]:
    """The values in a request that are secrets by the name of their header or parameter."""
    return known_secrets(request.headers.items(multi=True), request.path)


def unlabel(response: http.Response) -> None:
    """Remove the headers that describe the received bytes; the forwarded ones are decoded and of another length."""
    for name in ("content-encoding", "content-length"):
        response.headers.pop(name, None)


def set_decoded(message: http.Message, body: bytes) -> None:
    """Set the body of a message, without coding."""
    for name in ("content-encoding", "transfer-encoding"):
        message.headers.pop(name, None)
    message.content = body


class Caused(NamedTuple):
    """The faults for a captured response."""

    faults: tuple[Injected, ...] = ()
    findings: tuple[str, ...] = ()
    """Names of the defects of the response that they left, before any repair."""

    @property
    def specs(self) -> tuple[str, ...]:
        """The faults that changed something."""
        return tuple(one.spec for one in self.faults if one.changes)


UNCAUSED: Final = Caused()


def caused_in(flow: Flow) -> Caused:
    """Read from `flow.metadata["toolstream"]["record"]`."""
    record = json_access.get(flow.metadata, "toolstream", "record")
    names = (json_access.get(one, "name") for one in json_access.items(json_access.get(record, "findings")))
    faults = (_fault(one) for one in json_access.items(json_access.get(record, "faults")))
    return Caused(
        tuple(one for one in faults if one is not None),
        tuple(dict.fromkeys(name for name in names if isinstance(name, str))),
    )


def sent_in(flow: Flow) -> bytes | None:
    """The body that the client of a captured response got, if it differs from the provider's."""
    sent = json_access.get(flow.metadata, "toolstream", "sent", "body")
    return sent if isinstance(sent, bytes) else None


def as_sent(flow: http.HTTPFlow) -> http.HTTPFlow:
    """A copy of a captured flow with the response that its client got, if that differs."""
    body = sent_in(flow)
    new = http.HTTPFlow.from_state(flow.get_state())
    assert isinstance(new, http.HTTPFlow)
    if body is None or new.response is None:
        return new
    set_decoded(new.response, body)
    chunks = json_access.get(flow.metadata, "toolstream", "sent", "chunks")
    kept = {name: value for name, value in flow.metadata["toolstream"].items() if name not in {"sent", LINE_ENDS}}
    new.metadata = {"toolstream": {**kept, "chunks": chunks}}
    return new


def _fault(recorded: object) -> Injected | None:
    spec = json_access.get(recorded, "spec")
    drawn, changes = (json_access.integer(json_access.get(recorded, name)) for name in ("drawn", "changes"))
    if not isinstance(spec, str) or not isinstance(drawn, int) or not isinstance(changes, int):
        return None
    return Injected(spec, drawn, changes)


_PORTS = {"http": 80, "https": 443}


def flow_of(exchange: Exchange) -> http.HTTPFlow:
    """The flow of an exchange, with its times and chunks if they are known."""
    scheme, host, port = _address(exchange.url)
    client = connection.Client(peername=("127.0.0.1", 0), sockname=("127.0.0.1", 0), timestamp_start=exchange.began)
    server = connection.Server(address=(host, port), timestamp_start=exchange.began)
    flow = http.HTTPFlow(client, server)
    # The same each time for the same exchange.
    flow.id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{exchange.source} {exchange.url}"))
    flow.timestamp_created = exchange.began
    flow.request = http.Request(
        host,
        port,
        exchange.method.encode(errors="replace"),
        scheme.encode(),
        b"",
        (exchange.facts.path or "/").encode(errors="replace"),
        b"HTTP/1.1",
        _fields(exchange.request_headers, exchange.request_body),
        exchange.request_body,
        None,
        exchange.began,
        exchange.began,
    )
    flow.response = http.Response(
        b"HTTP/1.1",
        exchange.facts.status,
        exchange.reason.encode("latin-1", "replace"),
        _fields(exchange.response_headers, exchange.body),
        exchange.body,
        None,
        exchange.began,
        exchange.began + (exchange.times[-1] / 1000 if exchange.times else 0),
    )
    _note(flow, exchange)
    return flow


def _note(flow: http.HTTPFlow, exchange: Exchange) -> None:
    """The table of chunks, and how the connection broke."""
    chunks = exchange.timed_chunks or ([Chunk(0, exchange.body)] if exchange.body else [])
    if exchange.times or exchange.broken is not None:
        flow.metadata["toolstream"] = body_note(chunks, exchange.broken, LineEnds(exchange.line_ends))
    if exchange.broken is not None:
        flow.error = Error(exchange.broken, timestamp=exchange.began)


def _address(url: str) -> tuple[str, str, int]:
    try:
        split = urlsplit(url)
        scheme = split.scheme if split.scheme in _PORTS else "https"
        return scheme, split.hostname or "unknown.invalid", split.port or _PORTS[scheme]
    except ValueError:
        return "https", "unknown.invalid", _PORTS["https"]


def _fields(headers: Headers, body: bytes) -> http.Headers:
    """The headers of a body whose coding is undone."""
    fields: list[tuple[bytes, bytes]] = []
    for name, value in headers:
        if name.startswith(":") or name.lower() == "content-encoding":
            continue
        own = str(len(body)) if name.lower() == "content-length" else value
        fields.append((name.encode("utf-8", "surrogateescape"), own.encode("utf-8", "surrogateescape")))
    return http.Headers(fields)


def url_of(request: http.Request) -> str:
    """The URL of a request, with the host of its `Host` header, and the port if it is not the usual one."""
    port = "" if request.port == _PORTS.get(request.scheme) else f":{request.port}"
    return f"{request.scheme}://{request.pretty_host}{port}{request.path}"


def headers_of(message: http.Message) -> Headers:
    """The headers of a message whose content coding is undone."""
    return tuple(
        (name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape"))
        for name, value in message.headers.fields
        if name.lower() != b"content-encoding"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmFlow:
    """A flow with an LLM response, and its record. An `Exchange` may have any response, and is not read."""

    flow: http.HTTPFlow
    source: str
    """`PATH#N`, N counting the file's flows from 0; `PATH#N.M` is the response M, from 1 on, of a socket."""
    path: str
    request: Json
    request_body: bytes
    """The request as it was sent, its content coding undone."""
    request_key: match_key.RequestKey
    status: int
    """The HTTP status, also of an error."""
    headers: tuple[tuple[bytes, bytes], ...]
    """The recorded headers, with those of the coding."""
    chunks: tuple[Chunk, ...]
    record: Record
    is_bare: bool = False
    """Whether only its body was saved: address, status and time are assumed."""
    line_ends: LineEnds = field(default_factory=LineEnds)
    """The line ends inside messages of a WebSocket, whose lines are the chunks."""
    caused: Caused = UNCAUSED
    """The faults that were injected for its client; everything else is the provider's."""
    text: str = TextMode.KEEP
    """How chat text was redacted when the flow was saved: `keep`, `mask` or `shape`."""

    @property
    def body(self) -> bytes:
        """The complete body, its content coding undone."""
        return b"".join(chunk.data for chunk in self.chunks)

    @property
    def payloads(self) -> tuple[Json, ...]:
        """The JSON of each event, in order."""
        assert self.flow.response is not None
        frames = BodyFraming(self.flow.response.headers.get("content-type", "")).cut(self.body)
        return tuple(frame.json for frame in frames if frame.data is not None)


def read_flow(flow: http.HTTPFlow, source: str) -> LlmFlow | None:
    """Read a flow, also an HTTP error or a truncated response; `None` if it has no LLM response with its body."""
    if flow.response is None:
        return None
    body = content_of(flow.request)
    request = parse(body)
    what = match_key.read(flow.request.path, request)
    chunks = chunks_of(flow)
    broken = broken_in(flow)
    if what is None or not (chunks or _arrived_empty(flow, broken)):
        return None
    facts = replace(facts_of(flow, request, source), content_encoding="")
    record = read_body((chunk.data for chunk in chunks), facts, broken=broken)
    if record is None and (broken or flow.response.status_code >= BAD_STATUS):
        record = _unread(flow, source, what, broken)
    if record is None:
        return None
    return LlmFlow(
        flow=flow,
        source=source,
        path=flow.request.path,
        request=request,
        request_body=body,
        # The response shows its protocol better than the path does.
        request_key=replace(what, protocol=record.protocol),
        status=flow.response.status_code,
        headers=flow.response.headers.fields,
        chunks=tuple(chunks),
        record=record,
        line_ends=line_ends_of(flow),
        caused=caused_in(flow),
        text=_text(flow),
    )


def _text(flow: http.HTTPFlow) -> str:
    noted = json_access.get(flow.metadata, "toolstream", "text")
    return noted if noted in set(TextMode) else TextMode.KEEP


def broken_in(flow: http.HTTPFlow) -> str | None:
    """The error of the connection of a response, if any."""
    noted = json_access.get(flow.metadata, "toolstream", "broken")
    if noted and isinstance(noted, str):
        return noted
    return flow.error.msg if flow.error is not None else None


def _arrived_empty(flow: http.HTTPFlow, broken: str | None) -> bool:
    """Whether an empty body was received so, and not only saved so."""
    assert flow.response is not None
    if flow.response.raw_content:
        return False
    if broken is not None:
        return bool(json_access.get(flow.metadata, "toolstream", "chunks") == [])
    return flow.response.status_code >= BAD_STATUS and flow.response.raw_content is not None


def _unread(flow: http.HTTPFlow, source: str, what: match_key.RequestKey, broken: str | None) -> Record:
    """The record of an error or a disconnect without an event of the protocol."""
    return Record(
        source,
        what.protocol,
        flow.request.pretty_host,
        what.model,
        streamed=what.form is not Form.WHOLE and broken is not None,
        ended=broken is None,
        broken=broken,
    )
