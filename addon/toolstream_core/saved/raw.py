"""A response body in a file of its own: bare, as `curl --no-buffer` prints it, or inside other text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.finish import MISSING_DONE
from toolstream_core.defects.framing import JOINED_EVENTS
from toolstream_core.model import ABSENT, Note, StreamFacts
from toolstream_core.redact import request_secrets
from toolstream_core.saved.exchange import Exchange, RefusedError
from toolstream_core.saved.unwrap.lines import Lines, decoded
from toolstream_core.saved.unwrap.reading import is_bare, is_settled, unwrapped
from toolstream_core.saved.unwrap.refusals import refusal
from toolstream_core.wire.aws_event_stream import MESSAGES
from toolstream_core.wire.coding import CodingError, Decoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.model import Json
    from toolstream_core.saved.byte_source import ByteSource
    from toolstream_core.saved.unwrap.reading import Unwrapped


_OF_OBJECTS: Final = frozenset({MISSING_DONE.code})
"""Objects without their framing have no [DONE]."""
_NOTHING: Final[frozenset[str]] = frozenset()
_OPENING: Final = (b"{", b"[")
# Only what the name says for sure: a `.txt` may be anything, and the first bytes tell.
_TYPES = {
    ".sse": "text/event-stream",
    ".ndjson": "application/x-ndjson",
    ".jsonl": "application/x-ndjson",
    ".eventstream": MESSAGES,
    ".json": "application/json",
}


def response(chunks: Iterable[bytes], source: str, *, coding: str = "", request: Json = ABSENT) -> Exchange:
    """The one response that a bare body is."""
    return Exchange(
        facts=StreamFacts(
            source=source, content_type=_TYPES.get(suffix(source), ""), content_encoding=coding, request=request
        ),
        chunks=chunks,
    )


def responses(
    source_bytes: ByteSource, source: str, *, coding: str = "", request: Json = ABSENT, removed: Sequence[Note] = ()
) -> Iterator[Exchange]:
    """The responses in a file without a container format: the file's body, or the streams inside its text.

    `removed` are the layers that were undone before. Raises `UnreadableError`.
    """

    def bare() -> Exchange:
        exchange = response(source_bytes, source, coding=coding, request=request)
        return replace(
            exchange, unwrapped=list(removed), lost=_OF_OBJECTS if lead.lstrip()[:1] in _OPENING else _NOTHING
        )

    lead = next(_plain(source_bytes, coding), b"")
    if why := refusal(lead, ()):
        raise RefusedError(why)
    if b"\0" in lead or is_bare(
        Lines(decoded(_plain(source_bytes.look(), coding)), is_settled if source_bytes.live else None)
    ):
        yield bare()
        return
    source_bytes.keep()
    lines = Lines(decoded(_plain(source_bytes, coding)))
    number = 0
    for number, one in enumerate(unwrapped(lines), 1):
        if one.bare:
            yield bare()
            return
        yield _saved(one, f"{source}#{number}" if number > 1 else source, request, removed)
    if not number:
        if why := refusal(lead, lines.head):
            raise RefusedError(why)
        yield bare()


def _saved(unwrapped_: Unwrapped, source: str, request: Json, removed: Sequence[Note]) -> Exchange:
    message = unwrapped_.message
    unwrapped_.removed[:0] = removed
    facts = StreamFacts(
        source=source,
        host=message.host,
        path=message.path,
        content_type=message.headers.get("content-type") or unwrapped_.content_type,
        status=message.status or 200,
        request=request if request is not ABSENT else unwrapped_.request,
    )
    why = "the blank line before an event is missing, or two events share a data line"
    return Exchange(
        facts=facts,
        chunks=unwrapped_.chunks,
        secrets=request_secrets(message.request_headers.items(), message.path),
        unwrapped=unwrapped_.removed,
        lost=_OF_OBJECTS if unwrapped_.objects else _NOTHING,
        findings=() if unwrapped_.joined is None else (JOINED_EVENTS.found(unwrapped_.joined, why),),
    )


def body_of(saved: Exchange) -> bytes:
    """The complete body, its content coding undone."""
    return b"".join(_plain(saved.chunks, saved.facts.content_encoding))


def _plain(chunks: Iterable[bytes], coding: str) -> Iterator[bytes]:
    """The bytes without their content coding, as far as it can be undone."""
    decoder = Decoder(coding)
    for chunk in chunks:
        try:
            yield decoder.decode(chunk)
        except CodingError:
            return


def suffix(path: str) -> str:
    """The ending of a file's name that shows its format, without `.gz`."""
    name = PurePath(path)
    return (name.with_suffix("") if name.suffix.lower() == ".gz" else name).suffix.lower()
