"""`toolstream probe`: comparisons, reports, retries and secrets."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import FLOWS
from toolstream_core.cli.main import main
from toolstream_core.errors import ToolstreamError
from toolstream_core.probing.ask import PROTOCOLS, Asker, key_of, target
from toolstream_core.probing.probe import CASES, Case, probe, read, verdict
from toolstream_core.protocols.api import Question
from toolstream_core.protocols.registry import named
from toolstream_core.saved.read import load
from toolstream_core.testing import ProxySession, Setup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = "planted-key-0123456789"

type Reply = tuple[int, dict[str, str], list[bytes]]


def chat_request(case: Case, *, streamed: bool) -> dict[str, Any]:
    """Return a request of Chat Completions."""
    return named("openai-chat").api.request(Question("m", case.prompt, case.tools, streamed))


@contextmanager
def provider(reply: Callable[[dict[str, Any], int], Reply]) -> Iterator[str]:
    """Start a provider on this machine and yield its base URL; `reply` gets each request and its number."""
    count = iter(range(10_000))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, headers, chunks = reply(request | {"_key": self.headers.get("authorization")}, next(count))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            for chunk in chunks:
                self.wfile.write(chunk)
                self.wfile.flush()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def call(arguments: str, name: str = "get_weather") -> dict[str, Any]:
    """Return a tool call of Chat Completions."""
    return {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


def unstreamed(*calls: dict[str, Any]) -> Reply:
    """Return an unstreamed response."""
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    response = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }
    return 200, {"content-type": "application/json"}, [json.dumps(response).encode()]


def streamed(*deltas: dict[str, Any]) -> Reply:
    """Return a streamed response with one entry in each event."""
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": {"tool_calls": [delta]}, "finish_reason": None} for delta in deltas
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    events = [{"object": "chat.completion.chunk", "choices": [choice]} for choice in choices]
    blocks = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    return 200, {"content-type": "text/event-stream"}, [*blocks, b"data: [DONE]\n\n"]


def run(url: str, *words: str) -> int:
    """Run the command with one request for each prompt."""
    return main(["probe", url, "--model", "m", "--times", "1", "--quiet", *words])


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_equal_responses_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 0, and each prompt is requested with and without a stream."""
    compared: list[tuple[str, bool]] = []

    def reply(request: dict[str, Any], _: int) -> Reply:
        compared.append((request["messages"][0]["content"], request["stream"]))
        assert request["_key"] == f"Bearer {KEY}"
        name = request["tools"][0]["function"]["name"]
        return (
            streamed(call('{"city":"Oslo"}', name)) if request["stream"] else unstreamed(call('{"city": "Oslo"}', name))
        )

    with provider(reply) as url:
        assert run(url) == 0
    assert sorted(compared) == sorted((case.prompt, stream) for case in CASES for stream in (True, False))
    output = capsys.readouterr().out
    assert output.count("1 of 1 streamed responses have the calls of the unstreamed ones\n") == len(CASES)
    assert output.endswith("0 differences; 0 errors, 0 warnings, 0 notes in the streams\n")


