"""Timing and connection faults with real clients: openai for Python, and Node's fetch."""

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
const headers = {"content-type": "application/json", "x-plan": key};
const result = {text: "", error: null, status: 0};
try {
  const response = await fetch(url, {method: "POST", headers, body});
  result.status = response.status;
  const decoder = new TextDecoder();
  for await (const chunk of response.body) result.text += decoder.decode(chunk, {stream: true});
} catch (error) { result.error = String(error.cause?.code ?? error.message); }
console.log(JSON.stringify(result));
"""


@pytest.fixture(scope="module")
def proxy(proxies: Proxies) -> Mitmdump:
    """A proxy with every fault; the model of a request selects the fault."""
    return proxies.get(toolstream_fault=OPTIONS)


class SdkResult:
    """The arguments that the openai SDK read from a response, or its error."""

    def __init__(
        self, proxy: Mitmdump, upstream: Upstream, model: str, *, timeout: float = 20, retries: int = 0
    ) -> None:
        """Request a response with the fault of that name."""
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
def test_openai_raises_at_timeouts_and_disconnects(
    proxy: Mitmdump, secure: Upstream, model: str, timeout: float, error: str
) -> None:
    """The openai SDK raises after its timeout and at a truncated stream, and reads delayed streams."""
    result = SdkResult(proxy, secure, model, timeout=timeout)
    assert result.error == error
    if not error:
        assert result.arguments == ARGUMENTS


def test_openai_retries_after_the_given_time(proxy: Mitmdump, secure: Upstream) -> None:
    """The openai SDK retries after the seconds of `retry-after`."""
    result = SdkResult(proxy, secure, "busy", retries=1)
    assert (result.error, result.arguments) == ("", ARGUMENTS)
    assert result.seconds >= 1


def test_openai_stops_at_done(proxy: Mitmdump, secure: Upstream) -> None:
    """The openai SDK stops at `[DONE]`, and does not wait for the end of the connection."""
    result = SdkResult(proxy, secure, "held")
    assert (result.error, result.arguments) == ("", ARGUMENTS)
    assert result.seconds < 300


@pytest.mark.parametrize("model", ["twice", "drop", "swap"])
def test_openai_joins_duplicated_dropped_or_swapped_events(proxy: Mitmdump, secure: Upstream, model: str) -> None:
    """The openai SDK joins duplicated, dropped or swapped events to wrong arguments without an error."""
    result = SdkResult(proxy, secure, model)
    assert result.error == ""
    assert result.arguments != ARGUMENTS


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize(
    ("model", "complete", "broken"),
    [
        ("none", True, False),
        ("bytes", True, False),
        ("stall", True, False),
        ("close", False, True),
        ("reset", False, True),
        ("error", False, False),
    ],
)
def test_node_raises_at_a_disconnect(
    proxies: Proxies, plain: Upstream, model: str, complete: bool, broken: bool
) -> None:
    """Node's fetch raises at a disconnect, and returns a stream that ends normally."""
    reverse = proxies.get(f"reverse:{plain.url}", toolstream_fault=OPTIONS)
    plan = plain.plan(event_stream(CHAT.chunks))
    url = f"http://{route(reverse, plain).authority}{CHAT.path}"
    command = ["node", "--input-type=module", "-e", NODE, "--", url, plan.key, model]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    result = json.loads(done.stdout)
    assert result["status"] == 200
    assert (result["text"] == b"".join(CHAT.chunks).decode()) == complete
    assert (result["error"] is not None) == broken
