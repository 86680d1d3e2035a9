"""Reads saved responses of every form as flows, with the reader for each kind of file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mitmproxy import http

from toolstream_core.defects.finish import MISSING_DONE, MISSING_FINISH
from toolstream_core.engine.session import read_body
from toolstream_core.errors import ToolstreamError
from toolstream_core.model import ABSENT, Chunk, Json, Record
from toolstream_core.protocols.registry import named
from toolstream_core.protocols.requests import match_key
from toolstream_core.saved import raw
from toolstream_core.saved.exchange import Exchange, UnreadableError
from toolstream_core.saved.files import READABLE, Kind, begun, check_served, exchanges, files
from toolstream_core.saved.flow import (
    LlmFlow,
    as_sent,
    body_note,
    facts_of,
    flow_of,
    flows_in,
    read_flow,
    sent_in,
    set_decoded,
)
from toolstream_core.saved.flowfile import unfolded
from toolstream_core.saved.redact import redact
from toolstream_core.shrinking.candidate import Candidate, Turn, turn
from toolstream_core.wire.write import encoded

_OF_CONNECTION: Final = frozenset(
    {"content-type", "content-length", "content-encoding", "transfer-encoding", "host", "connection", "accept-encoding"}
)


def exchange_with(body: bytes, record: Record, saved: Exchange, request: Json = ABSENT) -> Exchange:
    """A bare body as the response to `request`, or to the shortest request that fits.

    Headers and the query of a request that the file shows are kept: redaction knows the secrets by their names.
    """
    array = body.lstrip().startswith(b"[")
    protocol, model = named(record.protocol), record.model or "unknown"
    url = protocol.api.public_url(model, streamed=record.streamed, array=array)
    query = saved.facts.path.partition("?")[2]
    if query and "?" not in url:
        url = f"{url}?{query}"
    headers = [one for one in saved.request_headers if one[0].lower() not in _OF_CONNECTION]
    sent_request = protocol.api.shortest_request(model, streamed=record.streamed) if request is ABSENT else request
    kind = "application/json"
    if record.streamed and not array:
        kind = protocol.content_type
    return Exchange.of(
        source=saved.source,
        url=url,
        request_headers=(("content-type", "application/json"), *headers),
        request_body=encoded(sent_request) if request is not ABSENT else json.dumps(sent_request).encode(),
        reason="OK",
        response_headers=(("content-type", kind),),
        body=body,
    )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry of a file without an LLM response, and the reason."""

    source: str
    why: str
    unreadable: bool = False


def load(path: Path) -> list[LlmFlow]:
    """The LLM responses in a saved file of any form, or in a folder of such files. Raises `ToolstreamError`.

    Files without an LLM response are skipped in a folder.
    """
    check_served(path)
    return _responses(path)


def read_responses(path: Path) -> list[LlmFlow]:
    """As `load`, redacted; the path may be read only once (`-`)."""
    found = ((one, read_flow(redact(one.flow), one.source)) for one in _responses(path))
    return [replace(clean, is_bare=one.is_bare) for one, clean in found if clean is not None]


def _responses(path: Path) -> list[LlmFlow]:
    flows, reasons = [], []
    for one in gathered(str(path)):
        if isinstance(one, LlmFlow):
            flows.append(one)
        elif one.unreadable:
            raise ToolstreamError(f"{one.source} {one.why}")
        else:
            reasons.append(f": {'it' if one.source == str(path) else one.source} {one.why}")
    if not flows:
        raise ToolstreamError(
            f"{path} contains no LLM response with its body{''.join(reasons[:1])}. Expected {READABLE}"
            " (mitmproxy saves streamed bodies only with --set store_streamed_bodies=true)"
        )
    return flows


def gathered(path: str, request: Json = ABSENT) -> Iterator[LlmFlow | LeftOut]:
    """The content of `path` (a file, a folder, `-`); `request` belongs to bare bodies."""
    for file in files(path):
        try:
            yield from _file(file, request)
        except UnreadableError as error:
            yield LeftOut(file, str(error), unreadable=True)
        except OSError as error:
            yield LeftOut(file, f"cannot be read: {error.strerror or error}", unreadable=True)


