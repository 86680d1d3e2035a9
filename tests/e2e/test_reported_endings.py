"""What is told of how an answer ended for the client, by whom, and of what was done behind its last event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.samples import JSON, openai_chat
from tests.e2e.harness.script import Break, Gate, Response, Send, Wait, event_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

type JsonLine = dict[str, Any]


class Asking:
    """A proxy that tells JSON lines, and what it tells of one answer after the other."""

    def __init__(self, proxies: Proxies, upstream: Upstream, name: str, **options: str | Sequence[str]) -> None:
        self.tap = proxies.tap(name)
        self.proxy: Mitmdump = proxies.get("regular", toolstream_jsonl=str(self.tap.path), **options)
        self._upstream = upstream

    def end(
        self, planned: Response, second: Response | None = None, chunks: int | None = None
    ) -> tuple[bytes, JsonLine]:
        """What came of an answer (so many pieces of it, then the client leaves), and the record that was told."""
        before = len(self._ends())
        sample = openai_chat("call_1", "Bern")
        plan = self._upstream.plan(planned)
        plan.second_response = second
        came = b""
        with client("h1", route(self.proxy, self._upstream)) as connection:
            reply = connection.request(sample.path, sample.body, plan.headers)
            try:
                while (chunks is None or came.count(b"data:") < chunks) and (chunk := reply.next_chunk()):
                    came += chunk
            except BrokenOffError:
                came += b"BROKEN"
            if chunks is not None:
                reply.leave()
            told: JsonLine = self.tap.wait_for(lambda one: one["type"] == "end", before + 1)[before]["record"]
        return came, told

    def _ends(self) -> list[JsonLine]:
        return [one for one in self.tap.lines if one["type"] == "end"]


CHAT = openai_chat("call_1", "Bern").chunks
BROKEN_OFF = [{"name": "cut-off-call", "message": "the connection was closed so that the client sees an error"}]
IN_ORDER = [{"name": "unterminated-body", "message": "the response was terminated normally for the client"}]


def test_a_repair_that_breaks_or_ends_is_told_as_one(proxies: Proxies, plain: Upstream) -> None:
    """In the record, in the log, and where mitmproxy tells how a flow broke off."""
    asking = Asking(proxies, plain, "ends", toolstream_repair="safe", flow_detail="1")
    mark = len(asking.proxy.output)
    came, told = asking.end(event_stream(CHAT[:3]))
    assert came.endswith(b"BROKEN")
    assert (told["notes"], told["broken"], told["faults"]) == (BROKEN_OFF, None, [])
    asking.proxy.wait_for("cut-off-call: the connection was closed so that the client sees an error", after=mark)
    asking.proxy.wait_for("cut by toolstream_repair: cut-off-call", after=mark)
    assert not any("toolstream_fault" in line for line in asking.proxy.output)
    came, told = asking.end(Response((*map(Send, CHAT), Break.CLOSE)))
    assert came == b"".join(CHAT)
    assert told["notes"] == IN_ORDER
    asking.proxy.wait_for("unterminated-body: the response was terminated normally for the client", after=mark)
    assert asking.end(event_stream(CHAT))[1]["notes"] == []


def test_what_upstream_broke_is_no_repair(proxies: Proxies, plain: Upstream) -> None:
    """Nor what nobody mends."""
    asking = Asking(proxies, plain, "ends2", toolstream_repair="safe")
    assert asking.end(Response((*map(Send, CHAT[:3]), Break.CLOSE)))[1]["notes"] == []
    looking = Asking(proxies, plain, "ends3")
    assert looking.end(event_stream(CHAT[:3]))[1]["notes"] == []


def test_a_client_that_has_heard_everything_breaks_nothing(proxies: Proxies, plain: Upstream) -> None:
    """One that leaves before does."""
    asking = Asking(proxies, plain, "ends3")
    never = Gate()
    events = sum(chunk.count(b"data:") for chunk in CHAT)
    told = asking.end(Response((*map(Send, CHAT), Wait(never))), chunks=events)[1]
    assert (told["ended"], told["broken"], told["findings"]) == (True, None, [])
    told = asking.end(Response((*map(Send, CHAT[:2]), Wait(never))), chunks=2)[1]
    assert "client" in told["broken"].lower()
    never.open()


@pytest.mark.parametrize("spec", ["stall:ms=10,at=before-done", "hold-open:ms=10", "drip:ms=1"])
def test_faults_at_the_end_are_counted(proxies: Proxies, plain: Upstream, spec: str) -> None:
    """Also where the last event comes from a repair."""
    asking = Asking(proxies, plain, f"ends {spec}", toolstream_repair="safe", toolstream_fault=spec)
    for chunks in (CHAT, CHAT[:-1]):
        came, told = asking.end(event_stream(chunks))
        assert came.endswith(b"[DONE]\n\n")
        assert told["faults"][0]["changes"] > 0


EMPTY = tuple(chunk for chunk in CHAT if b'"tool_calls": [' not in chunk)


def test_recovered_calls_are_calls(proxies: Proxies, plain: Upstream) -> None:
    """Shown and counted, at the event that they were put before."""
    asking = Asking(proxies, plain, "ends4", toolstream_repair="safe,missing-calls")
    mark = len(asking.proxy.output)
    whole = json.dumps(openai_chat("call_1", "Bern").unstreamed_response).encode()
    _, told = asking.end(event_stream(EMPTY), Response((Send(whole),), content_type=JSON))
    [call] = told["calls"]
    assert (call["name"], call["arguments"], call["complete"]) == ("get_weather", '{"city": "Bern"}', True)
    assert told["changes"] == ["missing-calls"]
    asking.proxy.wait_for(r" \d+ events?, 1 call, .*1 event repaired \(missing-calls\)", after=mark)


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (Response((Send(b"{}"),), status=529, content_type=JSON), "the response has status 529"),
        (Response((Send(b"<html>"),), content_type="text/html"), "the response is not JSON"),
    ],
)
def test_a_second_request_that_fails_says_why(proxies: Proxies, plain: Upstream, second: Response, why: str) -> None:
    """In the record too."""
    asking = Asking(proxies, plain, "ends4", toolstream_repair="safe,missing-calls")
    _, told = asking.end(event_stream(EMPTY), second)
    [note] = told["notes"]
    assert note == {"name": "missing-calls", "message": f"the request was repeated without success: {why}"}
    assert told["calls"] == []


def test_destream_says_what_it_cannot_stream(proxies: Proxies, plain: Upstream) -> None:
    """And passes it on; a stream that came although none was asked for is one."""
    proxy = proxies.get(toolstream_shape="destream")
    sample = openai_chat("call_1", "Bern")
    for body, kind, said in (
        (b"<html>", "text/html", "it is not JSON"),
        (sample.unstreamed_response_body[:-9], JSON, "it is not JSON"),
        (b'{"other": 1}', JSON, "it is not a response of openai-chat"),
        (b"".join(sample.chunks), sample.content_type, "but received a stream"),
    ):
        mark = len(proxy.output)
        plan = plain.plan(Response((Send(body),), content_type=kind))
        with client("h1", route(proxy, plain)) as connection:
            reply = connection.request(sample.path, sample.body, plan.headers)
            assert reply.rest() == body
        proxy.wait_for(said, after=mark)


def test_what_was_mended_is_named_in_the_short_log_too(proxies: Proxies, plain: Upstream) -> None:
    """In its one line on the whole."""
    proxy = proxies.get(toolstream_log="calls", toolstream_repair="safe")
    mark = len(proxy.output)
    sample = openai_chat("call_1", "Bern")
    plan = plain.plan(event_stream(sample.chunks[:-1]))
    with client("h1", route(proxy, plain)) as connection:
        connection.request(sample.path, sample.body, plan.headers).rest()
    proxy.wait_for(r"1 event repaired \(missing-done\)", after=mark)
