"""Streams that are rewritten as they pass: what else has to be right for the client and for the provider."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.harness.changes import DUPLICATES, asked_for, chat_answer, chat_ids, fetched, streamed
from tests.e2e.harness.codings import CODERS
from tests.e2e.harness.lockstep import follow, lockstep
from tests.e2e.harness.proxies import client, way
from tests.e2e.harness.samples import MAKERS, Sample, openai_chat
from tests.e2e.harness.script import answer

if TYPE_CHECKING:
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream
    from toolstream_core.cli.launch import Mitmdump

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def mending(proxies: Proxies) -> Mitmdump:
    """A proxy that mends what is safe to mend."""
    return proxies.get(toolstream_repair="safe")


@pytest.mark.parametrize("coding", CODERS)
@pytest.mark.parametrize("carrier", ["plain-h1", "tls-h1", "tls-h2"])
@pytest.mark.parametrize("dialect", MAKERS)
def test_a_healthy_stream_waits_for_nothing(
    mending: Mitmdump, plain: Upstream, secure: Upstream, dialect: str, carrier: str, coding: str
) -> None:
    """Each event before the next is sent, and the same bytes, but for their coding."""
    sample = MAKERS[dialect]("call_1", "Genève")
    planned, gates = lockstep(sample.pieces, coding=coding, content_type=sample.content_type)
    upstream = plain if carrier == "plain-h1" else secure
    plan = upstream.plan(planned)
    with client(carrier[-2:], way(mending, upstream)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers | {"accept-encoding": "gzip, br"})
        assert not {"content-encoding", "content-length"} & set(reply.headers)
        follow(reply, sample.pieces, gates, "identity")
    assert plan.asked.header("accept-encoding") == "identity"
    assert plan.asked.body == sample.body


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("dialect", DUPLICATES)
def test_made_up_ids_are_the_providers_own_again(
    mending: Mitmdump, secure: Upstream, dialect: str, version: str
) -> None:
    """The client answers to ids that the provider never sent; it gets those that it did send."""
    twice, ids, answered = DUPLICATES[dialect]
    sample = MAKERS[dialect](f"toolcall-{version}", "Bern")
    plan = secure.plan(answer(twice(sample.call_id)))
    following = secure.plan(streamed(MAKERS[dialect]("call_3", "Oslo")))
    with client(version, way(mending, secure)) as connection:
        seen = ids(connection.request(sample.path, sample.body, plan.headers).rest())
        first, second = seen
        assert first == sample.call_id != second
        body = json.dumps({**sample.request, **answered(seen)}, ensure_ascii=False).encode()
        connection.request(sample.path, body, following.headers).rest()
    assert asked_for(following) == {**sample.request, **answered([sample.call_id] * 2)}


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_an_empty_id_is_empty_again(mending: Mitmdump, secure: Upstream, version: str) -> None:
    """The same for a call that opened with id `""`."""
    sample = openai_chat("", f"Bern {version}")
    plan, following = secure.plan(streamed(sample)), secure.plan(streamed(sample))
    with client(version, way(mending, secure)) as connection:
        [made] = chat_ids(connection.request(sample.path, sample.body, plan.headers).rest())
        assert made.startswith("call_")
        body = json.dumps({**sample.request, **chat_answer([made])}).encode()
        connection.request(sample.path, body, following.headers).rest()
    assert asked_for(following) == {**sample.request, **chat_answer([""])}
