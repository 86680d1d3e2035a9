"""What is told of clients by their next requests, inside a mitmproxy master."""

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

from tests.proxy.flows import DONE, SECRET, llm_flow
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

    from toolstream_core.proxy.verdicts import LiveVerdict
    from toolstream_core.report.verdict import Explained

ARGUMENTS = '{"path":"/tmp"}'


class Proxy:
    """The addon, with flows that pass one after the other."""

    def __init__(self, made: ToolstreamAddon, context: taddons.context, path: Path) -> None:
        """`path` gets the JSON Lines."""
        self.addon, self.context, self._path = made, context, path

    def ask(self, *messages: Any, user: str = "go") -> http.HTTPFlow:
        """A request of the conversation that begins so."""
        flow = llm_flow(messages=[{"role": "user", "content": user}, *messages])
        self.addon.request(flow)
        return flow

    def response(self, flow: http.HTTPFlow, *chunks: bytes, leave: bool = False) -> bytes:
        """Its answer; what the client got."""
        self.addon.responseheaders(flow)
        assert flow.response is not None
        stream = flow.response.stream
        assert callable(stream)
        got: list[bytes] = []
        for chunk in chunks if leave else (*chunks, b""):
            passed = stream(chunk)
            got += [passed] if isinstance(passed, bytes) else passed
        if leave:
            flow.error = mitmflow.Error("Client disconnected.")
            self.addon.error(flow)
        else:
            self.addon.response(flow)
        return b"".join(got)

    def told(self, kind: str = "verdict") -> list[dict[str, Any]]:
        """The lines of a kind so far, each as its schema says."""
        self.context.configure(self.addon, toolstream_jsonl=str(self._path))
        lines = [json.loads(line) for line in self._path.read_text().splitlines()]
        found = [line for line in lines if line["type"] == kind]
        assert [error.message for line in found for error in LINE.iter_errors(line)] == []
        return found


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    """A proxy that writes JSON Lines."""
    made = ToolstreamAddon()
    with taddons.context(Proxyserver(), NextLayer(), made) as context:
        path = tmp_path / "lines.jsonl"
        context.configure(made, toolstream_jsonl=str(path))
        made.running()
        yield Proxy(made, context, path)
        made.done()


