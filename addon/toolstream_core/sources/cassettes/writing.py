"""Writes a cassette as vcrpy reads it. Every value is quoted, so that YAML 1.1 and 1.2 read the same."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.sources.interaction import Headers, Interaction

_PLAIN = re.compile(r"[\x20-\x7e\n]*\Z")
# The first line of a block says how far it is indented, and a tool may strip spaces at the ends of lines.
_NO_BLOCK = re.compile(r"\A[\s]|[ \t]$", re.MULTILINE)
_PAIR = re.compile(r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")
_CODING = ("content-encoding",)


def cassette(interactions: Iterable[Interaction]) -> bytes:
    """The bytes of a `.yaml` file."""
    entries = [line for one in interactions for line in _interaction(one)]
    return "\n".join(["interactions:" if entries else "interactions: []", *entries, "version: 1", ""]).encode()


def _interaction(one: Interaction) -> Iterator[str]:
    yield "- request:"
    yield f"    body: {_body(one.request_body, 6)}"
    yield from _headers(one.request_headers, "    ")
    yield f"    method: {_quoted(one.method)}"
    yield f"    uri: {_quoted(one.url)}"
    yield "  response:"
    yield "    body:"
    yield f"      string: {_body(one.body, 8)}"
    yield from _headers(one.response_headers, "    ")
    yield "    status:"
    yield f"      code: {one.status}"
    yield f"      message: {_quoted(one.reason)}"


def _headers(headers: Headers, indent: str) -> Iterator[str]:
    values: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower() not in _CODING:
            values.setdefault(name, []).append(value)
    if not values:
        yield f"{indent}headers: {{}}"
        return
    yield f"{indent}headers:"
    for name, listed in values.items():
        yield f"{indent}  {_quoted(name)}:"
        yield from (f"{indent}  - {_quoted(value)}" for value in listed)


def _body(body: bytes, indent: int) -> str:
    """A block of lines where that is exact, else one quoted string; what is not UTF-8 as `!!binary`."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        import base64  # noqa: PLC0415 - most bodies are text

        return f'!!binary "{base64.b64encode(body).decode()}"'
    if "\n" not in text or not _PLAIN.match(text) or _NO_BLOCK.search(text):
        return _quoted(text)
    margin = "\n" + " " * indent
    lines = text.removesuffix("\n").split("\n")
    chomp = "+" if text.endswith("\n") else "-"
    return f"|{chomp}" + "".join(f"{margin}{line}" if line else "\n" for line in lines)


def _quoted(text: str) -> str:
    """As JSON, which is YAML but for characters that JSON writes as two surrogates."""
    return _PAIR.sub(lambda pair: f"\\U{ord(json.loads(f'"{pair[0]}"')):08x}", json.dumps(text))
