"""Timing and connection faults in each mode of the proxy, and on replayed responses."""

from __future__ import annotations

import json
import re
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.script import event_stream
from toolstream_core.proxy.provider import OPTIONS
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

FLOWS = Path(__file__).resolve().parents[2] / "flows"
CHAT = openai_chat("call_1", "Bern")
COMPLETE = b"".join(CHAT.chunks)
SAVED = load(FLOWS / "openai-chat-single.flow")[0]
SPECS = {
    "first": "first-byte-delay:ms=250",
    "stall": "stall:ms=250",
    "drip": "drip:ms=20",
    "close": "cut",
    "reset": "cut:how=reset",
    "bytes": "recut:bytes=9",
    "error": "error-event",
    "hold": "hold-open:ms=250",
    "twice": "duplicate-event:at=event:2",
    "drop": "drop-event:at=event:2",
    "swap": "swap-events:at=event:2",
    "http": "http-error:status=503",
}
FAULTS = [f"{spec},model={name}" if ":" in spec else f"{spec}:model={name}" for name, spec in SPECS.items()]
SAME = {"first", "stall", "drip", "bytes", "hold"}
SLOW = {"first", "stall", "drip", "hold"}


@pytest.mark.parametrize("mode", ["reverse", "upstream"])
@pytest.mark.parametrize("version", ["h1", "h2"])
def test_faults_act_in_other_modes(proxies: Proxies, secure: Upstream, mode: str, version: str) -> None:
    """In reverse mode, and with another proxy as upstream, each fault acts on the response of its model only."""
    proxy = (
        proxies.get(f"reverse:{secure.url}", toolstream_fault=FAULTS)
        if mode == "reverse"
        else proxies.chained(toolstream_fault=FAULTS)
    )
    before = len(proxy.output)
    for name in ("stall", "close", "none", "bytes"):
        body = json.dumps(CHAT.request | {"model": name}).encode()
        plan = secure.plan(event_stream(CHAT.chunks))
        start = time.monotonic()
        with client(version, route(proxy, secure)) as connection:
            reply = connection.request(CHAT.path, body, plan.headers)
            if name == "close":
                with pytest.raises(BrokenOffError):
                    reply.rest()
            else:
                assert reply.rest() == COMPLETE
        assert name != "stall" or time.monotonic() - start > 0.24
        if name != "none":
            proxy.wait_for(_acted(name), after=before)
    # Each fault is logged before the next request: no response had the fault of another.
    lines = proxy.output[before:]
    acted = [name for name in SPECS if any(re.search(_acted(name), line) for line in lines)]
    assert acted == ["stall", "close", "bytes"]
    assert sum(re.search(_acted(""), line) is not None for line in lines) == 3


def _acted(name: str) -> str:
    """A pattern of the log line for a fault that acted on this model, or on any model without a name."""
    return rf"fault \S*model={name or r'\w+'}: \d+ change"


@pytest.fixture(scope="module")
def timed(proxies: Proxies) -> Mitmdump:
    """A proxy that replays saved flows with every fault, at fifty times their speed."""
    return proxies.get(
        toolstream_provider=str(FLOWS),
        toolstream_fault=FAULTS,
        toolstream_speed="50",
        toolstream_provider_repeats="0",
        **OPTIONS,
    )


@pytest.mark.parametrize("http2", [False, True])
@pytest.mark.parametrize("name", SPECS)
def test_faults_act_on_replayed_responses(timed: Mitmdump, name: str, http2: bool) -> None:
    """Every fault acts on responses from saved flows."""
    request = {**SAVED.request, "model": name}
    context = ssl.create_default_context(cafile=timed.ca)
    start, before = time.monotonic(), len(timed.output)
    body, broken, status = b"", False, 200
    with httpx2.Client(proxy=timed.url, verify=context, http2=http2) as http:
        try:
            with http.stream("POST", f"https://llm.invalid{SAVED.path}", json=request) as reply:
                status = reply.status_code
                for chunk in reply.iter_raw():
                    body += chunk
        except httpx2.HTTPError:
            broken = True
    assert status == (503 if name == "http" else 200)
    assert broken == (name in {"close", "reset"})
    assert (body == SAVED.body) == (name in SAME)
    assert name not in SLOW or time.monotonic() - start > 0.24
    if name != "http":  # its status shows the fault
        timed.wait_for(_acted(name), timeout=20, after=before)
