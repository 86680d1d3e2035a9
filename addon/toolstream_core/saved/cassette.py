"""Cassettes in YAML or JSON: `interactions` of vcrpy, `http_interactions` of Ruby, documents with `when` and `then`.

vcrpy's are written.

https://vcrpy.readthedocs.io/en/latest/usage.html
https://benoittgt.github.io/vcr/#/cassettes/cassette_format
https://httpmock.rs/record-and-playback/recording/
"""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from toolstream_core.model import Json
from toolstream_core.saved.exchange import (
    Exchange,
    Headers,
    UnreadableError,
    from_base64,
    header,
    listed_headers,
    plain_body,
    read_headers,
)
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded

# The first line of a block shows its indentation, and a tool may strip spaces at the ends of lines.
_BLOCK = re.compile(r"(?!\s)(?:[\x20-\x7e]*(?<! )\n)+(?:[\x20-\x7e]*(?<! ))?\Z")
_NO_BODY = "its body is not in the cassette"
_RIGHT = 'is not a VCR cassette: expected YAML or JSON with "interactions", or with "when" and "then"'


def exchanges(data: bytes, source: str) -> Iterator[Exchange]:
    """Each exchange, named by its place in the file. Raises `UnreadableError`."""
    for number, entry in enumerate(_entries(_documents(data))):
        request, response = json_access.get(entry, "request"), json_access.get(entry, "response")
        if isinstance(request, dict) and isinstance(response, dict):
            yield _exchange(request, response, f"{source}#{number}", _time(json_access.get(entry, "recorded_at")))


def _entries(documents: list[Json]) -> list[Json]:
    first = documents[0] if documents else None
    for key in ("interactions", "http_interactions"):
        if isinstance(entries := json_access.get(first, key), list):
            return entries
    if isinstance(first, dict) and first.keys() >= {"when", "then"}:
        return [*map(_mocked, documents)]
    raise UnreadableError(_RIGHT)


def _mocked(document: Json) -> Json:
    """A document of httpmock as an entry."""
    when, then = json_access.get(document, "when"), json_access.get(document, "then")
    if not isinstance(when, dict) or not isinstance(then, dict):
        return None
    query = urlencode(read_headers(when.get("query_param")))
    request = {"method": when.get("method"), "uri": f"{when.get('path') or ''}{'?' if query else ''}{query}"}
    return {"request": {**request, **_message(when)}, "response": {"status": then.get("status"), **_message(then)}}


def _message(part: Json) -> dict[str, Json]:
    body = {"base64_string": part["body_base64"]} if "body_base64" in part else part.get("body")
    return {"headers": part.get("header"), "body": body}


class _Constructor(SafeConstructor):
    """Builds plain data from every node: recorders have their own tags, and none of them is run."""

    def plain(self, node: Node) -> Json:
        """The text, list or object in a node of an unknown tag."""
        if isinstance(node, ScalarNode):
            return node.value
        if isinstance(node, MappingNode):
            return self.construct_mapping(node, deep=True)
        return self.construct_sequence(node, deep=True)


_Constructor.add_constructor("!binary", SafeConstructor.construct_yaml_binary)
_Constructor.add_constructor(None, _Constructor.plain)


def _documents(data: bytes) -> list[Json]:
    if data.lstrip()[:1] == b"{":
        return [parse(data)]
    yaml = YAML(typ="safe")
    yaml.Constructor = _Constructor
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of repeated anchors
            return [*yaml.load_all(data.decode())]
    except (YAMLError, ValueError, RecursionError) as error:
        why = " ".join(str(getattr(error, "problem", None) or type(error).__name__).split())
        raise UnreadableError(f"{_RIGHT} ({why})") from error


def _exchange(request: Json, response: Json, source: str, recorded: float) -> Exchange:
    headers = read_headers(response.get("headers"))
    status = response.get("status")
    code = json_access.integer(json_access.get(status, "code") if isinstance(status, dict) else status)
    asked_with = read_headers(request.get("headers"))
    return Exchange.of(
        source=source,
        method=str(request.get("method") or "POST").upper(),
        url=str(request.get("uri") or request.get("url") or ""),
        request_headers=asked_with,
        request_body=plain_body(_body(request), header(asked_with[::-1], "content-encoding")),
        status=code if isinstance(code, int) else 200,
        reason=str(json_access.get(status, "message") or "") if isinstance(status, dict) else "",
        response_headers=headers,
        body=plain_body(_body(response), header(headers, "content-encoding")),
        began=recorded,
        missing=_NO_BODY,
    )


def _body(message: Json) -> bytes:
    """The body, or the JSON that pydantic-ai's recorder has in its place."""
    parsed = message.get("parsed_body")
    return _bytes(message.get("body")) if parsed is None or message.get("body") else _bytes(parsed)


def _bytes(value: Json) -> bytes:
    """A text, bytes, or an object with them: `string`, `base64_string`, or parsed JSON."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if not isinstance(value, dict):
        return b""
    coded = value.get("base64_string", value.get("string") if value.get("encoding") == "base64" else None)
    if isinstance(coded, str | bytes):
        return from_base64(coded)
    if "string" in value or "encoding" in value:
        return _bytes(value.get("string"))
    if isinstance(value.get("state"), list):  # a file of Python's, as vcrpy keeps what httpx streams
        return _bytes(json_access.get(value, "state", 0))
    try:
        return encoded(value)
    except (TypeError, ValueError, RecursionError):  # YAML has more than JSON: dates, sets, circles
        return b""


def _time(value: Json) -> float:
    try:
        return parsedate_to_datetime(value).timestamp() if isinstance(value, str) else 0.0
    except ValueError:
        return 0.0


def cassette(exchanges: Iterable[Exchange]) -> bytes:
    """The bytes of a `.yaml` file, as vcrpy reads it. Texts are quoted: YAML 1.1 and 1.2 read them alike."""
    yaml = YAML()
    yaml.width = sys.maxsize
    out = io.BytesIO()
    yaml.dump({"interactions": [_entry(one) for one in exchanges], "version": 1}, out)
    return out.getvalue()


def _entry(exchange: Exchange) -> dict[str, Any]:
    return {
        "request": {
            "body": _written(exchange.request_body),
            "headers": _listed(exchange.request_headers),
            "method": DoubleQuotedScalarString(exchange.method),
            "uri": DoubleQuotedScalarString(exchange.url),
        },
        "response": {
            "body": {"string": _written(exchange.body)},
            "headers": _listed(exchange.response_headers),
            "status": {"code": exchange.facts.status, "message": DoubleQuotedScalarString(exchange.reason)},
        },
    }


def _listed(headers: Headers) -> dict[str, list[str]]:
    quoted = DoubleQuotedScalarString
    return {quoted(name): [*map(quoted, values)] for name, values in listed_headers(headers).items()}


def _written(body: bytes) -> str | bytes:
    """Lines of plain text as a block, other text quoted; bytes that are not UTF-8 as `!!binary`."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    scalar: str = LiteralScalarString(text) if _BLOCK.match(text) else DoubleQuotedScalarString(text)
    return scalar