def test_a_stream_that_loses_arguments_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 1, the report has the difference, and the kept fixtures contain no key."""

    def reply(request: dict[str, Any], _: int) -> Reply:
        return streamed(call("{}")) if request["stream"] else unstreamed(call('{"city":"Oslo"}'))

    with provider(reply) as url:
        assert run(url, "--keep", str(tmp_path / "kept")) == 1
        output = capsys.readouterr().out
        assert run(url, "--format", "markdown") == 1
        report = capsys.readouterr().out
        assert run(url, "--format", "json") == 1
        document = json.loads(capsys.readouterr().out)
    assert 'streamed 1: call 0 get_weather: {} instead of {"city": "Oslo"}' in output
    assert "- streamed response 1: call 0 get\\_weather: \\{\\} instead of" in report
    assert document["found"] is True
    assert document["cases"][0]["differences"] == [
        {"streamed": 0, "what": 'call 0 get_weather: {} instead of {"city": "Oslo"}'}
    ]
    kept = sorted((tmp_path / "kept").glob("*.flow"))
    assert len(kept) == len(CASES)
    assert [fixture.record.calls[0].arguments for fixture in load(kept[0])] == ["{}", '{"city":"Oslo"}']
    for path in (tmp_path / "kept").iterdir():
        assert KEY.encode() not in path.read_bytes()
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_defect_of_the_stream_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning sets the exit code although the calls are equal."""

    def reply(request: dict[str, Any], _: int) -> Reply:
        if not request["stream"]:
            return unstreamed(call('{"city":"Oslo"}'))
        more = {"index": 0, "id": "call_2", "function": {"arguments": '"Oslo"}'}}
        return streamed(call('{"city":'), more)

    with provider(reply) as url:
        assert run(url) == 1
    assert "warning TS105 changing-id in 1 of 1 streamed responses" in capsys.readouterr().out


def test_errors_are_reported_without_the_key(capsys: pytest.CaptureFixture[str]) -> None:
    """A rejected key ends the probe at once; connection errors and redirects are reported."""
    compared: list[int] = []

    def refuse(request: dict[str, Any], number: int) -> Reply:
        compared.append(number)
        return 401, {}, [f"wrong key {KEY}, sent as {request['_key']}".encode()]

    with provider(refuse) as url:
        assert run(url) == 2
    output = "".join(capsys.readouterr())
    assert "HTTP 401: wrong key" in output
    assert KEY not in output
    assert len(compared) == 1
    with provider(lambda request, number: (307, {"location": "http://127.0.0.1:1/"}, [])) as url:  # noqa: ARG005
        assert run(url) == 2
    assert "HTTP 307" in capsys.readouterr().out
    assert run(url) == 2
    assert "refused" in capsys.readouterr().out.lower()


def test_a_busy_provider_is_retried() -> None:
    """The wait is that of the provider unless it is too long, and the number of retries is limited."""

    def busy(wait: str, until: int) -> tuple[list[float], list[str], int]:
        slept: list[float] = []
        messages: list[str] = []

        def reply(request: dict[str, Any], number: int) -> Reply:
            return (429, {"retry-after": wait}, [b"slow down"]) if number < until else unstreamed(call("{}"))

        with provider(reply) as url:
            asker = Asker({}, 5, say=messages.append, sleep=slept.append)
            status = asker.ask(f"{url}/chat/completions", {"model": "m", "messages": [], "stream": False}).facts.status
        return slept, messages, status

    assert busy("2", 2) == ([2.0, 2.0], ["HTTP 429; retrying in 2 s"] * 2, 200)
    assert busy("3600", 2) == ([], ["HTTP 429; its Retry-After of 3600 s is too long"], 429)
    assert busy("soon", 9)[0] == [1.0, 2.0, 4.0]
    assert busy("Wed, 21 Oct 2015 07:28:00 GMT", 1)[0] == [0.0]


def test_a_truncated_stream_is_a_defect() -> None:
    """The response has fewer bytes than its content length."""

    def reply(request: dict[str, Any], _: int) -> Reply:
        status, headers, chunks = streamed(call('{"city":"Oslo"}'))
        return status, headers | {"content-length": "100000"}, chunks[:1]

    with provider(reply) as url:
        response = Asker({}, 5).ask(f"{url}/chat/completions", chat_request(CASES[0], streamed=True))
    streamed_response = read(response)
    assert response.broken
    assert streamed_response.record is not None
    assert "truncated-stream" in [finding.name for finding in streamed_response.record.findings]
    assert verdict("single call", [streamed_response], []).found


