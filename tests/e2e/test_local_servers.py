"""`toolstream run` with local model servers, over plain HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from tests.cli.processes import environment, toolstream
from tests.e2e.harness.samples import openai_chat

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = openai_chat("call_1", "Bern")
CLIENTS = """
import json, sys, urllib.request
import httpx, openai, requests
host, body = sys.argv[1], sys.argv[2].encode()
url, headers = f"http://{host}/v1/chat/completions", {"content-type": "application/json"}
urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()
requests.post(url, body, headers=headers)
httpx.post(url, content=body, headers=headers)
client = openai.OpenAI(base_url=f"http://{host}/v1", api_key="none")
list(client.chat.completions.create(**json.loads(body)))
"""
BYPASSING = """
import http.client, os, sys, urllib.parse
parts = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
connection = http.client.HTTPConnection(parts.netloc)
connection.request("POST", f"{parts.path}/chat/completions", sys.argv[1], {"content-type": "application/json"})
connection.getresponse().read()
"""


@contextmanager
def server() -> Iterator[int]:
    """A model server on a free port; yields the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = b"".join(SAMPLE.chunks)
            self.send_response(200)
            self.send_header("content-type", SAMPLE.content_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = Thread(target=running.serve_forever)
        thread.start()
        try:
            yield running.server_port
        finally:
            running.shutdown()
            thread.join()


def ran(*words: str, **env: str) -> list[str]:
    """The lines of `toolstream run` on standard error."""
    command = toolstream("run", *words)
    done = subprocess.run(command, capture_output=True, env=environment(**env), timeout=120, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


@pytest.mark.e2e
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_clients_use_the_proxy_for_local_servers(host: str) -> None:
    """Clients use the proxy for a local server although `NO_PROXY` excludes it; the log has host and port."""
    body = json.dumps(SAMPLE.request)
    direct = {"NO_PROXY": "localhost,127.0.0.1", "no_proxy": "localhost,127.0.0.1"}
    with server() as port:
        log = ran("--", sys.executable, "-c", CLIENTS, f"{host}:{port}", body, **direct)
    assert [line.split()[2] for line in log if " POST " in line] == [f"{host}:{port}/v1/chat/completions"] * 4
    assert "toolstream: 4 requests, 4 responses, 4 calls sent" in log


@pytest.mark.e2e
def test_run_gives_hints_if_a_client_bypasses_the_proxy() -> None:
    """The hints are `--base-url` and reverse mode; `--base-url` works for a client that reads a variable."""
    command = ["--", sys.executable, "-c", BYPASSING, json.dumps(SAMPLE.request)]
    with server() as port:
        url = f"http://127.0.0.1:{port}/v1"
        log = ran(*command, OPENAI_BASE_URL=url)
        assert "toolstream: 0 requests, 0 responses, 0 calls sent" in log
        assert any("--base-url" in line for line in log)
        assert any("mitmdump --mode reverse:http://127.0.0.1:PORT" in line for line in log)
        log = ran("--base-url", url, *command)
        assert "toolstream: 1 request, 1 response, 1 call sent" in log
        log = ran("--base-url", *command, OPENAI_BASE_URL=url)
        assert any(f"POST 127.0.0.1:{port}/v1/chat/completions" in line for line in log)
