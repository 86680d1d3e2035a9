"""Clients in other languages read the same calls from healthy, shaped and repaired streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.harness import repair_options
from tests.e2e.harness.foreign import CLIENTS, Client, Programs, unavailable
from tests.e2e.harness.script import Response, Send
from tests.e2e.test_repaired import AIMED, CALLS, HEALTHY, PRECEDING_SHAPES, REPAIRED, SAFE, TWO, comparable
from tests.invariants.test_invariants import ALL_PAIRS, injected
from tests.tables import SHAPES
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream
    from tests.invariants.healthy import Healthy

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("foreign")]

TOOLS = [
    {"name": name, "description": "A tool.", "parameters": {"type": "object", "properties": properties}}
    for name, properties in (
        ("get_weather", {"city": {"type": "string"}}),
        ("get_time", {"zone": {"type": "string"}}),
        ("ping", {}),
    )
]
CALLS_SORTED = {stream: sorted(calls, key=repr) for stream, calls in CALLS.items()}
"""The calls in a fixed order: some clients return calls in the order in which they end."""
UNREAD = {
    ("java langchain4j chat", "interleaved"),
    ("javascript google-genai", "event-ids"),
    ("java anthropic", "bom"),
    ("rust async-openai chat", "bom"),
    ("rust async-openai responses", "bom"),
}
"""Valid encodings of an event stream that a client does not read."""
NEEDED_SHAPES = {"java langchain4j chat": "for:langchain4j"}
"""Clients that do not read every valid stream, and their shapes."""


class ProxiedClients:
    """Clients in other languages that read the streams of an upstream through a proxy."""

    def __init__(self, proxy: Mitmdump, upstream: Upstream) -> None:
        self._proxy = proxy
        self._upstream = upstream
        self.programs = Programs(proxy.ca)

    def read(
        self,
        client: Client,
        healthy: Healthy,
        model: str = "none",
        *,
        repair: Sequence[str] = (),
        shape: Sequence[str] = (),
    ) -> dict[str, Any]:
        """The calls and finish reason that the client reads from the stream, requested with this model."""
        plan = self._upstream.plan(
            Response(tuple(map(Send, healthy.frames)), content_type=healthy.exchange.content_type)
        )
        options = json.dumps({"toolstream_repair": repair, "toolstream_shape": shape})
        url = f"https://127.0.0.1:{self._proxy.port}"
        headers = {**plan.headers, repair_options.HEADER: options}
        return self.programs.request(client.toolchain, client.name, url, model, headers, TOOLS)


@pytest.fixture(scope="module")
def through(proxies: Proxies, secure: Upstream) -> Iterator[ProxiedClients]:
    """The clients with one mitmdump in reverse mode: they need no proxy settings."""
    scripts = (addon_script(), Path(repair_options.__file__))
    proxy = proxies.make({"toolstream_log": "off"}, mode=f"reverse:{secure.url}", scripts=scripts)
    proxy.options["toolstream_fault"] = AIMED
    with proxy:
        shared = ProxiedClients(proxy, secure)
        with shared.programs:
            yield shared


def clients() -> list[Any]:
    """A case for each client, skipped if its toolchain is missing."""
    return [
        pytest.param(
            one,
            id=str(one),
            marks=pytest.mark.skipif(unavailable(one.toolchain) is not None, reason=unavailable(one.toolchain) or ""),
        )
        for one in CLIENTS
    ]


def is_read_as_intended(result: Mapping[str, Any], client: Client, healthy: Healthy) -> bool:
    """The result has the calls and the finish reason of the healthy stream, and each call has a unique id."""
    assert "error" not in result
    assert sorted(((name, arguments) for name, arguments, _ in result["calls"]), key=repr) == CALLS_SORTED[str(healthy)]
    assert result["finish"] == client.finish
    ids = [call_id for _, _, call_id in result["calls"] if call_id is not None]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    return True


@pytest.mark.parametrize("client", clients())
def test_healthy_streams_are_read(through: ProxiedClients, subtests: pytest.Subtests, client: Client) -> None:
    """Each client reads the healthy streams with safe repairs on."""
    shape = [NEEDED_SHAPES[str(client)]] if str(client) in NEEDED_SHAPES else []
    for healthy in HEALTHY[client.protocol]:
        with subtests.test(stream=str(healthy)):
            assert is_read_as_intended(through.read(client, healthy, repair=SAFE, shape=shape), client, healthy)


@pytest.mark.parametrize("client", clients())
def test_shaped_streams_are_read(through: ProxiedClients, subtests: pytest.Subtests, client: Client) -> None:
    """Each client reads the same calls from the shapes of its protocol, except the encodings in `UNREAD`."""
    two = TWO[client.protocol]
    for shape in SHAPES[client.protocol]:
        with subtests.test(shape=shape):
            result = through.read(client, two, shape=[*PRECEDING_SHAPES.get(shape, ()), shape])
            if (str(client), shape) in UNREAD:
                with pytest.raises(AssertionError):
                    is_read_as_intended(result, client, two)
            else:
                assert is_read_as_intended(result, client, two)


@pytest.mark.parametrize("client", clients())
def test_repaired_defects_are_read(through: ProxiedClients, subtests: pytest.Subtests, client: Client) -> None:
    """Each client reads a third of the repaired defects of its protocol, and misreads at least one without repair."""
    streams = {name: healthy for name in REPAIRED[client.protocol] if (healthy := comparable_stream(client, name))}
    others = [one for one in CLIENTS if one.protocol == client.protocol]
    every = 1 if ALL_PAIRS else min(3, len(others))
    for number, (name, healthy) in enumerate(streams.items(), others.index(client)):
        if number % every == 0:
            with subtests.test(defect=name):
                assert is_read_as_intended(through.read(client, healthy, name, repair=SAFE), client, healthy)
    assert any(is_misread(through, client, name, healthy) for name, healthy in streams.items())


def comparable_stream(client: Client, name: str) -> Healthy | None:
    """A stream that can have the defect: of two calls, or of one call if the defect allows no more."""
    known = (TWO[client.protocol], *HEALTHY[client.protocol])
    return next((one for one in known if injected(one, name).changes and comparable(one, name)), None)


def is_misread(through: ProxiedClients, client: Client, name: str, healthy: Healthy) -> bool:
    """Whether the client reads other calls than intended without repair."""
    raw = through.read(client, healthy, name)
    try:
        return not is_read_as_intended(raw, client, healthy)
    except AssertionError:
        return True
