"""Reads saved responses of every form as flows. Knows which reader is for which kind of file."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mitmproxy import http
from mitmproxy.io import FlowReader, FlowWriter

from toolstream_core.engine.session import read_body
from toolstream_core.errors import ToolstreamError
from toolstream_core.model import ABSENT, StreamFacts
from toolstream_core.protocols.registry import named
from toolstream_core.saved import demo, raw
from toolstream_core.saved.exchange import Exchange, UnreadableError, saved_of
from toolstream_core.saved.files import READABLE, STDIN, Kind, begun, exchanges, files
from toolstream_core.saved.flow import Fixture, as_sent, flow_of, not_whole, read_flow, sent_in, table_of
from toolstream_core.saved.flowfile import unfolded
from toolstream_core.saved.redact import redact
from toolstream_core.shrinking.candidate import Chunk, turn
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from toolstream_core.model import Json, Record
    from toolstream_core.shrinking.candidate import Turn


def exchange_with(body: bytes, record: Record, source: str, request: Json) -> Exchange:
    """A bare body as the response to `request`, or to the shortest request that would bring it."""
    array = body.lstrip().startswith(b"[")
    protocol, model = named(record.dialect), record.model or "unknown"
    url = protocol.api.public_url(model, streamed=record.streamed, array=array)
    asked = protocol.api.shortest_request(model, streamed=record.streamed) if request is ABSENT else request
    kind = "application/json"
    if record.streamed and not array:
        kind = protocol.content_type
    return Exchange(
        source=source,
        url=url,
        request_headers=(("content-type", "application/json"),),
        request_body=encoded(asked) if request is not ABSENT else json.dumps(asked).encode(),
        reason="OK",
        response_headers=(("content-type", kind),),
        body=body,
    )


@dataclass(frozen=True, slots=True)
class Found:
    """A flow, and the fixture that it is."""

    flow: http.HTTPFlow
    fixture: Fixture


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is no fixture, or could not be read, and why."""

    source: str
    why: str
    unreadable: bool = False


def load(path: Path) -> list[Fixture]:
    """The fixtures in a saved file of any form, or in a folder of such files. Raises `ToolstreamError`.

    Files without an LLM response are skipped in a folder.
    """
    if str(path) == STDIN:
        raise ToolstreamError("standard input cannot be served; save it to a file and name that file")
    if unknown := demo.unknown(path):
        raise ToolstreamError(unknown)
    if not demo.located(path).exists():
        raise ToolstreamError(f"no such file or directory: {path}. Expected {READABLE}, or a folder of them")
    fixtures = []
    for one in gathered(str(path)):
        if isinstance(one, Found):
            fixtures.append(one.fixture)
        elif one.unreadable:
            raise ToolstreamError(f"{one.source} {one.why}")
    if not fixtures:
        raise ToolstreamError(
            f"{path} contains no LLM response with its body. Expected {READABLE}"
            " (mitmproxy saves streamed bodies only with --set store_streamed_bodies=true)"
        )
    return fixtures


def gathered(path: str, request: Json = ABSENT) -> Iterator[Found | LeftOut]:
    """All that `path` (a file, a folder, `-`) holds; `request` belongs to bare bodies."""
    for file in files(path):
        try:
            yield from _file(file, request)
        except UnreadableError as error:
            yield LeftOut(file, str(error), unreadable=True)
        except OSError as error:
            yield LeftOut(file, f"cannot be read: {error.strerror or error}", unreadable=True)


def _file(path: str, request: Json) -> Iterator[Found | LeftOut]:
    with begun(path) as file:
        if file.kind is Kind.FLOWS:
            for source, flow in _flows(file.whole(), path):
                yield _found(flow, source) if flow is not None else LeftOut(source, "is not an HTTP flow")
        elif (found := exchanges(file, path, request)) is not None:
            yield from (_found_in(_addressed(one)) for one in found)
        else:
            for saved in file.bodies(path, request):
                body = raw.body_of(saved)
                facts = replace(saved.exchange, content_encoding="")
                record = read_body([body], facts)
                if record is None:
                    yield LeftOut(path, "contains no LLM stream")
                else:
                    yield _found_in(exchange_with(body, record, facts.source, facts.request))


def _found_in(one: Exchange) -> Found | LeftOut:
    found = _found(flow_of(one), one.source)
    missing = saved_of(one).missing
    return LeftOut(one.source, missing) if missing and isinstance(found, LeftOut) else found


