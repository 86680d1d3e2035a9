"""Verdicts on clients from their next requests, inside a mitmproxy master."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from mitmproxy import flow as mitmflow
from mitmproxy.addons.next_layer import NextLayer
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.test import taddons

from tests.proxy.flows import DONE, SECRET, llm_flow, wait_until
from tests.test_schemas import LINE
from toolstream_core.proxy import verdicts
from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.proxy.verdicts import EXPLAINED_AT_ONCE, EXPLAINED_BYTES, Verdicts
from toolstream_core.report.columns import ID, shortened
from toolstream_core.verdict.conversations import Conversations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mitmproxy import http

    from toolstream_core.model import Json
    from toolstream_core.proxy.verdicts import LiveVerdict
    from toolstream_core.report.verdict import Explained

ARGUMENTS = '{"path":"/tmp"}'


class Proxy:
    """The addon with consecutive flows."""

    def __init__(self, addon: ToolstreamAddon, context: taddons.context, path: Path) -> None:
        """Store the addon, its context and the path of the JSON Lines."""
        self.addon, self.context, self._path = addon, context, path

    def request(self, *messages: Any, user: str = "go") -> http.HTTPFlow:
        """Send a request of the conversation that starts with the text `user`, and return its flow."""
        flow = llm_flow(messages=[{"role": "user", "content": user}, *messages])
        self.addon.request(flow)
        return flow

    def respond(self, flow: http.HTTPFlow, *chunks: bytes, leave: bool = False) -> bytes:
        """Pass a response to the client and return the bytes that it receives; with `leave` the client disconnects."""
        self.addon.responseheaders(flow)
        assert flow.response is not None
        stream = flow.response.stream
        assert callable(stream)
        received: list[bytes] = []
        for chunk in chunks if leave else (*chunks, b""):
            passed = stream(chunk)
            received += [passed] if isinstance(passed, bytes) else passed
        if leave:
            flow.error = mitmflow.Error("Client disconnected.")
            self.addon.error(flow)
        else:
            self.addon.response(flow)
        return b"".join(received)

    def lines(self, kind: str = "verdict") -> list[dict[str, Any]]:
        """Return the JSON Lines of a type, after a check against the schema."""
        self.context.configure(self.addon, toolstream_jsonl=str(self._path))
        lines = [json.loads(line) for line in self._path.read_text().splitlines()]
        found = [line for line in lines if line["type"] == kind]
        assert [error.message for line in found for error in LINE.iter_errors(line)] == []
        return found


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    """Yield a proxy that writes JSON Lines."""
    addon = ToolstreamAddon()
    with taddons.context(Proxyserver(), NextLayer(), addon) as context:
        path = tmp_path / "lines.jsonl"
        context.configure(addon, toolstream_jsonl=str(path))
        addon.running()
        yield Proxy(addon, context, path)
        addon.done()


def event(call: dict[str, Any] | None, finish: str | None = None) -> bytes:
    """Return a chunk of Chat Completions."""
    delta = {} if call is None else {"tool_calls": [call]}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    payload = {"object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    return f"data: {json.dumps(payload)}\n\n".encode()


def stream(id_: str | None = "c1", arguments: str = ARGUMENTS) -> Sequence[bytes]:
    """Return the chunks of a response with one call of `ls`."""
    head = {"index": 0, "id": id_, "type": "function", "function": {"name": "ls", "arguments": ""}}
    more = {"index": 0, "function": {"arguments": arguments}}
    return event(head), event(more), event(None, "tool_calls"), DONE


def returned(id_: str, arguments: str = ARGUMENTS) -> list[dict[str, Any]]:
    """Return the messages of the next request: the call and its result."""
    call = {"id": id_, "type": "function", "function": {"name": "ls", "arguments": arguments}}
    return [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": id_, "content": "r"}]


def test_lost_arguments_are_reported(proxy: Proxy, capsys: pytest.CaptureFixture[str]) -> None:
    """The next request gives one log line and one JSON object."""
    proxy.addon.running()
    first = proxy.request()
    proxy.respond(first, *stream(arguments=json.dumps({"key": SECRET})))
    assert proxy.lines() == []
    second = proxy.request(*returned("c1", "{}"))
    [line] = proxy.lines()
    assert (line["flow"], line["stream"], line["dialect"]) == (first.id, 1, "openai-chat")
    assert line["verdict"] == {
        "verdict": "returned-without-arguments",
        "understood": False,
        "sent": [{"id": "c1", "name": "ls", "arguments": "{}"}],
        "results": ["c1"],
        "call": 0,
        "event": 1,
        "explained": ["by-index-and-id", "nameless-dropped"],
        "advice": ["--set toolstream_shape=whole-calls", "--set toolstream_shape=header-with-first-fragment"],
        "problems": [{"verdict": "returned-without-arguments", "call": 0, "message": "returned without its arguments"}],
        "count": 0,
        "request": second.id,
    }
    proxy.addon.done()
    lines = capsys.readouterr().out.splitlines()
    verdict = lines[next(place for place, line in enumerate(lines) if "verdict" in line) :]
    assert verdict[0].startswith(
        "#1         verdict returned-without-arguments: call 0 ls: returned without its arguments, because the client"
    )
    assert verdict[-1].endswith("→ --set toolstream_shape=whole-calls")
    assert all(line.startswith("#1 ") and len(line) <= 120 for line in verdict)


def test_explanations_know_the_tools(proxy: Proxy) -> None:
    """A complete call as the arguments shows only beside the parameters of the tool: the stream is malformed."""
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tools = [{"type": "function", "function": {"name": "ls", "parameters": parameters}}]
    envelope = json.dumps({"name": "ls", "arguments": {"path": "notes"}})
    first = llm_flow(messages=[{"role": "user", "content": "go"}], tools=tools)
    second = llm_flow(messages=[{"role": "user", "content": "go"}, *returned("c1", envelope)], tools=tools)
    proxy.addon.request(first)
    proxy.respond(first, *stream(arguments=envelope))
    proxy.addon.request(second)
    [line] = proxy.lines()
    assert line["verdict"]["verdict"] == "wrong-arguments"
    assert line["verdict"]["explained"] == []
    assert line["verdict"]["advice"] == ["--set toolstream_repair=enveloped-arguments"]


def test_secrets_are_hidden(proxy: Proxy) -> None:
    """A secret that only the next request contains is hidden."""
    proxy.respond(proxy.request(), *stream())
    proxy.request(*returned("c1", json.dumps({"key": SECRET})))
    [line] = proxy.lines()
    assert line["verdict"]["verdict"] == "wrong-arguments"
    assert SECRET not in json.dumps(line)


def test_generated_ids_are_compared(proxy: Proxy) -> None:
    """A repair generated an id, and the client has to return that id, whichever id the provider gets."""
    proxy.context.configure(proxy.addon, toolstream_repair=["safe"])
    received = proxy.respond(proxy.request(), *stream(None))
    generated = json.loads(received.split(b"\n")[0].removeprefix(b"data: "))["choices"][0]["delta"]["tool_calls"][0][
        "id"
    ]
    proxy.request(*returned(generated))
    proxy.respond(proxy.request(user="other"), *stream(None))
    proxy.request(*returned("call_none", '{"path":"/"}'), user="other")
    assert [line["verdict"]["verdict"] for line in proxy.lines()] == ["ok", "wrong-arguments"]
    assert proxy.lines()[0]["verdict"]["sent"][0]["id"] == generated


def test_changed_calls_are_logged_as_the_client_received_them(proxy: Proxy, capsys: pytest.CaptureFixture[str]) -> None:
    """After the response's end, calls are logged again if the client received other calls."""
    proxy.addon.running()
    proxy.context.configure(proxy.addon, toolstream_repair=["safe"])
    proxy.respond(proxy.request(), *stream())
    flow = proxy.request(user="other")
    proxy.respond(flow, *stream(None))
    [line] = proxy.lines("delivered")
    [call] = line["calls"]
    assert (line["flow"], line["stream"], call["name"], call["arguments"]) == (flow.id, 2, "ls", ARGUMENTS)
    assert call["id"]
    proxy.addon.done()
    lines = capsys.readouterr().out.splitlines()
    intended = lines.index(f'#2         call 0 ls id="" {ARGUMENTS}')
    received = lines.index(f"#2         client received call 0 ls id={shortened(call['id'], ID)} {ARGUMENTS}")
    assert received > intended


