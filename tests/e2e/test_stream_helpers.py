"""OpenAI's stream helpers tell calls as done: with `for:openai-stream` each call once, and whole."""

from __future__ import annotations

import json
import ssl
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

import httpx2
import openai
import pytest

from tests.e2e.harness.foreign import TOOLCHAINS, Program
from tests.e2e.harness.script import PATIENCE, event_stream
from tests.invariants.healthy import Healthy, request, streams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("foreign")]

type JsonLine = list[tuple[str, Any]]

CHAT: Final = {one.name: one for one in streams() if one.dialect == "openai-chat"}
MEANT: Final = [("get_time", {"zone": "UTC"}), ("get_weather", {"city": "Oslo 😀\nsouth"})]
JAVASCRIPT: Final = next(one for one in TOOLCHAINS if one.name == "javascript")


def together(interleaved: Healthy) -> Healthy:
    """The same entries, two in an event."""
    head, *frames = interleaved.frames
    entries = [frame for frame in frames if b'"tool_calls": [' in frame]
    joined = []
    for one, other in zip_longest(entries[::2], entries[1::2]):
        payload = json.loads(one.removeprefix(b"data: "))
        if other is not None:
            delta = payload["choices"][0]["delta"]
            delta["tool_calls"] += json.loads(other.removeprefix(b"data: "))["choices"][0]["delta"]["tool_calls"]
        joined.append(b"data: " + json.dumps(payload).encode() + b"\n\n")
    rest = [frame for frame in frames if b'"tool_calls": [' not in frame]
    return interleaved._replace(name="together", body=b"".join([head, *joined, *rest]))


BADLY_READ: Final = {one.name: one for one in (CHAT["interleaved"], together(CHAT["interleaved"]))}
READ: Final = {
    **BADLY_READ,
    **{name: CHAT[name] for name in ("fragments of two", "one chunk each", "two in one event")},
}


def strict() -> list[Any]:
    """Tools whose arguments the helpers parse."""
    tools = request("openai-chat")["tools"]
    return [{**one, "function": {**one["function"], "strict": True}} for one in tools]


def python(proxy: Mitmdump, upstream: Upstream, stream: Healthy) -> JsonLine:
    """The calls that `chat.completions.stream` tells as done."""
    plan = upstream.plan(event_stream(stream.frames))
    context = ssl.create_default_context(cafile=proxy.ca)
    done: JsonLine = []
    with httpx2.Client(proxy=proxy.url, verify=context, timeout=PATIENCE) as http:
        sdk = openai.OpenAI(api_key="none", base_url=f"{upstream.url}/v1", http_client=http, max_retries=0)
        with sdk.chat.completions.stream(
            model="m",
            messages=[{"role": "user", "content": "Go on."}],
            tools=strict(),
            extra_headers=plan.headers,
        ) as events:
            done += [
                (event.name, json.loads(event.arguments))
                for event in events
                if event.type == "tool_calls.function.arguments.done"
            ]
    return sorted(done)


@pytest.mark.parametrize("name", READ)
def test_python(proxies: Proxies, secure: Upstream, name: str) -> None:
    """Each call, whole, once."""
    assert python(proxies.get(toolstream_shape="for:openai-stream"), secure, READ[name]) == MEANT


@pytest.mark.parametrize("name", BADLY_READ)
def test_python_without_it(proxies: Proxies, secure: Upstream, name: str) -> None:
    """What is valid raises, safe repairs or not: there is nothing to mend."""
    with pytest.raises(ValueError, match="line 1"):
        python(proxies.get(toolstream_repair="safe"), secure, READ[name])


@pytest.fixture(scope="module")
def node(proxies: Proxies, secure: Upstream) -> Iterator[Program]:
    """The JavaScript clients, started once: importing them takes a second."""
    with Program(JAVASCRIPT, proxies.get(f"reverse:{secure.url}", toolstream_shape="for:openai-stream").ca) as program:
        yield program


def javascript(program: Program, proxy: Mitmdump, upstream: Upstream, stream: Healthy) -> JsonLine | str:
    """The calls that `chat.completions.stream` tells as done, or how it fails."""
    plan = upstream.plan(event_stream(stream.frames))
    tools = [one["function"] for one in request("openai-chat")["tools"]]
    told = program.request(
        "openai chat.stream events", f"https://127.0.0.1:{proxy.port}", "m", dict(plan.headers), tools
    )
    return sorted((name, json.loads(said)) for name, said, _ in told["calls"]) if "calls" in told else told["error"]


@pytest.mark.skipif(JAVASCRIPT.unavailable is not None, reason=JAVASCRIPT.unavailable or "")
@pytest.mark.parametrize("name", READ)
def test_javascript(node: Program, proxies: Proxies, secure: Upstream, name: str) -> None:
    """Each call, whole, once; without the set those that are badly read are not."""
    mode = f"reverse:{secure.url}"
    assert javascript(node, proxies.get(mode, toolstream_shape="for:openai-stream"), secure, READ[name]) == MEANT
    if name in BADLY_READ:
        assert javascript(node, proxies.get(mode, toolstream_repair="safe"), secure, READ[name]) != MEANT
