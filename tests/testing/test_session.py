"""One proxy process for many setups: start, resets, reports and end."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest

from tests.conftest import FLOWS, ROOT
from toolstream_core.saved.read import load
from toolstream_core.testing import ProxySession, ProxySessionError, Setup
from toolstream_core.testing import session as sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

CHAT = Setup(flows=(FLOWS / "openai-chat-single.flow",))


@pytest.fixture(scope="module")
def session() -> Iterator[ProxySession]:
    """Yield the proxy of all tests in this file; each test resets it."""
    with ProxySession() as started:
        yield started


def post(session: ProxySession, flow: str = "openai-chat-single", **more: Any) -> httpx2.Response:
    """Send the request of a saved flow to the base URL."""
    request = {**load(FLOWS / f"{flow}.flow")[0].request, **more}
    with httpx2.Client(trust_env=False) as client:
        return client.post(f"{session.base_url('openai-chat')}/chat/completions", json=request)


def test_a_saved_flow_is_replayed_at_the_base_url_and_through_the_proxy(session: ProxySession) -> None:
    """Both ways give the same response, for an unknown host with the proxy's certificate."""
    session.reset(CHAT)
    request = load(FLOWS / "openai-chat-single.flow")[0].request
    trust = ssl.create_default_context(cafile=session.ca_file)
    with httpx2.Client(proxy=session.proxy_url, verify=trust, trust_env=False) as client:
        through = client.post("https://api.nowhere.example/v1/chat/completions", json=request)
    assert through.content == post(session).content
    assert b"get_weather" in through.content


@pytest.mark.parametrize("fault", ["", "drip:ms=1"])
def test_http_2_without_tls(session: ProxySession, fault: str) -> None:
    """AWS's SDK for JavaScript uses it at a base URL without an upgrade."""
    session.reset(Setup(flows=CHAT.flows, fault=(fault,) if fault else ()))
    request = load(FLOWS / "openai-chat-single.flow")[0].request
    with httpx2.Client(http1=False, http2=True, trust_env=False) as client:
        first, second = (
            client.post(f"{session.base_url('openai-chat')}/chat/completions", json=request) for _ in range(2)
        )
    assert (first.http_version, first.status_code) == ("HTTP/2", 200)
    assert first.content == second.content == post(session).content


def test_requests_and_responses_are_reported(session: ProxySession) -> None:
    """Requests have no credentials, calls have events, responses have a source, and a reset removes all of them."""
    session.reset(Setup(flows=CHAT.flows, fault=("empty-id",)))
    with openai.OpenAI(api_key="sk-secret-of-the-test", base_url=session.base_url("openai-chat")) as client:
        stored: Any = load(CHAT.flows[0])[0].request
        chunks = client.chat.completions.create(**{**stored, "stream": True})
        assert next(iter(chunks)).id  # and no more is read
        [exchange] = session.exchanges()
    assert (exchange.request.protocol, exchange.request.model) == ("openai-chat", stored["model"])
    assert exchange.request.json["messages"] == stored["messages"]
    assert "secret" not in json.dumps(dict(exchange.request.headers))
    assert exchange.source.endswith("openai-chat-single.flow#0")
    assert [(call.name, call.input["city"]) for call in exchange.calls] == [("get_weather", "Lisbon")]
    assert {finding["name"] for finding in exchange.findings} == {"empty-id"}
    assert any("get_weather" in line for line in session.log())
    session.reset(CHAT)
    assert (session.exchanges(), session.log()) == ([], [])


def test_an_open_connection_uses_a_later_configuration(session: ProxySession) -> None:
    """This includes timing faults, which mitmproxy needs to know before a connection starts."""
    session.reset(CHAT)
    stored = load(CHAT.flows[0])[0].request
    with httpx2.Client(trust_env=False, base_url=session.base_url("openai-chat")) as client:
        assert client.post("/chat/completions", json=stored).status_code == httpx2.codes.OK
        session.configure(Setup(flows=CHAT.flows, fault=("cut:at=in-arguments",)))
        with pytest.raises(httpx2.RemoteProtocolError):
            client.post("/chat/completions", json=stored)
        session.configure(CHAT)
        assert client.post("/chat/completions", json=stored).status_code == httpx2.codes.OK
    assert [(exchange.calls[0].complete, bool(exchange.broken)) for exchange in session.exchanges()] == [
        (True, False),
        (False, True),
        (True, False),
    ]