def test_a_truncated_call_must_not_be_returned(proxy: Proxy) -> None:
    """A client that retries understood the fault; a client that returns the incomplete call did not."""
    proxy.context.configure(proxy.addon, toolstream_fault=["cut-off-call"])
    for messages in ([], returned("c1", '{"path"')):
        proxy.respond(proxy.request(user=str(messages)), *stream())
        proxy.request(*messages, user=str(messages))
    assert [(line["verdict"]["verdict"], line["verdict"]["understood"]) for line in proxy.lines()] == [
        ("retried", True),
        ("returned-incomplete-call", False),
    ]


def test_a_client_that_disconnects(proxy: Proxy) -> None:
    """A disconnect inside the stream is reported, a disconnect after its end is not."""
    gone, late = proxy.request(), proxy.request(user="other")
    proxy.respond(gone, *stream()[:2], leave=True)
    proxy.respond(late, *stream(), leave=True)
    [line] = proxy.lines()
    assert (line["flow"], line["verdict"]["verdict"], line["verdict"]["request"]) == (gone.id, "aborted", None)


def test_a_response_without_a_next_request(proxy: Proxy) -> None:
    """A response with calls is reported as silent when the proxy stops."""
    flow = proxy.request()
    proxy.respond(flow, *stream())
    proxy.respond(proxy.request(user="other"), event(None, "stop"), DONE)
    proxy.addon.done()
    [line] = proxy.lines()
    assert (line["flow"], line["verdict"]["verdict"]) == (flow.id, "silent")


