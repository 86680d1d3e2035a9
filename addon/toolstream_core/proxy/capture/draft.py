"""One capture: the kept parts of a flow, the decision to keep it, and the flow file. Knows mitmproxy's flow files."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mitmproxy import flow as flows
from mitmproxy import http

from toolstream_core.model import BAD_STATUS, Record, Runs, Severity
from toolstream_core.protocols.requests import match_key
from toolstream_core.protocols.requests.match_key import RequestKey
from toolstream_core.proxy.capture.body import KeptBody, Store, TimedChunk
from toolstream_core.proxy.capture.folder import stem
from toolstream_core.proxy.capture.packing import numbers, pack
from toolstream_core.proxy.capture.spool import Snapshot
from toolstream_core.redaction import redacted_body, redacted_text
from toolstream_core.report.jsonform import record_object
from toolstream_core.saved.flow import LINE_ENDS, NOTE_VERSION, content_of, secrets_of
from toolstream_core.saved.flowfile import SOCKET
from toolstream_core.saved.redact import redacted_state
from toolstream_core.wire.frame import parse

KILLED = "the proxy was killed"
"""The end of a response that was recovered from its snapshot."""
_MOST_SAVED = 64 * 1024 * 1024
"""Bytes of a response after which it is not saved any more until its end."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a flow."""

    state: dict[str, Any]
    """The flow in mitmproxy's saved form, without the response's body."""
    record: Record | None
    broken: str | None
    """The reason if it ended early, also after the end of the response."""
    differs: bool
    """Whether the client's times or end were changed by a fault."""


