"""Facts of a flow besides the response body. Knows mitmproxy's flow."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, override

from mitmproxy import http

from toolstream_core.delivery.sent_bytes import SentBytes
from toolstream_core.faults.spec import Budget, Picker, parse_fault
from toolstream_core.model import ABSENT, Chunk, Json, Record, StreamFacts
from toolstream_core.printable import word
from toolstream_core.redact import redacted
from toolstream_core.saved.exchange import timed
from toolstream_core.saved.flow import line_ends_of, secrets_of, unlabel
from toolstream_core.saved.matching import Match, MatchOutcome
from toolstream_core.transit.definitions import keys_of
from toolstream_core.verdict.conversations import SentResponse
from toolstream_core.wire import json_access
from toolstream_core.wire.body import announces_stream
from toolstream_core.wire.write import encoded


def is_stream(response: http.Response) -> bool:
    """Whether the headers of a response announce a stream."""
    return announces_stream(response.headers.get("content-type", ""))


def json_response(status: int, body: Json, **headers: str) -> http.Response:
    """A response that is one JSON document."""
    return http.Response.make(status, encoded(body), {"content-type": "application/json", **headers})


def place_of(flow: http.HTTPFlow, host: str) -> str:
    """The server in the log: its host, with its port unless that is the usual one or the proxy's own."""
    request = flow.request
    usual = request.port in {80 if request.scheme == "http" else 443, flow.client_conn.sockname[1]}
    return host if usual else f"{host}:{request.port}"


def opens_socket(request: http.Request) -> bool:
    """Whether a request asks for a WebSocket: https://www.rfc-editor.org/rfc/rfc6455#section-4.1."""
    return bool(request.method == "GET" and request.headers.get("upgrade", "").lower() == "websocket")


NOTED: Final = "toolstream"
"""The key of `flow.metadata` under which a saved response is described."""


class Provided(NamedTuple):
    """A saved response."""

    chunks: Sequence[Chunk]
    broken: str | None
    """The error of the connection after the last chunk, if any."""
    messages: Mapping[bytes, bytes] = {}
    """Messages of a WebSocket with line ends, by their lines, which are the chunks."""


def provided(flow: http.HTTPFlow) -> Provided | None:
    """The chunks of a response that toolstream provided; else `None`."""
    noted = flow.metadata.get(NOTED)
    if flow.response is None or flow.response.raw_content is None or noted is None:
        return None
    chunks = [*timed(flow.response.raw_content, json_access.items(json_access.get(noted, "chunks")))]
    broken = json_access.text(json_access.get(noted, "broken"))
    messages = line_ends_of(flow).messages(chunk.data for chunk in chunks)
    return Provided(chunks, broken if isinstance(broken, str) else None, messages)


def breaks(flow: http.HTTPFlow) -> bool:
    """Whether a response is a saved one that is truncated."""
    saved = provided(flow)
    return saved is not None and saved.broken is not None


_FAULT_KEY: Final = "toolstream_fault"


def note_fault(flow: http.HTTPFlow, spec: str) -> None:
    """Store that the fault of this specification made the response."""
    flow.comment = f"answered by fault {spec}"
    flow.metadata[_FAULT_KEY] = spec


def noted_faults(flow: http.HTTPFlow) -> list[Picker]:
    """The fault that created the response, if any."""
    spec = flow.metadata.get(_FAULT_KEY)
    if not isinstance(spec, str):
        return []
    fault = parse_fault(spec, {spec.partition(":")[0]}, keys_of)
    return [Picker(fault, "", Budget(0), rolled=1, touched=1)]


