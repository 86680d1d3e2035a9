"""Clients of other languages read equal calls of healthy streams, of each shape of them, and of each mended defect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.harness import repair_options
from tests.e2e.harness.foreign import CLIENTS, Client, Programs, unavailable
from tests.e2e.harness.script import Response, Send
from tests.e2e.test_repaired import AIMED, BEFORE, CALLS, HEALTHY, REPAIRED, SAFE, TWO, comparable
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
"""Some clients hand calls out as they end."""
UNREAD = {
    ("javascript google-genai", "event-ids"),
    ("java anthropic", "bom"),
    ("rust async-openai chat", "bom"),
    ("rust async-openai responses", "bom"),
}
"""What event streams may look like and a client does not read."""
NEEDS = {"java langchain4j chat": "for:langchain4j"}
"""Clients that do not bear everything valid, and the shapes that are for them."""


class Through:
    """Programs of other languages through a proxy, before an upstream that answers with healthy streams."""

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
        """What the client makes of the stream, as this model's."""
        plan = self._upstream.plan(
            Response(tuple(map(Send, healthy.frames)), content_type=healthy.exchange.content_type)
        )
        options = json.dumps({"toolstream_repair": repair, "toolstream_shape": shape})
        url = f"https://127.0.0.1:{self._proxy.port}"
        headers = {**plan.headers, repair_options.HEADER: options}
        return self.programs.request(client.toolchain, client.name, url, model, headers, TOOLS)


@pytest.fixture(scope="module")
def through(proxies: Proxies, secure: Upstream) -> Iterator[Through]:
    """One mitmdump for all, in reverse mode: none of these clients has to be told of a proxy."""
    scripts = (addon_script(), Path(repair_options.__file__))
    proxy = proxies.make({"toolstream_log": "off"}, mode=f"reverse:{secure.url}", scripts=scripts)
    proxy.options["toolstream_fault"] = AIMED
    with proxy:
        shared = Through(proxy, secure)
        with shared.programs:
            yield shared


def clients() -> list[Any]:
    """A case for each client, skipped where its toolchain is not there."""
    return [
        pytest.param(
            one,
            id=str(one),
            marks=pytest.mark.skipif(unavailable(one.toolchain) is not None, reason=unavailable(one.toolchain) or ""),
        )
        for one in CLIENTS
    ]


def is_meant(told: Mapping[str, Any], client: Client, healthy: Healthy) -> bool:
    """The calls, and the way in which the turn ended, are those of the healthy stream; each call has its own id."""
    assert "error" not in told
    assert sorted(((name, arguments) for name, arguments, _ in told["calls"]), key=repr) == CALLS_SORTED[str(healthy)]
    assert told["finish"] == client.finish
    ids = [one for _, _, one in told["calls"] if one is not None]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    return True


@pytest.mark.parametrize("client", clients())
def test_healthy_streams(through: Through, subtests: pytest.Subtests, client: Client) -> None:
    """With every safe repair on."""
    shape = [NEEDS[str(client)]] if str(client) in NEEDS else []
    for healthy in HEALTHY[client.dialect]:
        with subtests.test(stream=str(healthy)):
            assert is_meant(through.read(client, healthy, repair=SAFE, shape=shape), client, healthy)


@pytest.mark.parametrize("client", clients())
def test_shapes(through: Through, subtests: pytest.Subtests, client: Client) -> None:
    """Other ways to say the same calls."""
    two = TWO[client.dialect]
    for shape in SHAPES[client.dialect]:
        with subtests.test(shape=shape):
            told = through.read(client, two, shape=[*BEFORE.get(shape, ()), shape])
            if (str(client), shape) in UNREAD:
                with pytest.raises(AssertionError):
                    is_meant(told, client, two)
            else:
                assert is_meant(told, client, two)


@pytest.mark.parametrize("client", clients())
def test_mended_defects(through: Through, subtests: pytest.Subtests, client: Client) -> None:
    """Each defect with every third client of its protocol; not all are read without repair."""
    streams = {name: healthy for name in REPAIRED[client.dialect] if (healthy := comparable_stream(client, name))}
    others = [one for one in CLIENTS if one.dialect == client.dialect]
    every = 1 if ALL_PAIRS else min(3, len(others))
    for number, (name, healthy) in enumerate(streams.items(), others.index(client)):
        if number % every == 0:
            with subtests.test(defect=name):
                assert is_meant(through.read(client, healthy, name, repair=SAFE), client, healthy)
    assert any(is_misread(through, client, name, healthy) for name, healthy in streams.items())


def comparable_stream(client: Client, name: str) -> Healthy | None:
    """A stream of two calls that can have the defect, or of one where it can say no more."""
    known = (TWO[client.dialect], *HEALTHY[client.dialect])
    return next((one for one in known if injected(one, name).changes and comparable(one, name)), None)


def is_misread(through: Through, client: Client, name: str, healthy: Healthy) -> bool:
    """Whether the client reads other calls than are meant where the defect is not repaired."""
    raw = through.read(client, healthy, name)
    try:
        return not is_meant(raw, client, healthy)
    except AssertionError:
        return True
