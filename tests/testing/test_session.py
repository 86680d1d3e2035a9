"""One proxy process for many setups: its start, resets, what it tells, its end."""

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

from tests.conftest import ROOT
from toolstream_core.saved.read import load
from toolstream_core.testing import ProxySession, ProxySessionError, Setup
from toolstream_core.testing import session as sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

FLOWS = ROOT / "flows"
CHAT = Setup(flows=(FLOWS / "openai-chat-single.flow",))


@pytest.fixture(scope="module")
def session() -> Iterator[ProxySession]:
    """The proxy of all tests here; each resets it."""
    with ProxySession() as started:
        yield started


def ask(session: ProxySession, flow: str = "openai-chat-single", **more: Any) -> httpx2.Response:
    """Ask what the flow's client asked, at the base URL."""
    request = {**load(FLOWS / f"{flow}.flow")[0].request, **more}
    with httpx2.Client(trust_env=False) as client:
        return client.post(f"{session.base_url('openai-chat')}/chat/completions", json=request)


def test_a_saved_flow_answers_at_the_base_url_and_through_the_proxy(session: ProxySession) -> None:
    """The same answer by both ways, for a host that does not exist, with the certificate that is named."""
    session.reset(CHAT)
    request = load(FLOWS / "openai-chat-single.flow")[0].request
    trust = ssl.create_default_context(cafile=session.ca_file)
    with httpx2.Client(proxy=session.proxy_url, verify=trust, trust_env=False) as client:
        through = client.post("https://api.nowhere.example/v1/chat/completions", json=request)
    assert through.content == ask(session).content
    assert b"get_weather" in through.content


@pytest.mark.parametrize("fault", ["", "drip:ms=1"])
def test_http_2_without_tls(session: ProxySession, fault: str) -> None:
    """AWS's SDK for JavaScript begins with it at a base URL, and asks for no upgrade."""
    session.reset(Setup(flows=CHAT.flows, fault=(fault,) if fault else ()))
    request = load(FLOWS / "openai-chat-single.flow")[0].request
    with httpx2.Client(http1=False, http2=True, trust_env=False) as client:
        first, second = (
            client.post(f"{session.base_url('openai-chat')}/chat/completions", json=request) for _ in range(2)
        )
    assert (first.http_version, first.status_code) == ("HTTP/2", 200)
    assert first.content == second.content == ask(session).content


def test_what_was_asked_and_answered_is_told(session: ProxySession) -> None:
    """Requests without credentials, calls with their events, where the answer came from; a reset forgets it."""
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
    assert [(call.name, call.input["city"]) for call in session.calls] == [("get_weather", "Lisbon")]
    assert {finding["name"] for finding in session.findings} == {"empty-id"}
    assert any("get_weather" in line for line in session.log())
    session.reset(CHAT)
    assert (session.requests, session.calls, session.log()) == ([], [], [])


def test_an_open_connection_meets_what_is_configured_later(session: ProxySession) -> None:
    """Faults of time too, which have to be known to mitmproxy before a connection begins."""
    session.reset(CHAT)
    stored = load(CHAT.flows[0])[0].request
    with httpx2.Client(trust_env=False, base_url=session.base_url("openai-chat")) as client:
        assert client.post("/chat/completions", json=stored).status_code == httpx2.codes.OK
        session.configure(Setup(flows=CHAT.flows, fault=("cut:at=in-arguments",)))
        with pytest.raises(httpx2.RemoteProtocolError):
            client.post("/chat/completions", json=stored)
        session.configure(CHAT)
        assert client.post("/chat/completions", json=stored).status_code == httpx2.codes.OK
    assert [(one.calls[0].complete, bool(one.broken)) for one in session.exchanges()] == [
        (True, False),
        (False, True),
        (True, False),
    ]


def test_a_reset_ends_what_is_on_its_way(session: ProxySession) -> None:
    """An answer that waits, for a minute here, is broken, and the proxy is as if newly started."""
    session.reset(Setup(flows=CHAT.flows, fault=("stall:ms=60000",)))
    stored = load(CHAT.flows[0])[0].request
    with (
        httpx2.Client(trust_env=False) as client,
        client.stream("POST", f"{session.base_url('openai-chat')}/chat/completions", json=stored) as response,
    ):
        begun = time.monotonic()
        session.reset(CHAT)
        assert time.monotonic() - begun < 30
        with pytest.raises(httpx2.TransportError):
            response.read()
    assert ask(session).status_code == httpx2.codes.OK


def test_nothing_goes_to_the_network(session: ProxySession) -> None:
    """What no flow answers is refused and named; servers of this machine only where that is allowed."""
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
    ("setup", "right"),
    [
        (Setup(fault=("glm5",)), "did you mean glm-5"),
        (Setup(flows=(FLOWS / "no-such.flow",)), "no-such.flow"),
        (Setup(options={"toolstream_logg": "off"}), "toolstream_logg"),
    ],
)
def test_a_wrong_setup_is_told_in_a_line_and_changes_nothing(session: ProxySession, setup: Setup, right: str) -> None:
    """The session goes on with a setup that is right."""
    with pytest.raises(ProxySessionError, match=right) as raised:
        session.reset(setup)
    assert "\n" not in str(raised.value)
    session.reset(CHAT)
    assert ask(session).status_code == httpx2.codes.OK


def test_a_taken_port_keeps_it_from_starting() -> None:
    """Told in one line."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ProxySessionError, match=f"port {port} is in use"):
            ProxySession(port=port).start()


def test_a_proxy_that_dies_is_told(session: ProxySession) -> None:
    """With its exit code; it can be started again."""
    session.start()
    assert session._worker is not None
    os.kill(session._worker.pid, signal.SIGKILL)
    with pytest.raises(ProxySessionError, match="exited with code -9"):
        session.exchanges()
    session.reset(CHAT)
    assert ask(session).status_code == httpx2.codes.OK


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    """However that ends: the pipe between them closes."""
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


def test_clients_of_real_providers_trust_these_too(session: ProxySession) -> None:
    """With the network there are no base URLs and no keys of ours."""
    session.reset(Setup(network="all"))
    environment = session.environment()
    trusted = Path(environment["SSL_CERT_FILE"]).read_text()
    assert session.ca_file.read_text() in trusted
    assert trusted.count("BEGIN CERTIFICATE") > 10
    assert "OPENAI_API_KEY" not in environment
    assert environment["HTTPS_PROXY"] == session.proxy_url


def test_why_it_did_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last thing that it printed."""
    monkeypatch.setattr(sessions, "_MODULE", "no_such_module")
    with pytest.raises(ProxySessionError, match=r"exited with code 1: .*No module named no_such_module"):
        ProxySession().start()
