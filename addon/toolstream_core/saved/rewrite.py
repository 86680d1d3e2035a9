"""Saved answers written again with other bodies, in the format in which they came. Knows formats, not protocols."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from toolstream_core.model import ABSENT
from toolstream_core.saved import cassette, har
from toolstream_core.saved.demo import located
from toolstream_core.saved.exchange import UnreadableError, saved_of
from toolstream_core.saved.files import STDIN, Kind, begun, files
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.model import Json
    from toolstream_core.saved.exchange import Saved


class NewBody(NamedTuple):
    """What an answer becomes."""

    pieces: Sequence[bytes]
    """What each chunk became, decoded, and what comes behind the last."""
    broken: str | None = None
    """How the connection would have broken for the client behind it, where a repair ends the answer as a break."""

    @property
    def body(self) -> bytes:
        """All of it."""
        return b"".join(self.pieces)


type Change = Callable[[Saved], NewBody]
type RewriteFlows = Callable[[BinaryIO, str, Change], bytes]
"""Writes a mitmproxy flow file again; handed in, because this package is not the one that knows mitmproxy."""


def pairs(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Each file that `source` means and where it goes: `target` itself, or, for a folder, its place below it."""
    folder = located(source)
    if source == STDIN or not folder.is_dir():
        yield source, target
        return
    for file in files(source):
        yield file, str(Path(target) / located(file).relative_to(folder))


def rewritten(path: str, change: Change, flows: RewriteFlows, request: Json = ABSENT) -> bytes:
    """One file with its answers changed. Raises `UnreadableError`."""
    with begun(path) as file:
        if file.kind is Kind.FLOWS:
            return flows(file.whole(), path, change)
        if file.kind is Kind.HAR:
            return _har(file.whole().read(), path, change)
        if file.kind is Kind.CASSETTE:
            entries = list(cassette.exchanges(file.whole().read(), path))
            return cassette.cassette([replace(one, body=change(saved_of(one)).body) for one in entries])
        return _body(file.bodies(path, request), change)


def _body(found: Iterator[Saved], change: Change) -> bytes:
    """The new body of the one response in a file without a format."""
    body = change(next(found)).body
    if next(found, None) is not None:
        raise UnreadableError("holds several responses; `toolstream extract` makes a flow file of each")
    return body


def _har(data: bytes, path: str, change: Change) -> bytes:
    document = parse(data.removeprefix(b"\xef\xbb\xbf"))
    for number, entry in enumerate(har.entries(document)):
        if not har.has_response(entry):
            continue
        one = har.exchange(entry, f"{path}#{number}")
        if har.MESSAGES in entry and har.put_messages(entry, one, lambda saved: change(saved).pieces):
            continue
        saved = saved_of(one)
        if saved.missing:
            continue
        body = change(saved).body
        if body != b"".join(saved.chunks):
            _put(entry["response"], body)
    return encoded(document)


def _put(response: dict[str, Json], body: bytes) -> None:
    before = response.get("content")
    content = dict(before) if isinstance(before, dict) else {}
    try:
        content.update(text=body.decode(), size=len(body))
        content.pop("encoding", None)
    except UnicodeDecodeError:
        content.update(text=base64.b64encode(body).decode(), size=len(body), encoding="base64")
    response["content"] = content
