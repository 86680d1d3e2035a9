"""Clients over WebSockets read the same calls from healthy, shaped and repaired responses, through one mitmdump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.harness import repair_options
from tests.e2e.harness.foreign import SOCKET_CLIENTS, Programs, SocketClient, unavailable
from tests.e2e.harness.socket_server import SocketPlan, SocketServer
from tests.e2e.test_foreign import CALLS_SORTED, TOOLS
from tests.e2e.test_repaired import HEALTHY, REPAIRED, TWO, comparable
from tests.e2e.test_sockets import NO_MESSAGES, ends
from tests.e2e.test_sockets import messages_of as events_of
from tests.invariants.test_invariants import injected
from tests.tables import SHAPES
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.invariants.healthy import Healthy

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("foreign")]

CASES = [(one, compressed) for one in SOCKET_CLIENTS for compressed in one.compressions]
NEEDS_TOOLS = {"lost-beginning", "enveloped-arguments"}
"""Defects whose repair needs the tools of the request: these clients offer no tools."""
SHARES = 3
"""Each case tests one of so many parts of the defects; test_sockets.py tests all with the official Python client."""


class ProxiedClients:
    """Clients that read the responses of an upstream for WebSockets through a proxy."""

    def __init__(self, proxy: Mitmdump, upstream: SocketServer) -> None:
        self._proxy = proxy
        self._upstream = upstream
        self.programs = Programs(proxy.ca)

    def read(
        self,
        client: SocketClient,
        responses: Sequence[Sequence[str]],
        *,
        compressed: bool,
        lanes: int = 1,
        repair: Sequence[str] = (),
        shape: Sequence[str] = (),
    ) -> list[Any]:
        """The calls of each response, all on one socket; the responses of several lanes are interleaved."""
        plan = self._upstream.plan(SocketPlan(responses, concurrent=lanes))
        url = f"https://127.0.0.1:{self._proxy.port}{plan.path}"
        headers = {repair_options.HEADER: json.dumps({"toolstream_repair": repair, "toolstream_shape": shape})}
        settings = {"responses": len(responses), "lanes": lanes, "compressed": compressed}
        result = self.programs.request(client.toolchain, client.name, url, "gpt-5", headers, TOOLS, **settings)
        assert "error" not in result, result
        return [sorted(map(tuple, calls), key=repr) for calls in result["responses"]]


@pytest.fixture(scope="module")
def through(proxies: Proxies) -> Iterator[ProxiedClients]:
    """The clients with one mitmdump; each upgrade request sets its options."""
    scripts = (addon_script(), Path(repair_options.__file__))
    with SocketServer() as upstream:
        mode = f"reverse:http://127.0.0.1:{upstream.port}"
        with proxies.make({"toolstream_log": "off"}, mode=mode, scripts=scripts) as proxy:
            shared = ProxiedClients(proxy, upstream)
            with shared.programs:
                yield shared


def messages_of(healthy: Healthy, body: bytes) -> list[str]:
    """The events of a response, as messages."""
    return body.decode().splitlines() if healthy.protocol == "openai-realtime" else events_of(body)


def broken(protocol: str) -> list[list[str]]:
    """The response of two calls with each safely repaired defect that keeps the end of the response."""
    two = TWO[protocol]
    excluded = NO_MESSAGES | NEEDS_TOOLS
    names = [name for name in REPAIRED[protocol] if name not in excluded and comparable(two, name)]
    cases = [injected(two, name) for name in names]
    found = [messages_of(two, one.body) for one in cases if one.changes]
    return [messages for messages in found if ends(messages)]


def named(messages: Sequence[str], number: int) -> list[str]:
    """The messages of a response with another response id."""
    own = json.dumps(json.loads(messages[0])["response"]["id"])
    return [message.replace(own, json.dumps(f"resp_{number}")) for message in messages]


def clients() -> list[Any]:
    """A case for each client, with and without compression, skipped if its toolchain is missing."""
    return [
        pytest.param(
            one,
            compressed,
            id=f"{one} {'deflate' if compressed else 'plain'}",
            marks=pytest.mark.skipif(unavailable(one.toolchain) is not None, reason=unavailable(one.toolchain) or ""),
        )
        for one, compressed in CASES
    ]


@pytest.mark.parametrize(("client", "compressed"), clients())
def test_responses_on_a_socket_are_read(
    through: ProxiedClients, subtests: pytest.Subtests, client: SocketClient, compressed: bool
) -> None:
    """Each client reads the calls of healthy, shaped and repaired responses, and of concurrent lanes."""
    healthy, two = HEALTHY[client.protocol], TWO[client.protocol]
    intended = [CALLS_SORTED[str(one)] for one in healthy]
    calls = CALLS_SORTED[str(two)]
    responses = [messages_of(one, one.body) for one in healthy]
    defective = broken(client.protocol)[CASES.index((client, compressed)) % SHARES :: SHARES]
    assert len(defective) > 5
    with subtests.test("healthy"):
        assert through.read(client, responses, compressed=compressed) == intended
    with subtests.test("shaped"):
        shapes = list(SHAPES[client.protocol])
        assert through.read(client, responses, compressed=compressed, shape=shapes) == intended
    with subtests.test("repaired"):
        read = through.read(client, defective, compressed=compressed, repair=["safe"])
        assert read == [calls for _ in defective]
    if client.lanes > 1:
        with subtests.test("lanes"):
            lanes = [named(one, number) for number, one in enumerate(defective[: client.lanes])]
            read = through.read(client, lanes, compressed=compressed, repair=["safe"], lanes=client.lanes)
            assert read == [calls for _ in lanes]
