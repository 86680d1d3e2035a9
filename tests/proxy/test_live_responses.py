"""The responses in progress."""

from __future__ import annotations

from threading import Event, Thread, current_thread
from types import SimpleNamespace
from typing import TYPE_CHECKING

from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.test import taddons

from tests.proxy.flows import CHUNK, llm_flow
from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.saved.flow import request_json

if TYPE_CHECKING:
    import pytest
    from mitmproxy import http

    from toolstream_core.model import Json


def test_a_request_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdict, repair and response share the parsed request; a body that changed later is parsed again."""
    parsed: list[bytes | None] = []

    def counted(request: http.Request) -> Json:
        parsed.append(request.raw_content)
        return request_json(request)

    monkeypatch.setattr("toolstream_core.proxy.live_responses.request_json", counted)
    addon = ToolstreamAddon()
    with taddons.context(Proxyserver(), addon) as context:
        context.configure(addon, toolstream_repair=["safe"])
        addon.running()
        for changed in (None, b'{"model":"other","stream":true}'):
            flow, parsed[:] = llm_flow(), ()
            addon.request(flow)
            if changed is not None:
                flow.request.content = changed
            addon.responseheaders(flow)
            assert flow.response is not None
            assert callable(flow.response.stream)
            flow.response.stream(CHUNK)
            addon.response(flow)
            assert parsed[1 if changed else 0 :] == [flow.request.raw_content]
        addon.done()


def test_the_first_request_of_a_protocol_loads_its_stages_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stages are loaded once, in a thread, so the event loop does not wait for them at the response."""
    loaded: list[Thread] = []
    finished = Event()

    def load() -> None:
        loaded.append(current_thread())
        finished.set()

    protocol = SimpleNamespace(name="made-up", load_stages=load)
    monkeypatch.setattr("toolstream_core.proxy.live_responses.claiming", lambda _path: protocol)
    addon = ToolstreamAddon()
    with taddons.context(Proxyserver(), addon):
        addon.running()
        for _ in range(3):
            addon.request(llm_flow())
        assert finished.wait(60)
        addon.done()
    [thread] = loaded
    assert thread is not current_thread()
