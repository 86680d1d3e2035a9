"""Responds to LLM requests from saved flows, with no key and no network. Knows mitmproxy's flow."""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import override

from mitmproxy import http

from toolstream_core.model import ABSENT, BAD_STATUS, Chunk, Json
from toolstream_core.protocols.api import ModelList
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.registry import claiming, named
from toolstream_core.protocols.requests.match_key import model_of
from toolstream_core.proxy.flow_facts import NOTED, json_response, note_match
from toolstream_core.redaction import Redaction, TextMode, redacted_body
from toolstream_core.saved.flow import LlmFlow, body_note, content_of, secrets_of
from toolstream_core.saved.flowfile import SOCKET
from toolstream_core.saved.matching import Match, Matcher, MatchOutcome, form_of, names_of
from toolstream_core.saved.read import load
from toolstream_core.synthetic.responses import MODEL, SyntheticProvider, Written, final_text
from toolstream_core.wire import aws_event_stream, json_access
from toolstream_core.wire.frame import CONTENT_TYPES, Form, parse
from toolstream_core.wire.write import encoded

logger = logging.getLogger(__name__)

_LISTS = re.compile(r"/(v1/models|v1beta/models|api/tags)/?$")
OPTIONS = {"connection_strategy": "lazy"}
"""The mitmproxy options that prevent upstream connections before the request was read."""
_EACH_MS = 20
"""Milliseconds between two events of a generated response, at speed 1."""
_NOT_REPEATED = {b"content-length", b"content-encoding", b"transfer-encoding", b"connection", b"alt-svc"}


def models(path: str, names_of_kind: Callable[[ModelList], Sequence[str]]) -> Json | None:
    """The response to a GET of `path`, if that is a list of models."""
    found = _LISTS.search(path.partition("?")[0])
    if found is None:
        return None
    if found[1] == "api/tags":
        return {"models": [{"name": name, "model": name} for name in names_of_kind(ModelList.TAGS)]}
    names = names_of_kind(ModelList.DATA)
    # The APIs share paths, and each reads its own key: `data` or `models`.
    bare = [{"name": name, "endpoints": ["chat"]} for name in names_of_kind(ModelList.NAMES)]
    resources = [{"name": f"models/{name}", "displayName": name} for name in names_of_kind(ModelList.MODELS)]
    return {
        "object": "list",
        "data": [_entry(name) for name in names],
        "has_more": False,
        "first_id": names[0] if names else None,
        "last_id": names[-1] if names else None,
        "models": [*resources, *bare],
    }