def test_a_late_next_request(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A response with calls is reported as silent after a timeout."""
    monkeypatch.setattr(verdicts, "SILENT_AFTER", 0.0)

    async def wait() -> None:
        proxy.respond(proxy.request(), *stream())
        await asyncio.sleep(0.01)

    asyncio.run(wait())
    assert [line["verdict"]["verdict"] for line in proxy.lines()] == ["silent"]


def test_identical_requests_are_counted(proxy: Proxy) -> None:
    """A repeated request is counted in the verdict."""
    for _ in range(3):
        proxy.respond(proxy.request(), *stream())
    proxy.addon.done()
    counted = [(line["verdict"]["verdict"], line["verdict"]["count"]) for line in proxy.lines()]
    assert counted == [("retried", 1), ("retried", 2), ("silent", 2)]


def test_requests_do_not_wait_for_verdicts(proxy: Proxy) -> None:
    """Requests and responses are judged later, in their order, and with the headers that the client sent."""

    async def run() -> None:
        proxy.context.configure(proxy.addon, toolstream_repair=["safe"])
        proxy.respond(proxy.request(), *stream(None, arguments=json.dumps({"key": "private-value"})))
        following = llm_flow(
            messages=[{"role": "user", "content": "go"}, *returned("made-up", '{"key":"private-value"}')]
        )
        following.request.headers["x-api-key"] = "private-value"
        proxy.addon.request(following)
        del following.request.headers["x-api-key"]
        proxy.respond(following, *stream("c2"))
        proxy.request(*returned("made-up"), *returned("c2"))
        assert proxy.lines() == []
        await wait_until(lambda: not proxy.addon.verdicts.waiting)

    asyncio.run(run())
    assert [line["verdict"]["verdict"] for line in proxy.lines()] == ["ok", "ok"]
    assert "private-value" not in json.dumps(proxy.lines())


def test_requests_are_not_kept_without_a_log(tmp_path: Path) -> None:
    """Without a log, a file or a sink, no request is kept."""
    addon = ToolstreamAddon()
    with taddons.context(Proxyserver(), addon) as context:
        context.configure(addon, toolstream_log="off")
        proxy = Proxy(addon, context, tmp_path / "none")
        flow = proxy.request()
        addon.responseheaders(flow)
        assert flow.response is not None
        assert flow.response.stream is True
        assert list(addon.verdicts.missing()) == []
        addon.done()


def test_an_internal_error_is_logged_once(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The error hides its message, and the response is forwarded unchanged."""

    def broken(*_: object, **__: object) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr(Conversations, "request", broken)
    with caplog.at_level(logging.ERROR):
        flow = proxy.request()
        assert proxy.respond(flow, *stream()) == b"".join(stream())
    [error] = [record.getMessage() for record in caplog.records]
    assert error.startswith(f"toolstream has no verdict on flow {flow.id}: ValueError at test_verdicts.py:")
    assert SECRET not in error


@pytest.mark.parametrize(("ids_kept", "outcome"), [(True, "wrong-id"), (False, "ok")])
def test_a_verdict_sink(tmp_path: Path, ids_kept: bool, outcome: str) -> None:
    """The sink gets each verdict; with `ids_kept` a client must return the same ids, or ids of its own."""
    reports: list[LiveVerdict] = []
    addon = ToolstreamAddon(lambda _: (), reports.append, ids_kept=ids_kept)
    with taddons.context(Proxyserver(), NextLayer(), addon) as context:
        proxy = Proxy(addon, context, tmp_path / "lines")
        proxy.respond(proxy.request(), *stream())
        proxy.request(*returned("c1_1"))
        addon.done()
    assert [report.reported.verdict.outcome for report in reports] == [outcome]


def test_the_schema_requires_all_keys_of_a_verdict() -> None:
    """A verdict without its keys is invalid."""
    with pytest.raises(jsonschema.ValidationError):
        LINE.validate({"type": "verdict", "flow": "f", "stream": 1, "host": "h", "dialect": "gemini", "verdict": {}})


def misread_call(proxy: Proxy, number: int, arguments: str = ARGUMENTS) -> None:
    """Run a conversation whose client loses a call's arguments."""
    flow = proxy.request(user=f"go {number}")
    proxy.respond(flow, *stream(f"c{number}", arguments))
    proxy.request(*returned(f"c{number}", "{}"), user=f"go {number}")


def test_pending_explanations_are_limited(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Further verdicts are reported at once without an explanation."""
    busy = threading.Event()
    why = Verdicts._why

    def slow(self: Verdicts, verdict: LiveVerdict, options: Json) -> Explained:
        assert busy.wait(20)
        return why(self, verdict, options)

    monkeypatch.setattr(Verdicts, "_why", slow)

    async def run() -> None:
        for number in range(EXPLAINED_AT_ONCE + 3):
            misread_call(proxy, number)
        await wait_until(lambda: len(proxy.lines()) == 3)
        assert len(proxy.addon.verdicts.unexplained) == EXPLAINED_AT_ONCE
        assert [line["verdict"]["explained"] for line in proxy.lines()] == [[], [], []]
        busy.set()
        await asyncio.gather(*map(asyncio.wrap_future, proxy.addon.verdicts.unexplained))

    asyncio.run(run())
    explained = [bool(line["verdict"]["explained"]) for line in proxy.lines()]
    assert (len(explained), sum(explained)) == (EXPLAINED_AT_ONCE + 3, EXPLAINED_AT_ONCE)


def test_the_end_of_the_proxy_waits_for_explanations(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that exits after its next request gets its verdict with the explanation."""
    closing = threading.Event()
    why = Verdicts._why

    def slow(self: Verdicts, verdict: LiveVerdict, options: Json) -> Explained:
        assert closing.wait(20)
        return why(self, verdict, options)

    monkeypatch.setattr(Verdicts, "_why", slow)

    async def run() -> None:
        misread_call(proxy, 0)
        threading.Timer(0.01, closing.set).start()
        proxy.addon.verdicts.close()

    asyncio.run(run())
    [line] = proxy.lines()
    assert line["verdict"]["explained"]


@pytest.mark.parametrize(("size", "explained"), [(1, True), (EXPLAINED_BYTES, False)])
def test_long_responses_are_not_explained(proxy: Proxy, size: int, *, explained: bool) -> None:
    """The verdict on a long response is reported without an explanation."""
    misread_call(proxy, 1, json.dumps({"path": "x" * size}))
    [line] = proxy.lines()
    assert bool(line["verdict"]["explained"]) is explained
    assert line["verdict"]["problems"]