def relabel(flow: http.HTTPFlow) -> None:
    """As `unlabel`, for a response in flight; chunks show the client when it is over.

    Without them HTTP/1.1 has only the end of the connection, and a truncated stream looks complete.
    With `connection: close`, Node's fetch treats the end of the connection as the end of the body all the same:
    https://github.com/nodejs/undici/blob/v7.16.0/lib/dispatcher/client-h1.js#L865
    """
    assert flow.response is not None
    if not flow.request.is_http11:
        unlabel(flow.response)
        return
    # mitmproxy uses the received headers to decide on upstream's connection: they stay unchanged.
    flow.response = copy(flow.response)
    flow.response.data = copy(flow.response.data)
    headers = flow.response.headers = flow.response.headers.copy()
    unlabel(flow.response)
    headers["transfer-encoding"] = "chunked"
    if flow.response.is_http10:
        flow.response.http_version = "HTTP/1.1"
    options = [option for text in headers.pop("connection", "").split(",") if (option := text.strip())]
    if kept := [option for option in options if option.lower() != "close"]:
        headers["connection"] = ", ".join(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardedResponse(SentResponse):
    """A forwarded response, as long as a request may follow."""

    head: dict[str, Any]
    """As `LiveResponse.head`."""
    exchange: StreamFacts
    """Without the request."""
    body: bytes | None
    """The bytes that the client got, if they are kept."""
    broken: str | None
    """The error of the connection, if any."""
    client: str
    """Identifies the client: the address and the user agent."""
    secrets: tuple[str, ...]

    @property
    @override
    def size(self) -> int:
        return super(ForwardedResponse, self).size + len(self.body or b"")  # classes with slots need the long form


def forwarded_response(
    flow: http.HTTPFlow,
    record: Record,
    sent: SentBytes,
    head: dict[str, Any],
    broken: str | None,
    secrets: tuple[str, ...],
) -> ForwardedResponse:
    """`record` is that of the client's response, `broken` how its connection broke, `secrets` those of the request."""
    agent = flow.request.headers.get("user-agent", "")
    body = sent.body if record.calls else None
    return ForwardedResponse.of(
        record,
        sent.exchange.request,
        body or b"",
        response_id=sent.response_id if record.calls else "",
        head=head,
        exchange=replace(sent.exchange, request=ABSENT),
        body=body,
        broken=broken,
        client=f"{flow.client_conn.peername[0]} {agent}",
        secrets=secrets,
    )


REPLAY = "toolstream_replay"
"""The key of `flow.metadata` for the match of a saved response."""
VERSION = 1


def note_match(flow: http.HTTPFlow, match: Match) -> None:
    """Store in the flow the saved one, and whether its request was the recorded one."""
    facts: dict[str, Any] = {
        "version": VERSION,
        "answer": str(match.outcome),
        "dialect": match.wanted.protocol,
        "protocol": match.wanted.protocol,
        "model": match.wanted.model and redacted(match.wanted.model, secrets_of(flow.request)),
        "source": match.saved.source if match.saved else None,
    }
    if match.difference is not None:
        facts |= match.difference._asdict()
    if match.near:
        facts["near"] = [near._asdict() for near in match.near]
    flow.metadata[REPLAY] = facts
    source = (
        f"answered from {match.saved.source}: " if match.saved and match.outcome is not MatchOutcome.FINISHED else ""
    )
    flow.comment = f"{source}{_outcome(facts)}"


def report_match(
    flow: http.HTTPFlow, *, line: Callable[[str], None] | None, jsonl: Callable[[str], None] | None
) -> None:
    """Report it, if the response was a saved one."""
    facts = flow.metadata.get(REPLAY)
    if facts is None:
        return
    if line is not None:
        words = [flow.request.pretty_host, facts["model"], facts["source"]]
        line(f"replay {' '.join(word(one) for one in words if one)} {_outcome(facts)}")
    if jsonl is not None:
        more = {key: value for key, value in facts.items() if key != "version"}
        jsonl(json.dumps({"type": "replay", "flow": flow.id, "host": flow.request.pretty_host, **more}))


def _outcome(values: dict[str, Any]) -> str:
    if values["answer"] == MatchOutcome.DIVERGED:
        differs = f"differs at {values['at']}: recorded {values['recorded']}, requested {values['asked']}"
        return f"diverged: no saved request is equal; the response is that of the most similar one ({differs})"
    if values["answer"] == MatchOutcome.FINISHED:
        return "finished: the request has the results of its calls; the response is a final text"
    if values["answer"] == MatchOutcome.REFUSED:
        return "refused: " + ("; ".join(f"{near['source']} {near['why']}" for near in values["near"]))
    return str(values["answer"])
