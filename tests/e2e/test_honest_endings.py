"""Truncated responses: with a repair, an incomplete call ends with a disconnect, and a complete response normally."""

from __future__ import annotations

import gzip
import json
import ssl
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest

from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.script import Break, Framing, Response, Send, event_stream
from tests.stages.repair.test_incomplete_calls import ENDINGS, Ending, compact

if TYPE_CHECKING:
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.script import Step
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

CHAT = openai_chat("call_1", "Bern")
INCOMPLETE = CHAT.chunks[:3]
CARRIERS = pytest.mark.parametrize("version", ["h1", "h2"])


def read(
    proxy: Mitmdump,
    upstream: Upstream,
    version: str,
    planned: Response,
    *,
    path: str = CHAT.path,
    body: bytes = CHAT.body,
) -> tuple[bytes, bool]:
    """The received bytes of a response, and whether it ended normally."""
    plan = upstream.plan(planned)
    with client(version, route(proxy, upstream)) as connection:
        reply = connection.request(path, body, plan.headers)
        received = b""
        try:
            while chunk := reply.next_chunk():
                received += chunk
        except BrokenOffError:
            return received, False
        return received, True


@CARRIERS
@pytest.mark.parametrize("framing", [Framing.CHUNKED, Framing.LENGTH, Framing.CLOSE])
def test_an_incomplete_call_ends_with_a_disconnect(
    proxies: Proxies, repairing: Mitmdump, secure: Upstream, version: str, framing: Framing
) -> None:
    """If upstream ends normally inside the arguments, the client's stream ends normally only without the repair."""
    planned = event_stream(INCOMPLETE, framing=framing)
    assert read(proxies.get(), secure, version, planned) == (b"".join(INCOMPLETE), True)
    assert read(repairing, secure, version, planned) == (b"".join(INCOMPLETE), False)
    assert read(repairing, secure, version, event_stream(CHAT.chunks)) == (b"".join(CHAT.chunks), True)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.protocol)
def test_an_incomplete_call_with_a_finish_reason_ends_with_a_disconnect(
    proxies: Proxies, repairing: Mitmdump, secure: Upstream, ending: Ending
) -> None:
    """A finish reason that claims complete calls is withheld; a length limit and an error are forwarded."""
    exchange, version = ending.exchange, "h1"
    request: Any = {"path": exchange.path, "body": json.dumps(exchange.request).encode()}

    def planned(*parts: list[Any]) -> Response:
        return Response((Send(ending.body(*parts)),), content_type=exchange.content_type)

    claimed = planned(ending.incomplete, ending.normal_end)
    assert read(proxies.get(), secure, version, claimed, **request) == (claimed.body, True)
    received, ended = read(repairing, secure, version, claimed, **request)
    assert compact(received) == compact(ending.body(ending.incomplete, ending.forwarded))
    assert not ended
    for end in (ending.limit_end, ending.error):
        response = planned(ending.incomplete, end)
        assert read(repairing, secure, version, response, **request) == (response.body, True)


@CARRIERS
@pytest.mark.parametrize("how", Break)
@pytest.mark.parametrize("framing", [Framing.CHUNKED, Framing.LENGTH])
def test_a_complete_response_ends_normally(
    proxies: Proxies, repairing: Mitmdump, secure: Upstream, version: str, how: Break, framing: Framing
) -> None:
    """If upstream disconnects after the last event, the repair ends the response normally."""
    steps: list[Step] = [*map(Send, CHAT.chunks), how]
    planned = Response(tuple(steps), framing=framing)
    received, ended = read(proxies.get(), secure, version, planned)
    assert not ended
    if how is Break.CLOSE:
        assert received == b"".join(CHAT.chunks)
        assert read(repairing, secure, version, planned) == (b"".join(CHAT.chunks), True)
        repairing.wait_for("TS303 unterminated-body")


@CARRIERS
def test_a_disconnect_inside_a_call_is_forwarded(repairing: Mitmdump, secure: Upstream, version: str) -> None:
    """If upstream disconnects inside a call, so does the repairing proxy."""
    steps: list[Step] = [*map(Send, INCOMPLETE), Break.CLOSE]
    assert read(repairing, secure, version, Response(tuple(steps))) == (b"".join(INCOMPLETE), False)


def test_the_openai_sdk_sees_the_disconnect(proxies: Proxies, repairing: Mitmdump, secure: Upstream) -> None:
    """The openai SDK returns an incomplete call if the stream ends normally, and raises at a disconnect."""

    def arguments(proxy: Mitmdump, planned: Response) -> object:
        plan = secure.plan(planned)
        context = ssl.create_default_context(cafile=proxy.ca)
        with httpx2.Client(proxy=proxy.url, verify=context) as http:
            sdk = openai.OpenAI(
                api_key="none",
                base_url=f"{secure.url}/v1",
                http_client=http,
                max_retries=0,
                default_headers=plan.headers,
            )
            chunks = sdk.chat.completions.create(
                model="gpt-test", messages=[{"role": "user", "content": "weather?"}], stream=True
            )
            calls = [
                call.function.arguments or ""
                for chunk in chunks
                for call in chunk.choices[0].delta.tool_calls or []
                if call.function
            ]
            return "".join(calls)

    incomplete = arguments(proxies.get(), event_stream(INCOMPLETE))
    assert isinstance(incomplete, str)
    with pytest.raises(ValueError, match="line 1"):
        json.loads(incomplete)
    with pytest.raises((httpx2.HTTPError, openai.APIError)):
        arguments(repairing, event_stream(INCOMPLETE))
    broken = Response((*map(Send, CHAT.chunks), Break.CLOSE))
    assert arguments(repairing, broken) == '{"city": "Bern"}'


@CARRIERS
def test_a_broken_coding_ends_with_a_disconnect(
    proxies: Proxies, repairing: Mitmdump, secure: Upstream, version: str
) -> None:
    """The client gets the decodable part of the body without a coding, then a disconnect."""
    packed = gzip.compress(b"".join(CHAT.chunks))
    planned = Response(
        (Send(packed[: len(packed) // 2]), Send(b"no more of it")), headers=(("content-encoding", "gzip"),)
    )
    assert read(proxies.get(), secure, version, planned) == (planned.body, True)
    received, ended = read(repairing, secure, version, planned)
    assert b"".join(CHAT.chunks).startswith(received)
    assert not ended
    repairing.wait_for("TS004 unreadable-body")