def test_a_reset_ends_responses_in_progress(session: ProxySession) -> None:
    """A delayed response is disconnected, and the proxy is in its initial state."""
    session.reset(Setup(flows=CHAT.flows, fault=("stall:ms=60000",)))
    stored = load(CHAT.flows[0])[0].request
    with (
        httpx2.Client(trust_env=False) as client,
        client.stream("POST", f"{session.base_url('openai-chat')}/chat/completions", json=stored) as response,
    ):
        started = time.monotonic()
        session.reset(CHAT)
        assert time.monotonic() - started < 30
        with pytest.raises(httpx2.TransportError):
            response.read()
    assert post(session).status_code == httpx2.codes.OK


def test_unmatched_requests_are_rejected(session: ProxySession) -> None:
    """The error names the host; servers on this machine are reached only if that is allowed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        for network, url_ in (("none", url), ("loopback", "http://example.com/y?token=1")):
            session.reset(Setup(network=network))
            with httpx2.Client(proxy=session.proxy_url, trust_env=False) as client:
                response = client.get(url_)
            assert response.status_code == httpx2.codes.FORBIDDEN
            assert url_.split("/")[2].split(":")[0] in response.json()["error"]["message"]
            assert "token" not in response.text
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        (Setup(fault=("glm5",)), "did you mean glm-5"),
        (Setup(flows=(FLOWS / "no-such.flow",)), "no-such.flow"),
        (Setup(options={"toolstream_logg": "off"}), "toolstream_logg"),
    ],
)
def test_an_invalid_setup_is_rejected(session: ProxySession, setup: Setup, expected: str) -> None:
    """The error is one line, and the session accepts another setup."""
    with pytest.raises(ProxySessionError, match=expected) as raised:
        session.reset(setup)
    assert "\n" not in str(raised.value)
    session.reset(CHAT)
    assert post(session).status_code == httpx2.codes.OK


def test_a_port_in_use_is_an_error() -> None:
    """The error is one line."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ProxySessionError, match=f"port {port} is in use"):
            ProxySession(port=port).start()


def test_a_killed_proxy_is_an_error(session: ProxySession) -> None:
    """The error has the exit code, and the proxy can be started again."""
    session.start()
    assert session._worker is not None
    os.kill(session._worker.pid, signal.SIGKILL)
    with pytest.raises(ProxySessionError, match="exited with code -9"):
        session.exchanges()
    session.reset(CHAT)
    assert post(session).status_code == httpx2.codes.OK


def test_the_proxy_ends_with_its_parent(tmp_path: Path) -> None:
    """The pipe to a killed parent closes."""
    script = (
        "import os, signal\n"
        "from toolstream_core.testing import ProxySession\n"
        "session = ProxySession().start()\n"
        "print(session._worker.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "addon"), "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, check=False)
    worker = int(ended.stdout)
    deadline = time.monotonic() + 30
    while _runs(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(worker)


def _runs(pid: int) -> bool:
    try:
        return (
            "Z"
            not in subprocess.run(
                ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=True
            ).stdout.decode()
        )
    except subprocess.CalledProcessError:
        return False


def test_clients_of_real_providers_keep_their_settings(session: ProxySession) -> None:
    """They trust public authorities, too, and get neither base URLs nor keys."""
    session.reset(Setup(network="all"))
    environment = session.environment()
    trusted = Path(environment["SSL_CERT_FILE"]).read_text()
    assert session.ca_file.read_text() in trusted
    assert trusted.count("BEGIN CERTIFICATE") > 10
    assert "OPENAI_API_KEY" not in environment
    assert environment["HTTPS_PROXY"] == session.proxy_url


def test_a_failed_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the last printed line."""
    monkeypatch.setattr(sessions, "_MODULE", "no_such_module")
    with pytest.raises(ProxySessionError, match=r"exited with code 1: .*No module named no_such_module"):
        ProxySession().start()
