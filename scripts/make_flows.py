#!/usr/bin/env python3
"""Writes flows/ from the wire texts in scripts/flowsrc/. Knows mitmproxy's flow files, and our form of expectations.

    scripts/make_flows.py           write what has changed
    scripts/make_flows.py --check   write nothing; tell the difference and exit 1 where there is one

How a wire text is written stands in flowsrc/wiretext.py.
"""

from __future__ import annotations

import argparse
import difflib
import io
import json
import sys
import uuid
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mitmproxy import connection, http
from mitmproxy.exceptions import FlowReadException
from mitmproxy.io import FlowReader, FlowWriter

from flowsrc.wiretext import Source, Turn, read_source
from toolstream_core.fixtures.expectation import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SOURCES = Path(__file__).resolve().parent / "flowsrc"
TARGET = Path(__file__).resolve().parents[1] / "flows"
EXPECT_VERSION = 1
CHUNKS_VERSION = 1
"""Of `flow.metadata["toolstream"]`: `{"version": 1, "chunks": [[ms since the first byte, bytes], …]}`."""

_INTRO = """\
# Saved flows

Answers of LLM providers in mitmproxy's own format, each beside what a reader has to find in it
(`.expect.json`). Look at one: `mitmproxy -r flows/glm-5.flow`, `toolstream inspect flows/glm-5.flow`. Let one
answer a client: `mitmdump -s addon/toolstream.py --set toolstream_provider=flows/glm-5.flow`.

Written by `scripts/make_flows.py` from the wire texts in `scripts/flowsrc/`; none was copied from anybody's
traffic, and none holds a key. Where the chunks were cut and when they came is in each flow's metadata.

| file | protocol | model | answers | what it shows | where it comes from |
|---|---|---|---|---|---|
"""


def flow_of(source: Source, number: int) -> http.HTTPFlow:
    """The flow of one exchange. Everything in it is fixed by the source, ids too."""
    turn = source.turns[number]
    url = urlsplit(turn.url)
    port = url.port or {"http": 80, "https": 443}[url.scheme]
    tls = url.scheme == "https"
    assert url.hostname
    names = [str(uuid.uuid5(uuid.NAMESPACE_URL, f"{source.name}#{number}/{part}")) for part in "fcs"]
    client = connection.Client(
        peername=("127.0.0.1", 50000 + number),
        sockname=("127.0.0.1", 8080),
        id=names[1],
        tls=tls,
        timestamp_start=turn.started,
    )
    server = connection.Server(address=(url.hostname, port), id=names[2], tls=tls, timestamp_start=turn.started)
    flow = http.HTTPFlow(client, server)
    flow.id = names[0]
    flow.timestamp_created = turn.started
    flow.request = _request(turn, url.hostname, port, url.scheme)
    flow.response = _response(turn)
    sizes = [[when, len(sent)] for when, sent in turn.chunks]
    flow.metadata["toolstream"] = {"version": CHUNKS_VERSION, "chunks": sizes}
    return flow


def _request(turn: Turn, host: str, port: int, scheme: str) -> http.Request:
    headers = turn.request_headers.copy()
    headers["content-length"] = str(len(turn.request_body))
    url = urlsplit(turn.url)
    return http.Request(
        host,
        port,
        turn.method.encode(),
        scheme.encode(),
        b"",
        f"{url.path}?{url.query}".removesuffix("?").encode(),
        b"HTTP/1.1",
        headers,
        turn.request_body,
        None,
        turn.started,
        turn.started,
    )


def _response(turn: Turn) -> http.Response:
    begun = turn.started + turn.first_byte / 1000
    return http.Response(
        b"HTTP/1.1",
        turn.status,
        HTTPStatus(turn.status).phrase.encode(),
        turn.response_headers.copy(),
        b"".join(sent for _, sent in turn.chunks),
        None,
        begun,
        begun + turn.chunks[-1][0] / 1000,
    )


def flow_file(source: Source) -> bytes:
    """The bytes of a source's flow file."""
    written = io.BytesIO()
    writer = FlowWriter(written)
    for number in range(len(source.turns)):
        writer.add(flow_of(source, number))
    return written.getvalue()


def expect_file(source: Source) -> bytes:
    """What has to be read from it, in the same order."""
    document = {"version": EXPECT_VERSION, "answers": [turn.expected for turn in source.turns]}
    return dumps(loads(json.dumps(document), source.name)).encode()


def readme(sources: list[Source]) -> bytes:
    """The table of what there is."""
    return (_INTRO + "".join(_row(source) for source in sources)).encode()


def _row(source: Source) -> str:
    first = source.turns[0].expected
    answers = ", ".join(_answer(turn.expected) for turn in source.turns)
    cells = (
        f"`{source.name}.flow`",
        first["dialect"],
        f"`{first['model']}`",
        answers,
        source.about,
        source.origin,
    )
    return f"| {' | '.join(cells)} |\n"


def _answer(expected: Mapping[str, Any]) -> str:
    names = [f"`{call['name']}`" for call in expected["calls"]]
    return " + ".join(names) or "text"


def files() -> dict[Path, bytes]:
    """Everything that is written, by path."""
    sources = [read_source(path) for path in sorted(SOURCES.glob("*.txt"))]
    made = {TARGET / "README.md": readme(sources)}
    for source in sources:
        made[TARGET / f"{source.name}.flow"] = flow_file(source)
        made[TARGET / f"{source.name}.expect.json"] = expect_file(source)
    return made


def drift(made: Mapping[Path, bytes]) -> Iterator[str]:
    """The lines that tell how what is there differs from what would be written; none where it does not."""
    for path, wanted in made.items():
        there = path.read_bytes() if path.exists() else b""
        if there != wanted:
            name = f"{path.parent.name}/{path.name}"
            yield from difflib.unified_diff(
                _lines(path, there), _lines(path, wanted), name, f"{name} as it would be written"
            )


def _lines(path: Path, content: bytes) -> list[str]:
    """A file for people. Flows are told by field, without the version that each mitmproxy stamps on them."""
    if path.suffix != ".flow":
        return content.decode().splitlines(keepends=True)
    try:
        flows = list(FlowReader(io.BytesIO(content)).stream())
    except FlowReadException as error:
        return [f"not a flow file: {error}\n"]
    return [line for at, flow in enumerate(flows) for line in _fields(f"#{at}", flow.get_state())]


def _fields(name: str, value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "version" or not isinstance(inner, int) or "metadata" in name:
                yield from _fields(f"{name}.{key}", inner)
        return
    lines = value.splitlines(keepends=True) if isinstance(value, bytes) else [value]
    yield from (f"{name} = {line!r}\n" for line in lines)


def main() -> int:
    """Write, or check."""
    return write_or_check((__doc__ or "").partition(". ")[0], files())


def write_or_check(about: str, made: Mapping[Path, bytes]) -> int:
    """Write the files, or with `--check` on the command line tell how those that are there differ."""
    parser = argparse.ArgumentParser(description=f"{about}.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where anything differs")
    if parser.parse_args().check:
        differences = list(drift(made))
        sys.stderr.writelines(differences)
        return 1 if differences else 0
    for path, content in made.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
