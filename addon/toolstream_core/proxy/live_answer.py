"""An answer that passed, until the next request tells what its client made of it. Knows mitmproxy's flow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, override

from toolstream_core.model import ABSENT
from toolstream_core.proxy.exchange import secrets_of
from toolstream_core.verdict.answer import SentAnswer, dropped

if TYPE_CHECKING:
    from mitmproxy import http

    from toolstream_core.delivery.sent_bytes import SentBytes
    from toolstream_core.model import Exchange, Record
    from toolstream_core.proxy.heading import Heading


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveAnswer(SentAnswer):
    """An answer that passed, as long as a request may follow."""

    heading: Heading
    exchange: Exchange
    """Without the request."""
    body: bytes | None
    """The bytes as the client got them, where they are kept."""
    broken: str | None
    """How the connection broke, where it did."""
    client: str
    """What tells clients apart: the address and the user agent."""
    secrets: tuple[str, ...]

    @property
    @override
    def size(self) -> int:
        return super(LiveAnswer, self).size + len(self.body or b"")  # classes with slots need the long form


def live_answer(
    flow: http.HTTPFlow, record: Record, sent: SentBytes, heading: Heading, broken: str | None
) -> LiveAnswer:
    """`record` is what the client got, `broken` how that broke."""
    calls = tuple(record.calls)
    agent = flow.request.headers.get("user-agent", "")
    return LiveAnswer(
        calls=calls,
        dropped=dropped(record),
        response=sent.response if calls else "",
        heading=heading,
        exchange=replace(sent.exchange, request=ABSENT),
        body=sent.body if calls else None,
        broken=broken,
        client=f"{flow.client_conn.peername[0]} {agent}",
        secrets=secrets_of(flow.request),
    )
