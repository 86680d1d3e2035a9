"""The log and the JSON lines: the flow's id, colour, unstreamed responses, and no other traffic."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import JSON, MAKERS, NAME, SSE, Sample, openai_chat
from tests.e2e.harness.script import Response, Send, event_stream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

OF_MITMPROXY = re.compile(r"^\[\d\d:\d\d:\d\d\.\d+\]")
ESCAPE = "\x1b"


def send(proxy: Mitmdump, upstream: Upstream, sample: Sample) -> None:
    """Request a streamed response, and read it to its end."""
    plan = upstream.plan(event_stream(sample.chunks))
    with client("h1", route(proxy, upstream)) as connection:
        assert connection.request(sample.path, sample.body, plan.headers).rest() == b"".join(sample.chunks)


OTHERS: dict[str, tuple[str, str, bytes, str, bytes]] = {
    "page": ("GET", "/", b"", "text/html; charset=utf-8", b"<!doctype html><p>data: {}\n\n</p>"),
    "json": ("POST", "/api/items", b'{"name":"x"}', JSON, b'{"ok":true,"items":[{"id":"call_1"}]}'),
    "models": (
        "GET",
        "/v1/models",
        b"",
        JSON,
        b'{"object":"list","data":[{"id":"gpt-test","object":"model"}]}',
    ),
    "image": ("GET", "/a.png", b"", "image/png", b"\x89PNG\r\n\x1a\n" + bytes(range(256))),
    "ticks": ("GET", "/ticks", b"", SSE, b'event: tick\ndata: {"symbol":"X","price":1.5,"id":7}\n\n' * 3),
    "mcp": (
        "POST",
        "/mcp",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}',
        SSE,
        b'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text"}]}}\n\n',
    ),
    "lines": (
        "GET",
        "/events",
        b"",
        "application/x-ndjson",
        b'{"status":"start","id":"1"}\n{"status":"die"}\n',
    ),
    "nothing": ("GET", "/empty", b"", SSE, b""),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_traffic_is_not_reported(proxies: Proxies, plain: Upstream, name: str) -> None:
    """Other traffic is forwarded unchanged, and neither log nor JSON lines mention it."""
    proxy, tap = proxies.with_jsonl()
    method, path, request, content_type, body = OTHERS[name]
    printed, reported = len(proxy.output), len(tap.lines)
    plan = plain.plan(Response((Send(body),), content_type=content_type))
    with client("h1", route(proxy, plain)) as connection:
        assert connection.request(path, request, plan.headers, method).rest() == body
    after = openai_chat(f"after {name}", "Bern")
    send(proxy, plain, after)
    number = tap.end_of(after.call_id)["stream"]
    assert {one["stream"] for one in tap.lines[reported:]} == {number}
    proxy.wait_for(rf"#{number} +\d+ events, ", after=printed)
    lines = [line for line in proxy.output[printed:] if not OF_MITMPROXY.match(line)]
    assert lines
    # A blank line may be the last line of the previous response.
    assert [line for line in lines if line and not line.startswith(f"#{number} ")] == []


@pytest.mark.parametrize("protocol", MAKERS)
def test_unstreamed_responses_are_reported(proxies: Proxies, secure: Upstream, protocol: str) -> None:
    """With `stream: false` the call is reported, and the body is forwarded unchanged."""
    proxy, tap = proxies.with_jsonl()
    sample = MAKERS[protocol](f"unstreamed {protocol}", "Basel")
    plan = secure.plan(Response((Send(sample.unstreamed_response_body),), content_type=JSON, coding="gzip"))
    with client("h2", route(proxy, secure)) as connection:
        reply = connection.request(sample.unstreamed_path, sample.unstreamed_request_body, plan.headers)
        assert reply.rest() == plan.response.body
    end = tap.end_of(sample.call_id)
    [call] = end["record"]["calls"]
    assert (end["record"]["dialect"], end["record"]["streamed"]) == (protocol, False)
    assert (call["name"], json.loads(call["arguments"]), call["complete"]) == (NAME, sample.arguments, True)
    proxy.wait_for(lambda line: line.startswith(f"#{end['stream']} ") and f"{NAME} id=" in line)


@pytest.mark.parametrize(("log", "fragments"), [("calls", False), ("chunks", True)])
def test_every_line_has_the_number_of_its_response(
    proxies: Proxies, plain: Upstream, log: str, fragments: bool
) -> None:
    """The first line has the flow's id, every line has the response's number, and no line exceeds 120 characters."""
    proxy = proxies.get(toolstream_log=log)
    mark = len(proxy.output)
    send(proxy, plain, openai_chat(f"call for {log}", "Bern"))
    proxy.wait_for(r" 7 events, 1 call", after=mark)
    head, *lines = [line for line in proxy.output[mark:] if not OF_MITMPROXY.match(line)]
    found = re.fullmatch(r"(#\d+) POST \S+ gpt-test openai-chat  flow [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", head)
    assert found
    assert all(line.startswith(f"{found[1]} ") and len(line) <= 120 for line in lines)
    assert any(f'{NAME} id="call for {log}"' in line for line in lines)
    assert any("event 2 " in line for line in lines) is fragments
    assert ESCAPE not in "".join(proxy.output)


def test_log_off_prints_nothing(proxies: Proxies, plain: Upstream) -> None:
    """With `toolstream_log=off` nothing is printed, and the JSON lines are still written."""
    tap = proxies.tap("quiet")
    proxy = proxies.get(toolstream_log="off", toolstream_jsonl=str(tap.path))
    send(proxy, plain, openai_chat("quiet", "Bern"))
    tap.end_of("quiet")
    assert [line for line in proxy.output if not OF_MITMPROXY.match(line)] == []


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_on_a_terminal(proxies: Proxies, plain: Upstream, env: dict[str, str], coloured: bool) -> None:
    """The log is coloured on a terminal, except with `NO_COLOR` or `TERM=dumb`."""
    with proxies.make(env={"TERM": "xterm", "NO_COLOR": "", **env}, terminal=True) as proxy:
        sample = openai_chat("call_1", "Bern")
        send(proxy, plain, replace(sample, chunks=sample.chunks[:3]))
        line = proxy.wait_for("truncated-stream")
        proxy.wait_for(" events, ")
        lines = [line for line in proxy.output if "#1" in line]
    assert (f"{ESCAPE}[31m" in line) is coloured
    assert (ESCAPE in "".join(lines)) is coloured


def test_jsonl_is_appended_to_a_private_file(proxies: Proxies, plain: Upstream, tmp_path: Path) -> None:
    """JSON lines are appended to a file, which is complete when mitmdump has ended and readable only by its owner."""
    path = tmp_path / "lines.jsonl"
    path.write_text('{"type":"before","flow":"x"}\n')
    with proxies.make({"toolstream_jsonl": str(path)}) as proxy:
        send(proxy, plain, openai_chat("call_1", "Bern"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["before", *["event"] * 7, "end", "verdict"]
    assert len({line["flow"] for line in lines[1:]}) == 1
    assert path.stat().st_mode & 0o077 == 0