def event(call: dict[str, Any] | None, finish: str | None = None) -> bytes:
    """A chunk of Chat Completions."""
    delta = {} if call is None else {"tool_calls": [call]}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    said = {"object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    return f"data: {json.dumps(said)}\n\n".encode()


def stream(id_: str | None = "c1", arguments: str = ARGUMENTS) -> Sequence[bytes]:
    """An answer with one call of `ls`."""
    head = {"index": 0, "id": id_, "type": "function", "function": {"name": "ls", "arguments": ""}}
    more = {"index": 0, "function": {"arguments": arguments}}
    return event(head), event(more), event(None, "tool_calls"), DONE


def back(id_: str, arguments: str = ARGUMENTS) -> list[dict[str, Any]]:
    """The call said again, and its result."""
    call = {"id": id_, "type": "function", "function": {"name": "ls", "arguments": arguments}}
    return [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": id_, "content": "r"}]


def test_lost_arguments(proxy: Proxy, capsys: pytest.CaptureFixture[str]) -> None:
    """One line in the log, and one object, when the next request comes."""
    proxy.addon.running()
    first = proxy.ask()
    proxy.response(first, *stream(arguments=json.dumps({"key": SECRET})))
    assert proxy.told() == []
    second = proxy.ask(*back("c1", "{}"))
    [line] = proxy.told()
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
    shown = lines[next(place for place, line in enumerate(lines) if "verdict" in line) :]
    assert shown[0].startswith(
        "#1         verdict returned-without-arguments: call 0 ls: returned without its arguments, because the client"
    )
    assert shown[-1].endswith("→ --set toolstream_shape=whole-calls")
    assert all(line.startswith("#1 ") and len(line) <= 120 for line in shown)


def test_secrets_are_hidden(proxy: Proxy) -> None:
    """Also those that only the next request holds."""
    proxy.response(proxy.ask(), *stream())
    proxy.ask(*back("c1", json.dumps({"key": SECRET})))
    [line] = proxy.told()
    assert line["verdict"]["verdict"] == "wrong-arguments"
    assert SECRET not in json.dumps(line)


def test_ids_as_the_client_got_them(proxy: Proxy) -> None:
    """A repair made one up: the client has to say that one again, whatever the provider gets."""
    proxy.context.configure(proxy.addon, toolstream_repair=["safe"])
    got = proxy.response(proxy.ask(), *stream(None))
    made = json.loads(got.split(b"\n")[0].removeprefix(b"data: "))["choices"][0]["delta"]["tool_calls"][0]["id"]
    proxy.ask(*back(made))
    proxy.response(proxy.ask(user="other"), *stream(None))
    proxy.ask(*back("call_none", '{"path":"/"}'), user="other")
    assert [line["verdict"]["verdict"] for line in proxy.told()] == ["ok", "wrong-arguments"]
    assert proxy.told()[0]["verdict"]["sent"][0]["id"] == made


def test_the_calls_as_the_client_got_them(proxy: Proxy, capsys: pytest.CaptureFixture[str]) -> None:
    """Told where they are not those that the provider meant, behind the answer's end."""
    proxy.addon.running()
    proxy.context.configure(proxy.addon, toolstream_repair=["safe"])
    proxy.response(proxy.ask(), *stream())
    flow = proxy.ask(user="other")
    proxy.response(flow, *stream(None))
    [line] = proxy.told("delivered")
    [call] = line["calls"]
    assert (line["flow"], line["stream"], call["name"], call["arguments"]) == (flow.id, 2, "ls", ARGUMENTS)
    assert call["id"]
    proxy.addon.done()
    lines = capsys.readouterr().out.splitlines()
    intended = lines.index(f'#2         call 0 ls id="" {ARGUMENTS}')
    got = lines.index(f"#2         client received call 0 ls id={shortened(call['id'], ID)} {ARGUMENTS}")
    assert got > intended


def test_a_fault_that_takes_the_call_away(proxy: Proxy) -> None:
    """The client does the right thing where it does not run half a call; it is told where it does."""
    proxy.context.configure(proxy.addon, toolstream_fault=["cut-off-call"])
    for messages in ([], back("c1", '{"path"')):
        proxy.response(proxy.ask(user=str(messages)), *stream())
        proxy.ask(*messages, user=str(messages))
    assert [(line["verdict"]["verdict"], line["verdict"]["understood"]) for line in proxy.told()] == [
        ("retried", True),
        ("returned-incomplete-call", False),
    ]


def test_a_client_that_leaves(proxy: Proxy) -> None:
    """In mid-stream; but not one that has seen the end and closes its connection."""
    gone, late = proxy.ask(), proxy.ask(user="other")
    proxy.response(gone, *stream()[:2], leave=True)
    proxy.response(late, *stream(), leave=True)
    [line] = proxy.told()
    assert (line["flow"], line["verdict"]["verdict"], line["verdict"]["request"]) == (gone.id, "aborted", None)


def test_nothing_comes(proxy: Proxy) -> None:
    """Told when the proxy ends, of answers with calls."""
    flow = proxy.ask()
    proxy.response(flow, *stream())
    proxy.response(proxy.ask(user="other"), event(None, "stop"), DONE)
    proxy.addon.done()
    [line] = proxy.told()
    assert (line["flow"], line["verdict"]["verdict"]) == (flow.id, "silent")


def test_nothing_comes_for_a_long_time(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told then."""
    monkeypatch.setattr(verdicts, "SILENT_AFTER", 0.0)

    async def wait() -> None:
        proxy.response(proxy.ask(), *stream())
        await asyncio.sleep(0.01)

    asyncio.run(wait())
    assert [line["verdict"]["verdict"] for line in proxy.told()] == ["silent"]


def test_a_loop(proxy: Proxy) -> None:
    """Counted."""
    for _ in range(3):
        proxy.response(proxy.ask(), *stream())
    proxy.addon.done()
    told = [(line["verdict"]["verdict"], line["verdict"]["count"]) for line in proxy.told()]
    assert told == [("retried", 1), ("retried", 2), ("silent", 2)]


def test_nothing_is_told_where_nobody_looks(tmp_path: Path) -> None:
    """With the log off and no file, no request is kept."""
    made = ToolstreamAddon()
    with taddons.context(Proxyserver(), made) as context:
        context.configure(made, toolstream_log="off")
        proxy = Proxy(made, context, tmp_path / "none")
        flow = proxy.ask()
        made.responseheaders(flow)
        assert flow.response is not None
        assert flow.response.stream is True
        assert list(made.verdicts.missing()) == []
        made.done()


def test_a_bug_of_ours(proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """One error, and everything passes."""

    def broken(*_: object, **__: object) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr(Conversations, "request", broken)
    with caplog.at_level(logging.ERROR):
        flow = proxy.ask()
        assert proxy.response(flow, *stream()) == b"".join(stream())
    [error] = [record.getMessage() for record in caplog.records]
    assert error.startswith(f"toolstream has no verdict on flow {flow.id}: ValueError at test_verdicts.py:")
    assert SECRET not in error


@pytest.mark.parametrize(("ids_kept", "outcome"), [(True, "wrong-id"), (False, "ok")])
def test_a_listener(tmp_path: Path, ids_kept: bool, outcome: str) -> None:
    """Is told of each verdict; clients have to say again the very ids where that is asked for."""
    told: list[LiveVerdict] = []
    made = ToolstreamAddon(lambda _: (), told.append, ids_kept=ids_kept)
    with taddons.context(Proxyserver(), NextLayer(), made) as context:
        proxy = Proxy(made, context, tmp_path / "lines")
        proxy.response(proxy.ask(), *stream())
        proxy.ask(*back("other"))
        made.done()
    assert [one.reported.verdict.outcome for one in told] == [outcome]


def test_the_schema_knows_no_other_line() -> None:
    """A verdict without one of its keys is none."""
    with pytest.raises(jsonschema.ValidationError):
        LINE.validate({"type": "verdict", "flow": "f", "stream": 1, "host": "h", "dialect": "gemini", "verdict": {}})


def misread(proxy: Proxy, number: int, arguments: str = ARGUMENTS) -> None:
    """A conversation of its own whose client loses a call's arguments."""
    flow = proxy.ask(user=f"go {number}")
    proxy.response(flow, *stream(f"c{number}", arguments))
    proxy.ask(*back(f"c{number}", "{}"), user=f"go {number}")


def test_explanations_that_wait_are_bounded(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Further verdicts are reported at once, unexplained; none is lost."""
    busy = threading.Event()
    why = Verdicts._why

    def slow(self: Verdicts, told: LiveVerdict) -> Explained:
        assert busy.wait(20)
        return why(self, told)

    monkeypatch.setattr(Verdicts, "_why", slow)

    async def run() -> None:
        for number in range(EXPLAINED_AT_ONCE + 3):
            misread(proxy, number)
        assert len(proxy.addon.verdicts.unexplained) == EXPLAINED_AT_ONCE
        assert [line["verdict"]["explained"] for line in proxy.told()] == [[], [], []]
        busy.set()
        await asyncio.gather(*map(asyncio.wrap_future, proxy.addon.verdicts.unexplained))

    asyncio.run(run())
    explained = [bool(line["verdict"]["explained"]) for line in proxy.told()]
    assert (len(explained), sum(explained)) == (EXPLAINED_AT_ONCE + 3, EXPLAINED_AT_ONCE)


@pytest.mark.parametrize(("size", "explained"), [(1, True), (EXPLAINED_BYTES, False)])
def test_long_responses_are_not_explained(proxy: Proxy, size: int, *, explained: bool) -> None:
    """Their verdict is reported without."""
    misread(proxy, 1, json.dumps({"path": "x" * size}))
    [line] = proxy.told()
    assert bool(line["verdict"]["explained"]) is explained
    assert line["verdict"]["problems"]