def _addressed(one: Exchange) -> Exchange:
    """One whose address was not saved gets that of the protocol it speaks."""
    if one.url:
        return one
    record = read_body([one.body], raw.answer([], one.source).exchange)
    if record is None:
        return one
    made = exchange_with(one.body, record, one.source, ABSENT)
    return replace(one, url=made.url)


def _flows(stream: BinaryIO, source: str) -> Iterator[tuple[str, http.HTTPFlow | None]]:
    number = -1
    try:
        for number, flow in enumerate(FlowReader(stream).stream()):
            if isinstance(flow, http.HTTPFlow):
                yield from unfolded(flow, f"{source}#{number}")
            else:
                yield f"{source}#{number}", None
    except OSError:
        raise
    except Exception as error:  # on foreign bytes mitmproxy raises more than its own exceptions
        raise UnreadableError(not_whole(number + 1, error)) from error


def _found(flow: http.HTTPFlow, source: str) -> Found | LeftOut:
    fixture = read_flow(flow, source)
    if fixture is not None:
        return Found(flow, fixture)
    if flow.response is None:
        return LeftOut(source, f"has no response: {flow.error.msg}" if flow.error else "has no response")
    if not flow.response.raw_content:
        return LeftOut(source, "has no body; record streams with toolstream_capture or store_streamed_bodies=true")
    return LeftOut(source, "is not an LLM response")


_CODED = ("content-encoding", "transfer-encoding")


def read_answers(path: Path) -> list[Found]:
    """The responses of LLMs in a flow file, or whatever else `toolstream extract` reads, redacted.

    Raises `ToolstreamError`.
    """
    answers: list[Found] = []
    left_out: list[LeftOut] = []
    for one in gathered(str(path)):
        if isinstance(one, LeftOut):
            left_out.append(one)
            continue
        clean = redact(one.flow)
        fixture = read_flow(clean, one.fixture.source)
        if fixture is not None:
            answers.append(Found(clean, fixture))
    for one in left_out:
        if one.unreadable or not answers:
            raise ToolstreamError(f"{one.source} {one.why}. Expected a file with an LLM response and its body")
    if not answers:
        raise ToolstreamError(f"{path} contains no LLM response with its body")
    return answers


def as_client_got(one: Found) -> Found:
    """The response as its client got it, where a fault changed it on its way; else the same object."""
    if not one.fixture.caused.specs or sent_in(one.flow) is None:
        return one
    flow = as_sent(one.flow)
    fixture = read_flow(flow, one.fixture.source)
    return one if fixture is None else Found(flow, fixture)


def with_answer(flow: http.HTTPFlow, request: Json, chunks: Sequence[Chunk]) -> http.HTTPFlow:
    """A copy of `flow` with another request body (JSON) and another response, in these chunks, not encoded."""
    new = http.HTTPFlow.from_state(flow.get_state())  # unlike a copy, under the same id
    assert isinstance(new, http.HTTPFlow)
    assert new.response is not None
    for message in (new.request, new.response):
        for name in _CODED:
            message.headers.pop(name, None)
    new.request.content = encoded(request)
    new.response.content = b"".join(data for _, data in chunks)
    kept = {key: value for key, value in flow.metadata.get("toolstream", {}).items() if key in {"broken", "text"}}
    new.metadata = {"toolstream": table_of(chunks) | kept}
    return new


def flow_bytes(flows: Iterable[http.HTTPFlow]) -> bytes:
    """A flow file of these flows, redacted."""
    file = io.BytesIO()
    writer = FlowWriter(file)
    for flow in flows:
        writer.add(redact(flow))
    return file.getvalue()


def fixtures_in(data: bytes, source: str) -> list[Fixture]:
    """The fixtures in a flow file that `flow_bytes` made."""
    flows = enumerate(FlowReader(io.BytesIO(data)).stream())
    found = [read_flow(flow, f"{source}#{at}") for at, flow in flows if isinstance(flow, http.HTTPFlow)]
    return [fixture for fixture in found if fixture is not None]


def turn_of(number: int, fixture: Fixture) -> Turn:
    """A fixture as a response of the search."""
    types = (value for name, value in fixture.headers if name.lower() == b"content-type")
    exchange = StreamFacts(
        source=fixture.source,
        host=fixture.host,
        path=fixture.path,
        content_type=next(types, b"").decode("latin-1"),
        status=fixture.status,
        request=fixture.request,
    )
    return turn(number, exchange, fixture.chunks, fixture.broken)
