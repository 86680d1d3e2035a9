"""The bare layout of other tools: a folder with `request.json` and the unchanged response, `response.sse`.

Further files are `request-headers.json`, `response-headers.json` and `manifest.json`.
"""

from __future__ import annotations

from pathlib import Path

from toolstream_core.model import ABSENT, Json
from toolstream_core.saved.exchange import Exchange, Headers, chunk_table, header, listed_headers, read_headers, timed
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded

REQUEST = "request.json"
MANIFEST = "manifest.json"
RESPONSES = {
    "response.sse": "text/event-stream",
    "response.ndjson": "application/x-ndjson",
    "response.json": "application/json",
}
"""The files that a response may be in, and their content types."""
VERSION = 1
"""The version of `manifest.json`."""
EXPECTATION = ".expect.json"
"""Ends the name of the file with the expected reading of a flow file."""

_REQUEST_HEADERS = "request-headers.json"
_RESPONSE_HEADERS = "response-headers.json"
_BESIDE = (REQUEST, MANIFEST, _REQUEST_HEADERS, _RESPONSE_HEADERS)


def response_in(folder: Path) -> Path | None:
    """The response's file in a folder of this layout."""
    if not (folder / REQUEST).is_file():
        return None
    return next((folder / name for name in RESPONSES if (folder / name).is_file()), None)


def belongs(path: Path) -> bool:
    """Whether a file only describes a response in another file of its folder."""
    if path.name.endswith(EXPECTATION):
        return path.with_name(path.name.removesuffix(EXPECTATION) + ".flow").is_file()
    return path.name in _BESIDE and response_in(path.parent) is not None


def is_response(path: Path) -> bool:
    """Whether a file is the response of a folder of this layout."""
    return path.name in RESPONSES and response_in(path.parent) == path


def read(response: Path, source: str) -> Exchange:
    """The exchange in the folder of `response`. Raises `OSError`."""
    folder = response.parent
    manifest = _json(folder / MANIFEST)
    headers = read_headers(_json(folder / _RESPONSE_HEADERS))
    if not header(headers, "content-type"):
        headers = (("content-type", RESPONSES[response.name]), *headers)
    body = response.read_bytes()
    status = json_access.integer(json_access.get(manifest, "status"))
    started, broken = json_access.get(manifest, "started"), json_access.text(json_access.get(manifest, "broken"))
    return Exchange.of(
        source=source,
        method=str(json_access.get(manifest, "method") or "POST"),
        url=str(json_access.get(manifest, "url") or ""),
        request_headers=read_headers(_json(folder / _REQUEST_HEADERS)),
        request_body=(folder / REQUEST).read_bytes(),
        status=status if isinstance(status, int) else 200,
        reason=str(json_access.get(manifest, "reason") or ""),
        response_headers=headers,
        body=body,
        began=float(started) if isinstance(started, int | float) else 0.0,
        chunks=timed(body, chunk_table(json_access.get(manifest, "chunks"), len(body))),
        broken=broken if isinstance(broken, str) else None,
    )


def files_of(exchange: Exchange) -> dict[str, bytes]:
    """The files of the folder that keeps an exchange, by name."""
    chunks: Json = [[when, len(data)] for when, data in exchange.timed_chunks]
    kind = exchange.facts.content_type.partition(";")[0].strip().lower()
    name = next((name for name, content_type in RESPONSES.items() if content_type == kind), None)
    manifest: dict[str, Json] = {
        "version": VERSION,
        "method": exchange.method,
        "url": exchange.url,
        "status": exchange.facts.status,
    }
    manifest |= {"reason": exchange.reason} if exchange.reason else {}
    manifest |= {"started": exchange.began} if exchange.began else {}
    manifest |= {"broken": exchange.broken} if exchange.broken is not None else {}
    manifest |= {"chunks": chunks} if chunks else {}
    return {
        REQUEST: exchange.request_body,
        name or ("response.ndjson" if "ndjson" in kind or "jsonl" in kind else "response.json"): exchange.body,
        _REQUEST_HEADERS: _written(exchange.request_headers),
        _RESPONSE_HEADERS: _written(exchange.response_headers),
        MANIFEST: encoded(manifest) + b"\n",
    }


def _json(path: Path) -> Json:
    return parse(path.read_bytes()) if path.is_file() else ABSENT


def _written(headers: Headers) -> bytes:
    listed = listed_headers(headers).items()
    return encoded({name: values[0] if len(values) == 1 else values for name, values in listed}) + b"\n"
