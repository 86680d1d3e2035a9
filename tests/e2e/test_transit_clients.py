"""What real clients make of faults of time and of the connection: openai for Python, and Node's own fetch."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import time
from typing import TYPE_CHECKING

import httpx2
import openai
import pytest

from tests.e2e.harness.proxies import route
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.script import event_stream

if TYPE_CHECKING:
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

CHAT = openai_chat("call_1", "Bern")
ARGUMENTS = '{"city": "Bern"}'
SPECS = {
    "late": "first-byte-delay:ms=600",
    "stall": "stall:ms=600",
    "later": "first-byte-delay:ms=600000",
    "stalled": "stall:ms=600000",
    "close": "cut",
    "reset": "cut:how=reset",
    "done": "cut:at=before-done",
    "bytes": "recut:bytes=1",
    "error": "error-event",
    "held": "hold-open:ms=600000",
    "twice": "duplicate-event",
    "drop": "drop-event",
    "swap": "swap-events",
    "busy": "http-error:status=429,retry-after=1,times=1",
    "down": "http-error:status=503",
}
OPTIONS = [f"{spec},model={name}" if ":" in spec else f"{spec}:model={name}" for name, spec in SPECS.items()]
NODE = """
const [url, key, model] = process.argv.slice(1);
const body = JSON.stringify({model, stream: true, messages: [], tools: []});
const headers = {"content-type": "application/json", "x-answer": key};
const told = {text: "", error: null, status: 0};
try {
  const answer = await fetch(url, {method: "POST", headers, body});
  told.status = answer.status;
  const decoder = new TextDecoder();
  for await (const piece of answer.body) told.text += decoder.decode(piece, {stream: true});
} catch (error) { told.error = String(error.cause?.code ?? error.message); }
console.log(JSON.stringify(told));
"""


@pytest.fixture(scope="module")
def proxy(proxies: Proxies) -> Mitmdump:
    """A proxy with every fault, each for requests of one model."""
    return proxies.get(toolstream_fault=OPTIONS)


class ReceivedRequest:
    """What the openai SDK made of an answer."""

    def __init__(
        self, proxy: Mitmdump, upstream: Upstream, model: str, *, timeout: float = 20, retries: int = 0
    ) -> None:
        """Ask for it under the fault of that name."""
        plan = upstream.plan(event_stream(CHAT.chunks))
        self.arguments, self.error = "", ""
        start = time.monotonic()
        context = ssl.create_default_context(cafile=proxy.ca)
        with httpx2.Client(proxy=proxy.url, verify=context) as http:
            sdk = openai.OpenAI(
                api_key="none",
                base_url=f"{upstream.url}/v1",
                http_client=http,
                max_retries=retries,
                timeout=timeout,
                default_headers=plan.headers,
            )
            try:
                self._read(sdk, model)
            except (openai.APIError, httpx2.HTTPError) as error:
                self.error = type(error).__name__
        self.seconds = time.monotonic() - start

    def _read(self, sdk: openai.OpenAI, model: str) -> None:
        chunks = sdk.chat.completions.create(model=model, messages=[{"role": "user", "content": "?"}], stream=True)
        for chunk in chunks:
            for call in chunk.choices[0].delta.tool_calls or []:
                self.arguments += (call.function.arguments or "") if call.function else ""


@pytest.mark.parametrize(
    ("model", "timeout", "error"),
    [
        ("later", 0.2, "APITimeoutError"),
        ("late", 20, ""),
        ("stalled", 0.2, "APITimeoutError"),
        ("stall", 20, ""),
        ("close", 20, "APIConnectionError"),
        ("reset", 20, "APIConnectionError"),
        ("done", 20, "APIConnectionError"),
        ("error", 20, "APIError"),
        ("down", 20, "InternalServerError"),
        ("bytes", 20, ""),
    ],
)
def test_openai(proxy: Mitmdump, secure: Upstream, model: str, timeout: float, error: str) -> None:
    """It waits as long as it was told to, and takes no broken stream for a whole one."""
    asked = ReceivedRequest(proxy, secure, model, timeout=timeout)
    assert asked.error == error
    if not error:
        assert asked.arguments == ARGUMENTS


def test_openai_asks_again_where_it_is_told_to(proxy: Mitmdump, secure: Upstream) -> None:
    """After as many seconds as `retry-after` says."""
    asked = ReceivedRequest(proxy, secure, "busy", retries=1)
    assert (asked.error, asked.arguments) == ("", ARGUMENTS)
    assert asked.seconds >= 1


def test_openai_leaves_at_done(proxy: Mitmdump, secure: Upstream) -> None:
    """It does not wait for the connection's end."""
    asked = ReceivedRequest(proxy, secure, "held")
    assert (asked.error, asked.arguments) == ("", ARGUMENTS)
    assert asked.seconds < 300


@pytest.mark.parametrize("model", ["twice", "drop", "swap"])
def test_openai_believes_what_comes(proxy: Mitmdump, secure: Upstream, model: str) -> None:
    """Events that come twice, not at all or in another order are joined as they come."""
    asked = ReceivedRequest(proxy, secure, model)
    assert asked.error == ""
    assert asked.arguments != ARGUMENTS


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize(
    ("model", "whole", "broken"),
    [
        ("none", True, False),
        ("bytes", True, False),
        ("stall", True, False),
        ("close", False, True),
        ("reset", False, True),
        ("error", False, False),
    ],
)
def test_node(proxies: Proxies, plain: Upstream, model: str, whole: bool, broken: bool) -> None:
    """Its fetch tells a break from an end."""
    reverse = proxies.get(f"reverse:{plain.url}", toolstream_fault=OPTIONS)
    plan = plain.plan(event_stream(CHAT.chunks))
    url = f"http://{route(reverse, plain).authority}{CHAT.path}"
    command = ["node", "--input-type=module", "-e", NODE, "--", url, plan.key, model]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    told = json.loads(done.stdout)
    assert told["status"] == 200
    assert (told["text"] == b"".join(CHAT.chunks).decode()) == whole
    assert (told["error"] is not None) == broken