def _entry(name: str) -> Json:
    openai = {"id": name, "object": "model", "created": 0, "owned_by": "toolstream"}
    return {**openai, "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}


def nothing_saved(match: Match, flows: Sequence[LlmFlow]) -> Json:
    """The body of a 404, in a form that the SDKs of that API display."""
    protocol = match.wanted.protocol
    if any(one.request_key.protocol == protocol for one in flows):
        near = "; ".join(f"{one.source} {one.why}" for one in match.near)
        message = f"toolstream has no saved response for this {protocol} request. Near: {near}"
    else:
        message = f"toolstream has no saved {protocol} response. It has: {_listed(flows)}"
    return named(protocol).error_body(ErrorKind.NOT_FOUND, ErrorKind.NOT_FOUND.status, message)


def assembled(saved: LlmFlow) -> Json:
    """A saved response without streaming. A stream is assembled."""
    if not saved.record.streamed:
        return saved.payloads[0]
    payloads = [payload for payload in saved.payloads if isinstance(payload, dict)]
    return named(saved.record.protocol).assembled(payloads, saved.record.calls)


def _listed(flows: Sequence[LlmFlow]) -> str:
    there: dict[str, set[str]] = {}
    for one in flows:
        there.setdefault(one.request_key.protocol, set()).update(names_of(one)[:1])
    return "; ".join(f"{name} ({', '.join(sorted(models))})" for name, models in sorted(there.items()))


class AnyProvider(ABC):
    """Responds in place of the providers."""

    def recorded(self, flow: http.HTTPFlow) -> bool:
        """Whether an equal request was saved."""
        del flow
        return False

    def example(self, path: str) -> Json:
        """The first saved request of the path's API, to its model if it names one; `ABSENT` without one."""
        del path
        return ABSENT

    def respond(self, flow: http.HTTPFlow) -> None:
        """Set the response of a request that is an LLM's; others are left alone."""
        request = flow.request
        if request.method == "GET" and (listed := models(request.path, self._models)) is not None:
            flow.response = json_response(200, listed)
        elif request.method == "POST":
            self._respond(flow)

    @abstractmethod
    def _models(self, kind: ModelList) -> Sequence[str]:
        """The names of the models of all APIs with this kind of list."""

    @abstractmethod
    def _respond(self, flow: http.HTTPFlow) -> None:
        """As `respond`, for a POST."""


class Provider(AnyProvider):
    """Responds with saved responses."""

    def __init__(self, flows: Sequence[LlmFlow], *, strict: bool = False, repeats: int = 0) -> None:
        """The earlier of two equally fitting responses is sent; `strict` and `repeats` as for `Matcher`."""
        self._flows = tuple(flows)
        self.matcher = Matcher(self._flows, strict=strict, repeats=repeats)

    @classmethod
    def load(cls, paths: Iterable[str], *, strict: bool = False, repeats: int = 0) -> Provider:
        """Read the flow files and folders that the user named. Raises `ToolstreamError`."""
        flows = [saved for path in paths for saved in load(Path(path).expanduser())]
        return cls(flows, strict=strict, repeats=repeats)

    @override
    def recorded(self, flow: http.HTTPFlow) -> bool:
        return self.matcher.has(flow.request.path, content_of(flow.request), _redacting(flow.request))

    @override
    def example(self, path: str) -> Json:
        protocol, model = claiming(path), model_of(path, ABSENT)
        of_protocol = [one for one in self._flows if protocol is not None and one.request_key.protocol == protocol.name]
        return next((one.request for one in of_protocol if model in {None, one.request_key.model}), ABSENT)

    @override
    def _models(self, kind: ModelList) -> Sequence[str]:
        usable = [one for one in self._flows if named(one.request_key.protocol).api.model_list is kind]
        return sorted({name for one in usable for name in names_of(one)})

    @override
    def _respond(self, flow: http.HTTPFlow) -> None:
        request = flow.request
        match = self.matcher.match(request.path, content_of(request), _redacting(request))
        if match is None:
            return
        if match.saved is None:
            flow.response = json_response(404, nothing_saved(match, self._flows))
        elif match.outcome is MatchOutcome.FINISHED:
            _put_generated(flow, final_text(match.wanted, parse(content_of(request))))
        else:
            _put_saved(flow, match.saved, match.wanted.form, exact=match.outcome is MatchOutcome.EXACT)
        note_match(flow, match)


def _redacting(request: http.Request) -> Callable[[bytes, str], bytes]:
    """The redaction of a request's body when it is saved."""
    known = secrets_of(request)

    def redact(body: bytes, text: str) -> bytes:
        return redacted_body(body, Redaction(text=TextMode(text)), known)

    return redact


def _put_saved(flow: http.HTTPFlow, saved: LlmFlow, form: Form, *, exact: bool) -> None:
    # Over a WebSocket, requests look as for a stream over HTTP, but the framing differs. Any stream fits there.
    as_it_is = SOCKET in flow.metadata if form_of(saved) is not form and saved.record.streamed else exact
    chunks, kind = (saved.chunks, None) if as_it_is else _rendered(saved, form)
    kept = [(name, value) for name, value in saved.headers if name.lower() not in _NOT_REPEATED]
    # A disconnect needs a body, even without any sent byte.
    body = b"".join(chunk.data for chunk in chunks) or (b" " if saved.record.broken is not None else b"")
    response = http.Response.make(saved.status, body)
    length = response.headers["content-length"]
    response.headers = http.Headers(kept)
    response.headers["content-length"] = length
    if kind:
        response.headers["content-type"] = kind
    flow.response = response
    sized = any(name.lower() == b"content-length" for name, _ in saved.headers)
    if len(chunks) != 1 or saved.record.broken is not None or not sized:
        line_ends = saved.line_ends if chunks is saved.chunks else None
        flow.metadata[NOTED] = body_note(chunks, saved.record.broken, line_ends)


def _rendered(saved: LlmFlow, form: Form) -> tuple[Sequence[Chunk], str | None]:
    """The body in the requested form, and its content type if that is not the recorded one."""
    if form_of(saved) is form or saved.status >= BAD_STATUS:
        return saved.chunks, None
    if saved.record.broken is not None:
        return [], CONTENT_TYPES[form]  # a truncated response has no other form
    if form is Form.WHOLE:
        return [Chunk(0, encoded(assembled(saved)))], CONTENT_TYPES[form]
    cut = framed([payload for payload in saved.payloads if isinstance(payload, dict)], form)
    times = [chunk.after for chunk in saved.chunks]
    times += times[-1:] * (len(cut) - len(times))
    return [Chunk(after, data) for after, data in zip(times, cut, strict=False)], CONTENT_TYPES[form]


def framed(payloads: Sequence[Json], form: Form) -> list[bytes]:
    """A stream's payloads in another framing than the protocol's usual one."""
    bodies = [encoded(payload) for payload in payloads]
    if form is Form.EVENTS:
        names = [json_access.get(payload, "type") for payload in payloads]
        heads = [f"event: {name}\r\n".encode() if isinstance(name, str) else b"" for name in names]
        return [head + b"data: " + body + b"\r\n\r\n" for head, body in zip(heads, bodies, strict=True)]
    if form is Form.MESSAGES:
        return [aws_event_stream.chunk(body).encode() for body in bodies]
    cut = [(b",\r\n" if at else b"[") + body for at, body in enumerate(bodies)]
    return [*cut, b"]" if cut else b"[]"]


def _put_generated(flow: http.HTTPFlow, written: Written) -> None:
    if not written.events:
        flow.response = json_response(200, written.unstreamed)
        return
    form, events = written.wanted.form, written.events
    if form is not written.protocol.api.stream_form:
        events = tuple(framed([parse(event.partition(b"data: ")[2]) for event in events], form))
    flow.response = http.Response.make(200, b"".join(events), {"content-type": CONTENT_TYPES[form]})
    flow.metadata[NOTED] = body_note(Chunk(_EACH_MS * at, event) for at, event in enumerate(events))


class CallProvider(AnyProvider):
    """Responds with generated calls."""

    def __init__(self, provider: SyntheticProvider) -> None:
        """`provider` selects the content; this makes the HTTP response."""
        self._provider = provider
        self._requested = {MODEL}
        """The models of requests so far."""
        self._reported: set[str] = set()
        """The messages on tools that were not offered, one for each set of tools."""

    @override
    def _models(self, kind: ModelList) -> Sequence[str]:
        return sorted(self._requested)

    @override
    def _respond(self, flow: http.HTTPFlow) -> None:
        written = self._provider.respond(flow.request.path, content_of(flow.request))
        if written is None:
            return
        if written.wanted.model:
            self._requested.add(written.wanted.model)
        flow.comment = f"responded with {_counted(len(written.calls))}"
        for why in filter(None, (written.not_offered, _withheld(written.withheld))):
            if why not in self._reported:
                self._reported.add(why)
                logger.warning("toolstream responded with %s: %s", _counted(len(written.calls)), why)
        _put_generated(flow, written)


def _withheld(tools: Sequence[str]) -> str:
    """The message why no tool is called, and how to call one."""
    if not tools:
        return ""
    listed = ", ".join(tools)
    return f"none of the offered tools is known to be harmless ({listed}); name one to call it, as in calls:{tools[0]}"


def _counted(count: int) -> str:
    return "a text" if not count else "1 generated call" if count == 1 else f"{count} generated calls"
