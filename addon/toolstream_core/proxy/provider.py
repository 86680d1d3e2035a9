"""Answers LLM requests from saved flows, with no key and no network. Knows mitmproxy's flow."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mitmproxy import http

from toolstream_core.dialects import asked
from toolstream_core.dialects.asked import Asked, Form
from toolstream_core.fixtures import Chunk, Fixture, FixtureError, content_of, load
from toolstream_core.fixtures.read import BAD_STATUS
from toolstream_core.proxy.completion import assemble, form_of
from toolstream_core.proxy.provided import note
from toolstream_core.proxy.replies import models, names_of, nothing_saved
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.model import Json

# Which saved answer fits a request best, the first difference counting:
#
# 1. the protocol must be the same, and who asks for a stream can only be given what was streamed, or an HTTP
#    error, which comes behind everything else;
# 2. model: the same, as asked for or as answered; the same but for vendor, date or tag (`gpt-4.1-mini`,
#    `openai/gpt-4.1-mini`, `gpt-4.1-mini-2025-04-14`); the same family (`gpt`); any;
# 3. turn, counted in tool results: the same, else the nearest lower, else the nearest higher;
# 4. tools: calls that the request offers, then text, then calls of tools that it does not offer;
# 5. the user's last words: the same, then any;
# 6. form: saved in the form asked for, then one that is made into it;
# 7. the order of the paths, of the files' names, of the flows.

OPTIONS = {"connection_strategy": "lazy"}
"""What mitmproxy has to be told so that nothing connects upstream before the request was read."""

_NOT_REPEATED = {b"content-length", b"content-encoding", b"transfer-encoding", b"connection", b"alt-svc"}
_TYPES = {Form.WHOLE: "application/json", Form.ARRAY: "application/json", Form.EVENTS: "text/event-stream"}
_VENDOR = re.compile(r"^.*/")
_VERSION = re.compile(r"(?:[-@]\d{4}-?\d{2}-?\d{2}|-latest|:[^:]*)$")
_FAMILY = re.compile(r"^[a-z]*")


class ProviderError(ValueError):
    """A path from which nothing can be answered; the message names it and says why."""


class Provider:
    """Answers in the providers' place."""

    def __init__(self, fixtures: Sequence[Fixture]) -> None:
        """The earlier of two that fit alike is given."""
        self._fixtures = tuple(fixtures)

    @classmethod
    def load(cls, paths: Iterable[str]) -> Provider:
        """Read the flow files and folders that the user named. Raises `ProviderError`."""
        try:
            return cls([fixture for path in paths for fixture in load(Path(path).expanduser())])
        except FixtureError as error:
            raise ProviderError(str(error)) from error

    def answer(self, flow: http.HTTPFlow) -> bool:
        """Set the response of a request that is an LLM's; others are left alone and `False`."""
        request = flow.request
        if request.method == "GET" and (listed := models(request.path, self._fixtures)) is not None:
            flow.response = _json_response(200, listed)
            return True
        if request.method != "POST":
            return False
        wanted = asked.read(request.path, parse(content_of(request)))
        if wanted is None:
            return False
        fixture = self.choose(wanted)
        if fixture is None:
            flow.response = _json_response(404, nothing_saved(wanted.dialect, self._fixtures))
            return True
        _respond(flow, fixture, wanted.form)
        return True

    def choose(self, wanted: Asked) -> Fixture | None:
        """The fixture that fits best."""
        fitting = [one for one in self._fixtures if one.asked.dialect == wanted.dialect and _can_say(one, wanted.form)]
        return min(fitting, key=lambda one: _distance(one, wanted), default=None)


def _can_say(fixture: Fixture, form: Form) -> bool:
    """Whether an answer can be given in `form`; an HTTP error is the same in all."""
    return fixture.record.streamed or form is Form.WHOLE or fixture.status >= BAD_STATUS


def _distance(fixture: Fixture, wanted: Asked) -> tuple[int | bool, ...]:
    later = wanted.results - fixture.asked.results
    return (
        fixture.status >= BAD_STATUS,
        _model_distance(names_of(fixture), wanted.model),
        later < 0,
        abs(later),
        _tool_distance(fixture, wanted.tools),
        fixture.asked.words != wanted.words,
        form_of(fixture) is not wanted.form,
    )


def _model_distance(names: Sequence[str], wanted: str | None) -> int:
    if wanted is None or wanted in names:
        return 0
    name = _plain(wanted)
    plain = [_plain(one) for one in names]
    if name in plain:
        return 1
    return 2 if _FAMILY.findall(name)[0] in {_FAMILY.findall(one)[0] for one in plain} - {""} else 3


def _plain(model: str) -> str:
    return _VERSION.sub("", _VENDOR.sub("", model.lower()))


def _tool_distance(fixture: Fixture, offered: frozenset[str]) -> int:
    called = {call.name for call in fixture.record.calls}
    if not called:
        return 1
    return 0 if called <= offered else 2


def _respond(flow: http.HTTPFlow, fixture: Fixture, form: Form) -> None:
    chunks, kind = _rendered(fixture, form)
    kept = [(name, value) for name, value in fixture.headers if name.lower() not in _NOT_REPEATED]
    # A break needs a body to break off, though no byte of it goes.
    body = b"".join(chunk.data for chunk in chunks) or (b" " if fixture.broken is not None else b"")
    response = http.Response.make(fixture.status, body)
    length = response.headers["content-length"]
    response.headers = http.Headers(kept)
    response.headers["content-length"] = length
    if kind:
        response.headers["content-type"] = kind
    flow.response = response
    flow.comment = f"answered from {fixture.source}"
    sized = any(name.lower() == b"content-length" for name, _ in fixture.headers)
    if len(chunks) != 1 or fixture.broken is not None or not sized:
        note(flow, chunks, fixture.broken)


def _rendered(fixture: Fixture, form: Form) -> tuple[Sequence[Chunk], str | None]:
    """The body in the form asked for, and its content type where that is not the recorded one."""
    if form_of(fixture) is form or fixture.status >= BAD_STATUS:
        return fixture.chunks, None
    if fixture.broken is not None:
        return [], _TYPES.get(form)  # half an answer has no other form
    if form is Form.WHOLE:
        return [Chunk(0, _compact(assemble(fixture)))], _TYPES[form]
    pieces = [_compact(payload) for payload in fixture.payloads if isinstance(payload, dict)]
    if form is Form.EVENTS:
        cut = [b"data: " + piece + b"\r\n\r\n" for piece in pieces]
    else:
        cut = [(b",\r\n" if at else b"[") + piece for at, piece in enumerate(pieces)]
        cut.append(b"]" if cut else b"[]")
    times = [chunk.after for chunk in fixture.chunks]
    times += times[-1:] * (len(cut) - len(times))
    return [Chunk(after, data) for after, data in zip(times, cut, strict=False)], _TYPES[form]


def _json_response(status: int, body: Json) -> http.Response:
    return http.Response.make(status, _compact(body), {"content-type": "application/json"})


def _compact(payload: Json) -> bytes:
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
