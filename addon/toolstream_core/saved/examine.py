"""Finds problems of saved files: secrets, stale expectations, missing bodies. Knows mitmproxy's flow files."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mitmproxy import http

from toolstream_core.errors import ToolstreamError
from toolstream_core.redaction import Redaction
from toolstream_core.redaction.body import Overwritten, overwritten, secrets_of_text
from toolstream_core.redaction.headers import redacted_text
from toolstream_core.saved.exchange import UnreadableError
from toolstream_core.saved.expectation import differences, expect_path, expectation_of, read_expectation
from toolstream_core.saved.flow import LlmFlow, content_of, flows_in
from toolstream_core.saved.read import gathered, load
from toolstream_core.saved.redact import redact, save

_LONGEST_TEXT: Final = 64 << 20
_OWN: Final = "toolstream"
"""How the names of toolstream's own metadata begin."""
_BINARY: Final = b"\0"
_OTHERS: Final = stat.S_IRGRP | stat.S_IROTH
_FLOW_SUFFIXES: Final = frozenset({".flow", ".flows", ".mitm"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem of a file."""

    file: str
    flow: int | None = None
    """Counting from 0; `None` for the file."""
    kind: str
    """`secret`, `stale-expectation`, `no-body`, `readable-by-others`, `unreadable`."""
    where: str = ""
    """The header, parameter, field or event."""
    message: str
    advice: str


def examine(path: Path, redaction: Redaction) -> list[Problem]:
    """The problems of one file. Never raises for the content of the file."""
    try:
        data = path.read_bytes() if path.stat().st_size <= _LONGEST_TEXT else b""
    except OSError as error:
        return [_problem(path, "unreadable", f"cannot be read: {error.strerror}", "make it readable, or leave it out")]
    if path.suffix in _FLOW_SUFFIXES:
        found = [*_flow_file(path, redaction), *_expectation(path)]
    elif _BINARY in data[:8192]:
        return []
    else:
        found = list(_text_file(path, data, redaction))
    if path.stat().st_mode & _OTHERS and any(problem.kind == "secret" for problem in found):
        message = "readable by other users, and contains secrets"
        found.append(_problem(path, "readable-by-others", message, f"chmod 600 {path}"))
    return found


def fix(path: Path, redaction: Redaction) -> bool:
    """Rewrite a flow file, redacted. Returns whether that is possible: whether all of it is HTTP, and undamaged."""
    flows = _http_flows(path)
    if flows:
        save(flows, path, redaction)
    return bool(flows)


def _http_flows(path: Path) -> list[http.HTTPFlow]:
    """The flows of a flow file that holds nothing else; else none."""
    if path.suffix not in _FLOW_SUFFIXES:
        return []
    try:
        with path.open("rb") as file:
            flows = list(flows_in(file))
    except (UnreadableError, OSError):
        return []
    https = [flow for flow in flows if isinstance(flow, http.HTTPFlow)]
    return https if len(https) == len(flows) else []


def _removal(path: Path) -> str:
    """How to remove a secret from a file: only a command that can read the file is advised."""
    if _http_flows(path):
        return f"run toolstream doctor --fix {path}, and revoke the secret if it is real"
    if any(isinstance(one, LlmFlow) for one in gathered(str(path))):
        extract = f"toolstream extract {path} -o DIR"
        return f"run {extract} to make a fixture without it, then delete the file, and revoke the secret if it is real"
    return "remove it by hand or delete the file, and revoke the secret if it is real"


def _problem(path: Path, kind: str, message: str, advice: str, *, flow: int | None = None, where: str = "") -> Problem:
    return Problem(file=str(path), flow=flow, kind=kind, where=where, message=message, advice=advice)


def _flow_file(path: Path, redaction: Redaction) -> Iterator[Problem]:
    number, removal = 0, _removal(path)
    try:
        if not path.stat().st_size:
            yield _problem(path, "unreadable", "is empty", "record it again")
        with path.open("rb") as file:
            for number, flow in enumerate(flows_in(file)):
                if isinstance(flow, http.HTTPFlow):
                    yield from _flow(path, number, flow, redaction, removal)
    except (UnreadableError, OSError):
        message = f"is a damaged or truncated mitmproxy flow file: flow {number} and later ones cannot be read"
        yield _problem(path, "unreadable", message, "record it again, or truncate it there")


def _flow(path: Path, number: int, flow: http.HTTPFlow, redaction: Redaction, removal: str) -> Iterator[Problem]:
    clean = redact(flow, redaction)
    for where, secret in _secrets(flow, clean, redaction):
        yield _problem(path, "secret", secret.message(), removal, flow=number, where=where)
    aside = ["backup"] if flow.get_state()["backup"] else []
    aside += ["websocket"] if flow.websocket is not None and clean.websocket is None else []
    aside += [name for name in flow.metadata if not name.startswith(_OWN)]
    if aside:
        message = "has data of mitmproxy that is not redacted"
        yield _problem(path, "secret", message, removal, flow=number, where=", ".join(aside))
    if flow.response is not None and flow.error is None and flow.response.raw_content is None:
        advice = "record it with --set toolstream_capture=DIR, or with --set store_streamed_bodies=true"
        yield _problem(path, "no-body", "the response body was not saved", advice, flow=number, where="response")


def _secrets(flow: http.HTTPFlow, clean: http.HTTPFlow, redaction: Redaction) -> Iterator[tuple[str, Overwritten]]:
    """The secrets that redaction overwrites, and their places."""
    yield from (("path", one) for one in overwritten(flow.request.path.encode(), clean.request.path.encode()))
    yield from (("comment", one) for one in overwritten(flow.comment.encode(), clean.comment.encode()))
    if flow.error is not None and clean.error is not None:
        yield from (("error", one) for one in overwritten(flow.error.msg.encode(), clean.error.msg.encode()))
    yield from _message("request", flow.request, clean.request)
    if flow.response is not None and clean.response is not None:
        yield from _message("response", flow.response, clean.response)
    if flow.websocket is not None and clean.websocket is not None:
        for number, pair in enumerate(zip(flow.websocket.messages, clean.websocket.messages, strict=True)):
            yield from ((f"message {number}", one) for one in overwritten(pair[0].content, pair[1].content))
    for name in flow.metadata:
        if name.startswith(f"{_OWN}_"):
            text = str(flow.metadata[name])
            yield from ((name, one) for one in overwritten(text.encode(), redacted_text(text, redaction).encode()))
    noted, kept = (json.dumps(one.metadata.get(_OWN), default=bytes.hex).encode() for one in (flow, clean))
    if len(noted) == len(kept):
        yield from (("metadata", one) for one in overwritten(noted, kept))


def _message(name: str, message: http.Message, clean: http.Message) -> Iterator[tuple[str, Overwritten]]:
    for one, other in ((message.headers, clean.headers), (message.trailers, clean.trailers)):
        kept = dict(zip(_numbered(other), other.fields, strict=True)) if other else {}
        for key, (header, value) in zip(_numbered(one), one.fields, strict=True) if one else ():
            if key in kept:
                where = f"{name} header {header.decode('latin-1')}"
                yield from ((where, found) for found in overwritten(value, kept[key][1]))
    body, kept_body = content_of(message), content_of(clean)
    if message.raw_content and not body:
        yield f"{name} body", Overwritten(0, b"", 0, "unreadable coding")
    if len(body) == len(kept_body):
        for found in overwritten(body, kept_body):
            yield f"{name} body, {_place(body, found.position)}", found


def _numbered(headers: http.Headers | None) -> list[tuple[bytes, int]]:
    names = [name.lower() for name, _ in headers.fields] if headers else []
    return [(name, names[:position].count(name)) for position, name in enumerate(names)]


def _place(body: bytes, position: int) -> str:
    """The event of a stream, counting from 0, or the byte."""
    begin = body[:position].lstrip()
    if begin.startswith((b"data:", b"event:", b":", b"id:")):
        return f"event {begin.count(b'\n\n') + begin.count(b'\r\n\r\n')}"
    return f"byte {position}"


def _text_file(path: Path, data: bytes, redaction: Redaction) -> Iterator[Problem]:
    secrets = list(secrets_of_text(data, redaction))
    removal = _removal(path) if secrets else ""
    for found in secrets:
        line = data.count(b"\n", 0, found.position) + 1
        yield _problem(path, "secret", found.message(), removal, where=f"line {line}")


def _expectation(path: Path) -> Iterator[Problem]:
    if not expect_path(path).exists():
        return
    try:
        stale: Sequence[str] = differences(read_expectation(expect_path(path)), expectation_of(load(path)))
    except ToolstreamError as error:
        stale = [str(error)]
    for line in stale:
        advice = "check the difference, then update the file with pytest --toolstream-update=fix"
        yield _problem(expect_path(path), "stale-expectation", line, advice)
