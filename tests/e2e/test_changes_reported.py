"""Changes of streams as they are reported in the log and in JSON lines: findings, repairs, faults, seeds."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from tests.e2e.harness.changes import arguments, chat_ids, cumulative, fetch, payloads, sample_stream, with_empty_ids
from tests.e2e.harness.lockstep import lockstep
from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.samples import NAME, openai_chat
from toolstream_core.proxy.provider import OPTIONS
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

CHAT = openai_chat("call_1", "Bern")
FLOWS = Path(__file__).resolve().parents[2] / "flows"
WANTED = '{"city":"Lisbon","unit":"celsius"}'


def test_a_repair_is_reported_with_the_event_before_and_after(proxies: Proxies, secure: Upstream) -> None:
    """The JSON lines have the finding, each repaired event before and after, and the number of repaired events."""
    tap = proxies.tap("repaired")
    proxy = proxies.get(toolstream_repair="safe", toolstream_jsonl=str(tap.path))
    sample = with_empty_ids(openai_chat("reported_repair", "Bern"))
    _, body, _ = fetch(proxy, secure, sample, "h2")
    end = tap.end_of(sample.call_id)
    lines = tap.of_flow(end["flow"])
    [finding] = [line["finding"] for line in lines if line["type"] == "finding"]
    assert (finding["name"], finding["event"], finding["call"], finding["repair"]) == ("empty-id", 1, 0, "safe")
    changed = [line for line in lines if line["type"] == "repair"]
    assert [line["event"] for line in changed] == [1, 2, 3, 4]
    assert {(line["kind"], *line["rules"]) for line in changed} == {("repair", "empty-id")}
    chunks = list(sample.chunks)
    for line in changed:
        assert line["before"].encode() == chunks[line["event"]]
        chunks[line["event"]] = line["after"].encode()
    assert b"".join(chunks) == body
    assert end["record"]["mended"] == len(changed)
    kinds = [line["type"] for line in lines]
    assert kinds.index("finding") == kinds.index("repair") - 1 == [line.get("event") for line in lines].index(1) + 1


def test_a_finding_is_logged_at_its_event(proxies: Proxies, plain: Upstream) -> None:
    """The log has the finding of an event before upstream sends the next event."""
    proxy = proxies.get(toolstream_repair="safe")
    sample = with_empty_ids(CHAT)
    planned, gates = lockstep(sample.chunks)
    plan = plain.plan(planned)
    mark = len(proxy.output)
    with client("h1", route(proxy, plain)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers)
        gates[0].open()
        gates[1].open()
        proxy.wait_for(r"event 1    repair: empty-id", after=mark)
        lines = [line for line in proxy.output[mark:] if "event 1" in line or "event 2" in line]
        gates[2].open()
        for gate in gates:
            gate.open()
        reply.rest()
    shown, found, changed = lines
    assert 'event 1    call 0  id=""' in shown
    assert "note TS102 empty-id at event 1 call 0: " in found
    assert "repair: empty-id" in changed
    proxy.wait_for(r"  7 events, 1 call, .* 1 note, 4 events repaired", after=mark)
    assert len([line for line in proxy.output[mark:] if "TS102" in line]) == 1


def bodies(proxy: Mitmdump, upstream: Upstream, count: int = 8) -> list[bytes]:
    """Request the same stream several times. Returns the received bodies."""
    return [fetch(proxy, upstream, CHAT)[1] for _ in range(count)]


def test_a_seed_selects_the_same_responses(proxies: Proxies, plain: Upstream) -> None:
    """The seed determines which responses get a fault; `p=0` selects none, `p=1` all, `times` a number of them."""
    fault = "cumulative-arguments"
    runs = {}
    for name, seed in {"one": "7", "again": "7", "other": "8"}.items():
        with proxies.make({"toolstream_fault": f"{fault}:p=0.5", "toolstream_seed": seed}) as proxy:
            runs[name] = bodies(proxy, plain)
    assert runs["one"] == runs["again"] != runs["other"]
    healthy, broken = b"".join(CHAT.chunks), set(runs["one"]) - {b"".join(CHAT.chunks)}
    assert healthy in runs["one"]
    assert len(broken) == 1
    assert set(bodies(proxies.get(toolstream_fault=f"{fault}:p=0"), plain, 3)) == {healthy}
    assert set(bodies(proxies.get(toolstream_fault=fault), plain, 3)) == broken
    twice = proxies.get(toolstream_fault=f"{fault}:times=2")
    assert bodies(twice, plain, 4) == [*broken, *broken, healthy, healthy]


def test_faults_are_reported(proxies: Proxies, plain: Upstream) -> None:
    """The JSON lines and the log have the injected fault and the events that it changed."""
    tap = proxies.tap("broken")
    proxy = proxies.get(toolstream_fault="empty-id:model=gpt-*", toolstream_jsonl=str(tap.path))
    sample = openai_chat("reported_fault", "Bern")
    _, body, _ = fetch(proxy, plain, sample)
    assert body.count(b'"id":""') == 4
    end = tap.end_of(sample.call_id)
    lines = tap.of_flow(end["flow"])
    assert [(line["event"], line["kind"], line["rules"]) for line in lines if line["type"] == "repair"] == [
        (number, "fault", ["empty-id"]) for number in (1, 2, 3, 4)
    ]
    assert end["record"]["faults"] == [{"spec": "empty-id:model=gpt-*", "drawn": 1, "changes": 4}]
    proxy.wait_for(r"fault empty-id:model=gpt-\*: 4 changes")


def replayed(proxy: Mitmdump) -> bytes:
    """Send the request of a saved flow to a host that does not exist. Returns the response body."""
    with httpx2.Client(proxy=proxy.url, verify=ssl.create_default_context(cafile=proxy.ca)) as http:
        request = load(FLOWS / "openai-chat-single.flow")[0].request
        reply = http.post("https://llm.invalid/v1/chat/completions", json=request)
        assert reply.status_code == 200
        assert "content-length" not in reply.headers
        return bytes(reply.content)


def test_provider_fault_and_repair(proxies: Proxies) -> None:
    """A fault in a replayed response is repaired."""
    saved = {"toolstream_provider": str(FLOWS), **OPTIONS}
    fault = {"toolstream_fault": "cumulative-arguments"}
    healthy = replayed(proxies.get(**saved))
    broken = replayed(proxies.get(**saved, **fault))
    changed = replayed(proxies.get(**saved, **fault, toolstream_repair="safe"))
    assert arguments(healthy) == arguments(changed) != arguments(broken)
    assert chat_ids(healthy) == chat_ids(changed)
    assert replayed(proxies.get(**saved, toolstream_repair="safe")) == healthy


def test_shape_and_repair(proxies: Proxies, secure: Upstream) -> None:
    """A broken stream is repaired before the shape re-encodes it."""
    proxy = proxies.get(toolstream_shape="for:aichat")
    _, body, _ = fetch(proxy, secure, cumulative(CHAT), "h2")
    calls = [
        entry
        for event in payloads(body)
        for choice in event["choices"]
        for entry in choice["delta"].get("tool_calls", ())
    ]
    [call] = calls
    assert (call["id"], call["function"]) == (CHAT.call_id, {"name": NAME, "arguments": '{"city": "Bern"}'})


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_the_filter_excludes_changes(proxies: Proxies, secure: Upstream, coding: str) -> None:
    """A flow that the filter excludes is forwarded unchanged: response, coding and `accept-encoding`."""
    proxy = proxies.get(toolstream_repair="safe", toolstream_filter="~u nowhere")
    sample = with_empty_ids(CHAT)
    planned = sample_stream(sample, coding)
    reply, body, request = fetch(proxy, secure, sample, "h2", planned, {"accept-encoding": coding})
    assert (body, reply.headers["content-encoding"]) == (planned.body, coding)
    assert request.header("accept-encoding") == coding
