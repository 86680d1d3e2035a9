"""Answers that end as they should not: half a call never ends in order, and a whole answer always does."""

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
HALF = CHAT.chunks[:3]
CARRIERS = pytest.mark.parametrize("version", ["h1", "h2"])


@pytest.fixture(scope="module")
def repairing(proxies: Proxies) -> Mitmdump:
    """A proxy that mends what is safe to mend."""
    return proxies.get(toolstream_repair="safe")


def read(
    proxy: Mitmdump,
    upstream: Upstream,
    version: str,
    planned: Response,
    *,
    path: str = CHAT.path,
    body: bytes = CHAT.body,
) -> tuple[bytes, bool]:
    """What comes of an answer, and whether it ends in order."""
    plan = upstream.plan(planned)
    with client(version, route(proxy, upstream)) as connection:
        reply = connection.request(path, body, plan.headers)
        came = b""
        try:
            while chunk := reply.next_chunk():
                came += chunk
        except BrokenOffError:
            return came, False
        return came, True


@CARRIERS
@pytest.mark.parametrize("framing", [Framing.CHUNKED, Framing.LENGTH, Framing.CLOSE])
def test_half_a_call_ends_as_a_break(
    proxies: Proxies, repairing: Mitmdump, secure: Upstream, version: str, framing: Framing
) -> None:
    """Upstream ended in order inside the arguments: so does the client's stream without the repair, and not with it."""
    planned = event_stream(HALF, framing=framing)
    assert read(proxies.get(), secure, version, planned) == (b"".join(HALF), True)
    assert read(repairing, secure, version, planned) == (b"".join(HALF), False)
    assert read(repairing, secure, version, event_stream(CHAT.chunks)) == (b"".join(CHAT.chunks), True)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.protocol)
def test_half_a_call_that_is_said_to_be_whole_ends_as_a_break(
    proxies: Proxies, repairing: Mitmdump, secure: Upstream, ending: Ending
) -> None:
    """Without the end that said so; an honest end and an error stay."""
    about, version = ending.exchange, "h1"
    told: Any = {"path": about.path, "body": json.dumps(about.request).encode()}

    def planned(*parts: list[Any]) -> Response:
        return Response((Send(ending.body(*parts)),), content_type=about.content_type)

    claimed = planned(ending.incomplete, ending.normal_end)
    assert read(proxies.get(), secure, version, claimed, **told) == (claimed.body, True)
    came, ended = read(repairing, secure, version, claimed, **told)
    assert compact(came) == compact(ending.body(ending.incomplete, ending.forwarded))
    assert not ended
    for end in (ending.limit_end, ending.error):
        said = planned(ending.incomplete, end)
        assert read(repairing, secure, version, said, **told) == (said.body, True)


@CARRIERS
@pytest.mark.parametrize("how", Break)
@pytest.mark.parametrize("framing", [Framing.CHUNKED, Framing.LENGTH])
def test_a_whole_answer_ends_in_order(
    proxies: Proxies, repairing: Mitmdump, secure: Upstream, version: str, how: Break, framing: Framing
) -> None:
    """Upstream broke behind the last event."""
    steps: list[Step] = [*map(Send, CHAT.chunks), how]
    planned = Response(tuple(steps), framing=framing)
    came, whole = read(proxies.get(), secure, version, planned)
    assert not whole
    if how is Break.CLOSE:
        assert came == b"".join(CHAT.chunks)
        assert read(repairing, secure, version, planned) == (b"".join(CHAT.chunks), True)
        repairing.wait_for("TS303 unterminated-body")


@CARRIERS
def test_what_was_not_whole_stays_broken(repairing: Mitmdump, secure: Upstream, version: str) -> None:
    """Upstream broke inside the call."""
    steps: list[Step] = [*map(Send, HALF), Break.CLOSE]
    assert read(repairing, secure, version, Response(tuple(steps))) == (b"".join(HALF), False)


def test_an_sdk_that_does_the_wrong_thing(proxies: Proxies, repairing: Mitmdump, secure: Upstream) -> None:
    """The openai SDK takes half a call for an answer where the stream ends in order, and raises where it breaks."""

    def ask(proxy: Mitmdump, planned: Response) -> object:
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

    half = ask(proxies.get(), event_stream(HALF))
    assert isinstance(half, str)
    with pytest.raises(ValueError, match="line 1"):
        json.loads(half)
    with pytest.raises((httpx2.HTTPError, openai.APIError)):
        ask(repairing, event_stream(HALF))
    broken = Response((*map(Send, CHAT.chunks), Break.CLOSE))
    assert ask(repairing, broken) == '{"city": "Bern"}'


@CARRIERS
def test_a_coding_that_breaks_ends_as_a_break(
    proxies: Proxies, repairing: Mitmdump, secure: Upstream, version: str
) -> None:
    """The client gets what could be decoded, under no coding: its own decoder has nothing to complain of."""
    packed = gzip.compress(b"".join(CHAT.chunks))
    planned = Response(
        (Send(packed[: len(packed) // 2]), Send(b"no more of it")), headers=(("content-encoding", "gzip"),)
    )
    assert read(proxies.get(), secure, version, planned) == (planned.body, True)
    came, ended = read(repairing, secure, version, planned)
    assert b"".join(CHAT.chunks).startswith(came)
    assert not ended
    repairing.wait_for("TS004 unreadable-body")
