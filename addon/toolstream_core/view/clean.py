"""A saved response without its secrets, redacted as captures are: each secret becomes as many `*`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from toolstream_core.model import ABSENT, Json
from toolstream_core.redact import redacted
from toolstream_core.redaction import Redaction, redacted_body, redacted_path
from toolstream_core.saved.exchange import Cut, Exchange
from toolstream_core.wire.body import BodyDecoder
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded


def decoded(saved: Exchange) -> Exchange:
    """The same response with its chunks at hand and without a content coding, where that can be undone."""
    chunks = list(saved.chunks)
    decoder = BodyDecoder(saved.facts.content_encoding)
    plain = [decoder.decode(chunk) for chunk in chunks]
    if decoder.failure is not None:
        return replace(saved, chunks=chunks)
    if rest := decoder.decode(b""):
        plain.append(rest)
    times = [*saved.times, *saved.times[-1:]] if len(plain) > len(chunks) else saved.times
    return replace(saved, chunks=plain, times=times, facts=replace(saved.facts, content_encoding=""))


def without_secrets(saved: Exchange) -> Exchange:
    """As `decoded`, with secrets overwritten in the request, in both bodies and in what is reported on the response."""
    plain, hide = decoded(saved), partial(redacted, secrets=saved.secrets)
    body = redacted_body(b"".join(plain.chunks), known=saved.secrets)
    exchange = replace(
        plain.facts,
        path=redacted_path(plain.facts.path, Redaction(), saved.secrets),
        request=_without(plain.facts.request, saved.secrets),
    )
    sent = None if saved.sent is None else redacted_body(saved.sent, known=saved.secrets)
    return replace(
        plain,
        facts=exchange,
        chunks=[*Cut(body, [*map(len, plain.chunks)])],
        sent=sent,
        broken=None if saved.broken is None else hide(saved.broken),
        findings=[one._replace(message=hide(one.message)) for one in saved.findings],
    )


def _without(request: Json, secrets: tuple[str, ...]) -> Json:
    if request is ABSENT:
        return request
    return parse(redacted_body(encoded(request), known=secrets))