def _file(path: str, request: Json) -> Iterator[LlmFlow | LeftOut]:
    with begun(path) as file:
        if file.kind is Kind.FLOWS:
            for number, flow in enumerate(flows_in(file.opened())):
                source = f"{path}#{number}"
                if isinstance(flow, http.HTTPFlow):
                    yield from (_found(one, name) for name, one in unfolded(flow, source))
                else:
                    yield LeftOut(source, "is not an HTTP flow")
        elif (found := exchanges(file, path, request)) is not None:
            yield from (_found_in(_addressed(one)) for one in found)
        else:
            for saved in file.bodies(path, request):
                body = saved.body
                record = read_body([body], saved.facts)
                if record is None:
                    yield LeftOut(path, "contains no LLM stream")
                else:
                    complete = body + _end(body, record, saved.lost)
                    one = _found_in(exchange_with(complete, record, saved, saved.facts.request))
                    yield one if isinstance(one, LeftOut) else replace(one, is_bare=True)


def _end(body: bytes, record: Record, lost: AbstractSet[str]) -> bytes:
    """The end of an event stream that a pasted text leaves out; without it, the flow would have defects.

    `lost` are the codes of findings that are not the provider's.
    """
    missing = {one.code for one in record.findings} & lost
    finish = encoded({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    ends = [(MISSING_FINISH, finish), (MISSING_DONE, b"[DONE]")] if body.startswith(b"data:") else []
    return b"".join(b"data: %b\n\n" % data for defect, data in ends if defect.code in missing)


def _found_in(exchange: Exchange) -> LlmFlow | LeftOut:
    found = _found(flow_of(exchange), exchange.source)
    return LeftOut(exchange.source, exchange.missing) if exchange.missing and isinstance(found, LeftOut) else found


def _addressed(exchange: Exchange) -> Exchange:
    """The exchange with an address and a request of its protocol, if neither was saved."""
    if exchange.url and (exchange.request_body or match_key.read(exchange.facts.path, ABSENT)):
        return exchange
    record = read_body(exchange.chunks, raw.response([], exchange.source).facts)
    if record is None:
        return exchange
    completed = exchange_with(exchange.body, record, exchange)
    if exchange.url:
        return replace(exchange, request_body=completed.request_body)
    return replace(
        exchange, url=completed.url, facts=replace(exchange.facts, host=completed.facts.host, path=completed.facts.path)
    )


def _found(flow: http.HTTPFlow, source: str) -> LlmFlow | LeftOut:
    saved = read_flow(flow, source)
    if saved is not None:
        return saved
    if flow.response is None:
        return LeftOut(source, f"has no response: {flow.error.msg}" if flow.error else "has no response")
    if not flow.response.raw_content:
        return LeftOut(source, "has no body; record streams with toolstream_capture or store_streamed_bodies=true")
    return LeftOut(source, "is not an LLM response")


def as_client_got(saved: LlmFlow) -> LlmFlow:
    """The response as its client got it: the same object unless a fault changed it in flight."""
    if not saved.caused.specs or sent_in(saved.flow) is None:
        return saved
    return read_flow(as_sent(saved.flow), saved.source) or saved


def with_response(flow: http.HTTPFlow, request: Json, chunks: Sequence[Chunk]) -> http.HTTPFlow:
    """A copy of `flow` with another request body (JSON) and another response, in these chunks, not encoded."""
    new = http.HTTPFlow.from_state(flow.get_state())  # unlike a copy, under the same id
    assert isinstance(new, http.HTTPFlow)
    assert new.response is not None
    set_decoded(new.request, encoded(request))
    set_decoded(new.response, b"".join(data for _, data in chunks))
    kept = {key: value for key, value in flow.metadata.get("toolstream", {}).items() if key in {"broken", "text"}}
    new.metadata = {"toolstream": body_note(chunks) | kept}
    return new


def flows_of(candidate: Candidate, flows: Sequence[http.HTTPFlow]) -> list[http.HTTPFlow]:
    """The flows of a candidate, redacted; `flows` are the original ones, by the numbers of its responses."""
    return [redact(with_response(flows[one.number], one.facts.request, one.chunks)) for one in candidate]


def turn_of(number: int, saved: LlmFlow) -> Turn:
    """A saved response as one of the search."""
    facts = replace(facts_of(saved.flow, saved.request, saved.source), content_encoding="")
    return turn(number, facts, saved.chunks, saved.record.broken)
