"""Reports of how a response ended for the client, who ended it, and which repairs and faults acted at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.samples import JSON, openai_chat
from tests.e2e.harness.script import Break, Gate, Response, Send, Wait, event_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.tap import JsonLine
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e


class ReportingProxy:
    """A proxy that writes JSON lines, and the record of each response."""

    def __init__(self, proxies: Proxies, upstream: Upstream, name: str, **options: str | Sequence[str]) -> None:
        self.tap = proxies.tap(name)
        self.proxy: Mitmdump = proxies.get("regular", toolstream_jsonl=str(self.tap.path), **options)
        self._upstream = upstream

    def end(
        self, planned: Response, second: Response | None = None, chunks: int | None = None
    ) -> tuple[bytes, JsonLine]:
        """Return the received bytes and the record of a response. With `chunks`, disconnect after so many events."""
        before = len(self._ends())
        sample = openai_chat("call_1", "Bern")
        plan = self._upstream.plan(planned)
        plan.second_response = second
        received = b""
        with client("h1", route(self.proxy, self._upstream)) as connection:
            reply = connection.request(sample.path, sample.body, plan.headers)
            try:
                while (chunks is None or received.count(b"data:") < chunks) and (chunk := reply.next_chunk()):
                    received += chunk
            except BrokenOffError:
                received += b"BROKEN"
            if chunks is not None:
                reply.leave()
            record: JsonLine = self.tap.wait_for(lambda line: line["type"] == "end", before + 1)[before]["record"]
        return received, record

    def _ends(self) -> list[JsonLine]:
        return [line for line in self.tap.lines if line["type"] == "end"]


CHAT = openai_chat("call_1", "Bern").chunks
BROKEN_OFF = [{"name": "cut-off-call", "message": "the connection was closed so that the client sees an error"}]
IN_ORDER = [{"name": "unterminated-body", "message": "the response was terminated normally for the client"}]


def test_a_disconnect_or_normal_end_by_a_repair_is_reported(proxies: Proxies, plain: Upstream) -> None:
    """A repair that closes or ends a response is in the record, in the log, and in mitmproxy's own line."""
    reporting = ReportingProxy(proxies, plain, "ends", toolstream_repair="safe", flow_detail="1")
    mark = len(reporting.proxy.output)
    received, record = reporting.end(event_stream(CHAT[:3]))
    assert received.endswith(b"BROKEN")
    assert (record["notes"], record["broken"], record["faults"]) == (BROKEN_OFF, None, [])
    reporting.proxy.wait_for("cut-off-call: the connection was closed so that the client sees an error", after=mark)
    reporting.proxy.wait_for("cut by toolstream_repair: cut-off-call", after=mark)
    assert not any("toolstream_fault" in line for line in reporting.proxy.output)
    received, record = reporting.end(Response((*map(Send, CHAT), Break.CLOSE)))
    assert received == b"".join(CHAT)
    assert record["notes"] == IN_ORDER
    reporting.proxy.wait_for("unterminated-body: the response was terminated normally for the client", after=mark)
    assert reporting.end(event_stream(CHAT))[1]["notes"] == []


def test_an_upstream_disconnect_is_not_reported_as_a_repair(proxies: Proxies, plain: Upstream) -> None:
    """The record has no repair note for upstream's disconnect, and none without repairs."""
    reporting = ReportingProxy(proxies, plain, "ends2", toolstream_repair="safe")
    assert reporting.end(Response((*map(Send, CHAT[:3]), Break.CLOSE)))[1]["notes"] == []
    unrepaired = ReportingProxy(proxies, plain, "ends3")
    assert unrepaired.end(event_stream(CHAT[:3]))[1]["notes"] == []


def test_a_client_disconnect_after_the_last_event_is_not_reported(proxies: Proxies, plain: Upstream) -> None:
    """A client that disconnects after the last event breaks nothing; before it, the record has the disconnect."""
    reporting = ReportingProxy(proxies, plain, "ends3")
    never = Gate()
    events = sum(chunk.count(b"data:") for chunk in CHAT)
    record = reporting.end(Response((*map(Send, CHAT), Wait(never))), chunks=events)[1]
    assert (record["ended"], record["broken"], record["findings"]) == (True, None, [])
    record = reporting.end(Response((*map(Send, CHAT[:2]), Wait(never))), chunks=2)[1]
    assert "client" in record["broken"].lower()
    never.open()


@pytest.mark.parametrize("spec", ["stall:ms=10,at=before-done", "hold-open:ms=10", "drip:ms=1"])
def test_faults_at_the_end_are_counted(proxies: Proxies, plain: Upstream, spec: str) -> None:
    """A fault at the end of a stream is counted, also if a repair adds the last event."""
    reporting = ReportingProxy(proxies, plain, f"ends {spec}", toolstream_repair="safe", toolstream_fault=spec)
    for chunks in (CHAT, CHAT[:-1]):
        received, record = reporting.end(event_stream(chunks))
        assert received.endswith(b"[DONE]\n\n")
        assert record["faults"][0]["changes"] > 0


EMPTY = tuple(chunk for chunk in CHAT if b'"tool_calls": [' not in chunk)


def test_recovered_calls_are_reported(proxies: Proxies, plain: Upstream) -> None:
    """Recovered calls are in the record and counted in the log."""
    reporting = ReportingProxy(proxies, plain, "ends4", toolstream_repair="safe,missing-calls")
    mark = len(reporting.proxy.output)
    unstreamed = openai_chat("call_1", "Bern").unstreamed_response_body
    _, record = reporting.end(event_stream(EMPTY), Response((Send(unstreamed),), content_type=JSON))
    [call] = record["calls"]
    assert (call["name"], call["arguments"], call["complete"]) == ("get_weather", '{"city": "Bern"}', True)
    assert record["changes"] == ["missing-calls"]
    reporting.proxy.wait_for(r" \d+ events?, 1 call, .*1 event repaired \(missing-calls\)", after=mark)


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (Response((Send(b"{}"),), status=529, content_type=JSON), "the response has status 529"),
        (Response((Send(b"<html>"),), content_type="text/html"), "the response is not JSON"),
    ],
)
def test_a_failed_repetition_is_reported(proxies: Proxies, plain: Upstream, second: Response, why: str) -> None:
    """The record has the reason why the repeated request failed."""
    reporting = ReportingProxy(proxies, plain, "ends4", toolstream_repair="safe,missing-calls")
    _, record = reporting.end(event_stream(EMPTY), second)
    [note] = record["notes"]
    assert note == {"name": "missing-calls", "message": f"the request was repeated without success: {why}"}
    assert record["calls"] == []


def test_destream_logs_a_response_that_it_cannot_stream(proxies: Proxies, plain: Upstream) -> None:
    """`destream` forwards a response that it cannot convert, or that is already a stream, and logs the reason."""
    proxy = proxies.get(toolstream_shape="destream")
    sample = openai_chat("call_1", "Bern")
    for body, kind, reason in (
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
        proxy.wait_for(reason, after=mark)


def test_the_short_log_names_repairs(proxies: Proxies, plain: Upstream) -> None:
    """With `toolstream_log=calls` the summary line names the repairs."""
    proxy = proxies.get(toolstream_log="calls", toolstream_repair="safe")
    mark = len(proxy.output)
    sample = openai_chat("call_1", "Bern")
    plan = plain.plan(event_stream(sample.chunks[:-1]))
    with client("h1", route(proxy, plain)) as connection:
        connection.request(sample.path, sample.body, plan.headers).rest()
    proxy.wait_for(r"1 event repaired \(missing-done\)", after=mark)