def test_random_differences_are_not_reported() -> None:
    """If unstreamed responses differ in a value, only a missing key is a difference."""

    def received(reply: Reply, *, stream: bool) -> Any:
        with provider(lambda request, number: reply) as url:  # noqa: ARG005
            request = chat_request(CASES[0], streamed=stream)
            return read(Asker({}, 5).ask(f"{url}/chat/completions", request))

    oslo, lima = (received(unstreamed(call(f'{{"city":"{city}"}}')), stream=False) for city in ("Oslo", "Lima"))
    rome, none = (received(streamed(call(text)), stream=True) for text in ('{"city":"Rome"}', "{}"))
    assert verdict("x", [rome], [oslo, lima]).differences == []
    assert len(verdict("x", [rome], [oslo, oslo]).differences) == 1
    assert len(verdict("x", [none], [oslo, lima]).differences) == 1


@pytest.mark.e2e
def test_each_protocol_is_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saved flows answer, without and with a fault."""
    monkeypatch.delenv("OPENAI_API_KEY")
    flows = {name: FLOWS / f"{name}-single.flow" for name in PROTOCOLS}
    with ProxySession(Setup(flows=tuple(flows.values()), network="loopback")) as session:
        for fault, expected in (((), False), (("missing-name",), True)):
            session.reset(Setup(flows=tuple(flows.values()), network="loopback", fault=fault))
            for name, flow in flows.items():
                model = load(flow)[0].record.model
                compared = target(session.base_url(name), name, model)
                asker = Asker(named(name).api.key_headers("", None), 10)
                result = probe(compared, CASES[:1], 1, asker, lambda _: None)
                assert result.compared, name
                assert result.verdicts[0].streamed[0].record is not None
                assert result.verdicts[0].streamed[0].record.streamed, name
                assert not result.verdicts[0].unstreamed[0].record.streamed  # type: ignore[union-attr]
                assert result.found == expected, (name, result.verdicts[0].differences)


@pytest.mark.parametrize(
    ("url", "protocol", "endpoint"),
    [
        ("https://api.openai.com/v1", None, "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com", None, "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1/responses", None, "https://api.openai.com/v1/responses"),
        ("https://a.example/v1", "openai-responses", "https://a.example/v1/responses"),
        ("https://api.anthropic.com", None, "https://api.anthropic.com/v1/messages"),
        ("https://a.example/api/anthropic", "anthropic", "https://a.example/api/anthropic/v1/messages"),
        (
            "https://generativelanguage.googleapis.com",
            None,
            "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
        ),
        ("http://localhost:11434", None, "http://localhost:11434/api/chat"),
        (
            "https://x.azure.com/openai/deployments/d/chat/completions?api-version=1",
            None,
            "https://x.azure.com/openai/deployments/d/chat/completions?api-version=1",
        ),
    ],
)
def test_a_url_means_an_endpoint(url: str, protocol: str | None, endpoint: str) -> None:
    """A base URL and an endpoint are accepted."""
    assert target(url, protocol, "m").url(streamed=True) == endpoint


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ftp://x"], "is not an http or https URL"),
        (["https://user:secret@x/v1"], "contains credentials"),
        (["https://x.example/other"], "name the protocol"),
        (["http://x.example/v1"], "without encryption"),
        (["https://x.example/v1", "--prompt", "p.txt"], "need each other"),
    ],
)
def test_usage_errors(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is printed before a request is sent."""
    assert main(["probe", *words, "--model", "m"]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "secret" not in err.replace("Secret", "")
    assert KEY not in err


def test_the_model_and_the_key() -> None:
    """The model is required, and `TOOLSTREAM_PROBE_KEY` precedes the provider's variable."""
    with pytest.raises(ToolstreamError, match="--model"):
        target("https://api.openai.com/v1", None, None)
    compared = target("https://api.openai.com/v1", None, "m")
    assert key_of(compared, {"OPENAI_API_KEY": "usual", "TOOLSTREAM_PROBE_KEY": "own"}) == "own"
    assert key_of(compared, {"OPENAI_API_KEY": "usual"}) == "usual"
    assert key_of(compared, {}) is None
    with pytest.raises(ToolstreamError, match="an HTTP header cannot contain"):
        key_of(compared, {"OPENAI_API_KEY": "a\nb"})
