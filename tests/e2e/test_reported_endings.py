"""What is told of how an answer ended for the client, by whom, and of what was done behind its last event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import client, way
from tests.e2e.harness.samples import JSON, openai_chat
from tests.e2e.harness.script import Answer, Break, Gate, Send, Wait, response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

type Told = dict[str, Any]


class Asking:
    """A proxy that tells JSON lines, and what it tells of one answer after the other."""

    def __init__(self, proxies: Proxies, upstream: Upstream, name: str, **options: str | Sequence[str]) -> None:
        self.tap = proxies.tap(name)
        self.proxy: Mitmdump = proxies.get("regular", toolstream_jsonl=str(self.tap.path), **options)
        self._upstream = upstream

    def end(self, planned: Answer, second: Answer | None = None, pieces: int | None = None) -> tuple[bytes, Told]:
        """What came of an answer (so many pieces of it, then the client leaves), and the record that was told."""
        before = len(self._ends())
        sample = openai_chat("call_1", "Bern")
        plan = self._upstream.plan(planned)
        plan.second = second
        came = b""
        with client("h1", way(self.proxy, self._upstream)) as connection:
            reply = connection.request(sample.path, sample.body, plan.headers)
            try:
                while (pieces is None or came.count(b"data:") < pieces) and (piece := reply.piece()):
                    came += piece
            except BrokenOffError:
                came += b"BROKEN"
            if pieces is not None:
                reply.leave()
            told: Told = self.tap.wait_for(lambda one: one["type"] == "end", before + 1)[before]["record"]
        return came, told

    def _ends(self) -> list[Told]:
        return [one for one in self.tap.told if one["type"] == "end"]


CHAT = openai_chat("call_1", "Bern").pieces
BROKEN_OFF = [{"name": "cut-off-call", "message": "the connection was closed so that the client sees an error"}]
IN_ORDER = [{"name": "unterminated-body", "message": "the response was terminated normally for the client"}]


def test_a_repair_that_breaks_or_ends_is_told_as_one(proxies: Proxies, plain: Upstream) -> None:
    """In the record, in the log, and where mitmproxy tells how a flow broke off."""
    asking = Asking(proxies, plain, "ends", toolstream_repair="safe", flow_detail="1")
    mark = len(asking.proxy.output)
    came, told = asking.end(response(CHAT[:3]))
    assert came.endswith(b"BROKEN")
    assert (told["notes"], told["broken"], told["faults"]) == (BROKEN_OFF, None, [])
    asking.proxy.wait_for("cut-off-call: the connection was closed so that the client sees an error", after=mark)
    asking.proxy.wait_for("cut by toolstream_repair: cut-off-call", after=mark)
    assert not any("toolstream_fault" in line for line in asking.proxy.output)
    came, told = asking.end(Answer((*map(Send, CHAT), Break.CLOSE)))
    assert came == b"".join(CHAT)
    assert told["notes"] == IN_ORDER
    asking.proxy.wait_for("unterminated-body: the response was terminated normally for the client", after=mark)
    assert asking.end(response(CHAT))[1]["notes"] == []


def test_what_upstream_broke_is_no_repair(proxies: Proxies, plain: Upstream) -> None:
    """Nor what nobody mends."""
    asking = Asking(proxies, plain, "ends2", toolstream_repair="safe")
    assert asking.end(Answer((*map(Send, CHAT[:3]), Break.CLOSE)))[1]["notes"] == []
    looking = Asking(proxies, plain, "ends3")
    assert looking.end(response(CHAT[:3]))[1]["notes"] == []


def test_a_client_that_has_heard_everything_breaks_nothing(proxies: Proxies, plain: Upstream) -> None:
    """One that leaves before does."""
    asking = Asking(proxies, plain, "ends3")
    never = Gate()
    events = sum(piece.count(b"data:") for piece in CHAT)
    told = asking.end(Answer((*map(Send, CHAT), Wait(never))), pieces=events)[1]
    assert (told["ended"], told["broken"], told["findings"]) == (True, None, [])
    told = asking.end(Answer((*map(Send, CHAT[:2]), Wait(never))), pieces=2)[1]
    assert "client" in told["broken"].lower()
    never.open()


@pytest.mark.parametrize("spec", ["stall:ms=10,at=before-done", "hold-open:ms=10", "drip:ms=1"])
def test_faults_at_the_end_are_counted(proxies: Proxies, plain: Upstream, spec: str) -> None:
    """Also where the last event comes from a repair."""
    asking = Asking(proxies, plain, f"ends {spec}", toolstream_repair="safe", toolstream_fault=spec)
    for pieces in (CHAT, CHAT[:-1]):
        came, told = asking.end(response(pieces))
        assert came.endswith(b"[DONE]\n\n")
        assert told["faults"][0]["changes"] > 0


EMPTY = tuple(piece for piece in CHAT if b'"tool_calls": [' not in piece)


def test_recovered_calls_are_calls(proxies: Proxies, plain: Upstream) -> None:
    """Shown and counted, at the event that they were put before."""
    asking = Asking(proxies, plain, "ends4", toolstream_repair="safe,missing-calls")
    mark = len(asking.proxy.output)
    whole = json.dumps(openai_chat("call_1", "Bern").whole).encode()
    _, told = asking.end(response(EMPTY), Answer((Send(whole),), content_type=JSON))
    [call] = told["calls"]
    assert (call["name"], call["arguments"], call["complete"]) == ("get_weather", '{"city": "Bern"}', True)
    assert told["changes"] == ["missing-calls"]
    asking.proxy.wait_for(r" \d+ events?, 1 call, .*1 event repaired \(missing-calls\)", after=mark)


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (Answer((Send(b"{}"),), status=529, content_type=JSON), "the response has status 529"),
        (Answer((Send(b"<html>"),), content_type="text/html"), "the response is not JSON"),
    ],
)
def test_a_second_request_that_fails_says_why(proxies: Proxies, plain: Upstream, second: Answer, why: str) -> None:
    """In the record too."""
    asking = Asking(proxies, plain, "ends4", toolstream_repair="safe,missing-calls")
    _, told = asking.end(response(EMPTY), second)
    [note] = told["notes"]
    assert note == {"name": "missing-calls", "message": f"the request was repeated without success: {why}"}
    assert told["calls"] == []


def test_destream_says_what_it_cannot_stream(proxies: Proxies, plain: Upstream) -> None:
    """And passes it on; a stream that came although none was asked for is one."""
    proxy = proxies.get(toolstream_shape="destream")
    sample = openai_chat("call_1", "Bern")
    for body, kind, said in (
        (b"<html>", "text/html", "it is not JSON"),
        (sample.whole_body[:-9], JSON, "it is not JSON"),
        (b'{"other": 1}', JSON, "it is not a response of openai-chat"),
        (b"".join(sample.pieces), sample.content_type, "but received a stream"),
    ):
        mark = len(proxy.output)
        plan = plain.plan(Answer((Send(body),), content_type=kind))
        with client("h1", way(proxy, plain)) as connection:
            reply = connection.request(sample.path, sample.body, plan.headers)
            assert reply.rest() == body
        proxy.wait_for(said, after=mark)


def test_what_was_mended_is_named_in_the_short_log_too(proxies: Proxies, plain: Upstream) -> None:
    """In its one line on the whole."""
    proxy = proxies.get(toolstream_log="calls", toolstream_repair="safe")
    mark = len(proxy.output)
    sample = openai_chat("call_1", "Bern")
    plan = plain.plan(response(sample.pieces[:-1]))
    with client("h1", way(proxy, plain)) as connection:
        connection.request(sample.path, sample.body, plan.headers).rest()
    proxy.wait_for(r"1 event repaired \(missing-done\)", after=mark)