class Draft:
    """The bodies of one flow while they arrive. Used only by the worker's thread, except `give_up` and `compares`."""

    def __init__(self, store: Store, flow_id: str, request: http.Request) -> None:
        self._store = store
        self._id = flow_id
        self._known = secrets_of(request)
        self._upstream: KeptBody | None = None
        self._client: KeptBody | None = None
        self._snapshot = Snapshot(store.folder.path)
        self._failed = False
        self.state: Callable[[], dict[str, Any]] | None = None
        """Returns the state of the flow, as mitmproxy saves it, before it ends."""
        self.compares = False
        """Whether the client's bytes are recorded too; set before the first byte."""

    def add_upstream(self, batch: Sequence[TimedChunk], coding: str) -> None:
        """Append chunks that the provider sent."""
        if self._upstream is None:
            self._upstream = self._body(coding)
        self._add(self._upstream, batch)

    def add_client(self, batch: Sequence[TimedChunk]) -> None:
        """Append chunks that the client got."""
        if self._client is None:
            self._client = self._body()
        self._add(self._client, batch)

    def save(self) -> None:
        """Write the beginning of the response for `recovery`."""
        body = self._upstream
        if self._failed or body is None or body.size > _MOST_SAVED or not (content := body.so_far()).size:
            return
        flow = self._opening["flow"]
        noted = {**flow["metadata"]["toolstream"], "chunks": body.chunks()}
        state = {**flow, "response": {**flow["response"], "content": content}, "metadata": {"toolstream": noted}}
        self._snapshot.write(pack({**self._opening, "flow": state}).chunks())

    def give_up(self, error: Exception) -> None:
        """Report, once, that the flow is not captured."""
        if not self._failed:
            self._failed = True
            self._store.failed(self._id, error)

    def finish(self, ending: Ending) -> None:
        """Write the flow."""
        if not self._failed:
            self._store.wrote(self._write(ending))

    def discard(self) -> None:
        """Delete the parts that are not in a flow file."""
        self._snapshot.close()
        for body in (self._upstream, self._client):
            if body is not None:
                body.close()

    def _body(self, coding: str = "") -> KeptBody:
        return KeptBody(self._store, self._known, coding, compared=self.compares)

    @cached_property
    def _opening(self) -> dict[str, Any]:
        """The flow without its body, for `recovery`."""
        assert self.state is not None
        ending = Ending(self.state(), None, KILLED, differs=False)
        clean = self._clean(ending)
        noted = {"version": NOTE_VERSION, "text": self._store.redaction.text.value, "broken": KILLED}
        clean["metadata"] = {"toolstream": noted}
        if clean["response"] is not None:
            clean["response"]["headers"] = [
                [name, value]
                for name, value in clean["response"]["headers"]
                if name.lower() not in {b"content-encoding", b"content-length"}
            ]
        return {"flow": clean, "name": self._name(ending)}

    def _add(self, body: KeptBody, batch: Sequence[TimedChunk]) -> None:
        if not self._failed:
            body.add(batch)
            self._store.folder.make_room(sum(one.size for one in (self._upstream, self._client) if one is not None))

    def _write(self, ending: Ending) -> Path:
        for body in (self._upstream, self._client):
            if body is not None:
                body.end()
        clean = self._clean(ending)
        clean["metadata"] = {"toolstream": self._metadata(ending)}
        if clean["response"] is not None:
            self._put_body(clean["response"])
        packed = pack(clean)
        return self._store.folder.write(self._name(ending), packed.size, packed.chunks())

    def _clean(self, ending: Ending) -> dict[str, Any]:
        """The state of the flow, redacted, without the response's body."""
        state = {**ending.state, "metadata": {}, "backup": None, "websocket": None}
        if ending.broken is not None and state["error"] is None:
            state["error"] = flows.Error(ending.broken).get_state()
        return redacted_state(state, self._store.redaction)

    def _put_body(self, response: dict[str, Any]) -> None:
        """Set the provider's body, decoded, and the headers that fit it."""
        upstream = self._upstream
        length = b"%d" % (0 if upstream is None else upstream.length)
        unreadable = upstream is not None and upstream.failure is not None
        response["content"] = b"" if upstream is None else upstream.content()
        response["headers"] = [
            [name, length if name.lower() == b"content-length" else value]
            for name, value in response["headers"]
            if name.lower() != b"content-encoding" or unreadable
        ]

    def _metadata(self, ending: Ending) -> dict[str, object]:
        redaction = self._store.redaction
        noted: dict[str, object] = {
            "version": NOTE_VERSION,
            "chunks": [] if self._upstream is None else self._upstream.chunks(),
            "text": redaction.text.value,
        }
        if self._client is not None and self._differs(ending):
            noted["sent"] = {"body": self._client.content(), "chunks": self._client.chunks()}
        if SOCKET in ending.state["metadata"]:
            socket = ending.state["metadata"][SOCKET]
            noted["socket"] = self._socket(socket)
            noted |= {LINE_ENDS: socket[LINE_ENDS]} if LINE_ENDS in socket else {}
        if ending.record is not None:
            noted["record"] = self._record(ending.record)
        if ending.broken is not None:
            noted["broken"] = redacted_text(ending.broken, redaction, self._known)
        return noted

    def _socket(self, noted: dict[str, Any]) -> dict[str, Any]:
        """The result of `saved.flowfile.note_of`, redacted as a body is."""
        kept = {name: noted[name] for name in ("stream_id", "sent") if name in noted}
        clean: dict[str, Any] = json.loads(
            redacted_body(json.dumps(kept, ensure_ascii=False).encode(), self._store.redaction, self._known)
        )
        return clean

    def _differs(self, ending: Ending) -> bool:
        """Whether the client's bytes or times differ from the provider's."""
        assert self._client is not None
        return ending.differs or self._upstream is None or self._upstream.digest != self._client.digest

    def _record(self, record: Record) -> dict[str, Any]:
        """The record as `inspect` prints it, redacted as a body is. Event numbers, which may be many, are streamed."""
        calls = [replace(call, events=Runs()) for call in record.calls]
        plain = json.dumps(record_object(replace(record, calls=calls)), ensure_ascii=False).encode()
        clean: dict[str, Any] = json.loads(redacted_body(plain, self._store.redaction, self._known))
        for call, one in zip(clean["calls"], record.calls, strict=True):
            call["events"] = numbers(one.events.ranges)
        return clean

    def _name(self, ending: Ending) -> str:
        named = ending.record or _requested(ending)
        protocol = "unknown" if named is None else named.protocol
        model = None if named is None else named.model
        model = None if model is None else redacted_text(model, self._store.redaction, self._known)
        return stem(ending.state["request"]["timestamp_start"], protocol, model)


def _requested(ending: Ending) -> RequestKey | None:
    """The requested protocol and form, if it is an LLM request."""
    request = http.Request.from_state(ending.state["request"])
    return match_key.read(request.path, parse(content_of(request)))


class When(enum.StrEnum):
    """The flows of LLMs that are kept."""

    ALL = "all"
    FINDINGS = "findings"
    """Flows with a finding of severity warning or error, and those of `ERRORS`."""
    ERRORS = "errors"
    """Flows that broke, contain an error, or have a finding of severity error."""


def is_kept(ending: Ending, when: When) -> bool:
    """Whether a flow that ended is an LLM's, and to be kept."""
    if ending.record is None and not _asks_llm(ending):
        return False
    return when is When.ALL or _failed(ending) or (when is When.FINDINGS and Severity.WARNING in _found(ending))


def _asks_llm(ending: Ending) -> bool:
    request = http.Request.from_state(ending.state["request"])
    if request.method != "POST":
        return False
    body = content_of(request)
    return match_key.may_be_llm(request.path, body) and match_key.read(request.path, parse(body)) is not None


def _failed(ending: Ending) -> bool:
    response, record = ending.state["response"], ending.record
    broken = ending.broken if record is None else record.broken
    if broken is not None or (response is not None and response["status_code"] >= BAD_STATUS):
        return True
    return record is not None and (record.error is not None or Severity.ERROR in _found(ending))


def _found(ending: Ending) -> set[Severity]:
    return set() if ending.record is None else {finding.severity for finding in ending.record.findings}
