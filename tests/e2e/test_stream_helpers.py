"""OpenAI's stream helpers emit a `done` event for each call: with `for:openai-stream` once, and complete."""

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

type Done = list[tuple[str, Any]]

CHAT: Final = {one.name: one for one in streams() if one.protocol == "openai-chat"}
INTENDED: Final = [("get_time", {"zone": "UTC"}), ("get_weather", {"city": "Oslo 😀\nsouth"})]
JAVASCRIPT: Final = next(one for one in TOOLCHAINS if one.name == "javascript")


def two_in_each_event(interleaved: Healthy) -> Healthy:
    """The same stream with two entries in each event."""
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
    return interleaved._replace(name="two in each event", body=b"".join([head, *joined, *rest]))


MISREAD: Final = {one.name: one for one in (CHAT["interleaved"], two_in_each_event(CHAT["interleaved"]))}
STREAMS: Final = {
    **MISREAD,
    **{name: CHAT[name] for name in ("fragments of two", "one chunk each", "two in one event")},
}


def strict() -> list[Any]:
    """Strict tools: the helpers parse their arguments."""
    tools = request("openai-chat")["tools"]
    return [{**one, "function": {**one["function"], "strict": True}} for one in tools]


def python(proxy: Mitmdump, upstream: Upstream, stream: Healthy) -> Done:
    """The calls of the `done` events of Python's `chat.completions.stream`."""
    plan = upstream.plan(event_stream(stream.frames))
    context = ssl.create_default_context(cafile=proxy.ca)
    done: Done = []
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


@pytest.mark.parametrize("name", STREAMS)
def test_python_reads_each_call_once(proxies: Proxies, secure: Upstream, name: str) -> None:
    """With `for:openai-stream` the Python helper emits each complete call once."""
    assert python(proxies.get(toolstream_shape="for:openai-stream"), secure, STREAMS[name]) == INTENDED


@pytest.mark.parametrize("name", MISREAD)
def test_python_raises_without_the_shape(proxies: Proxies, secure: Upstream, name: str) -> None:
    """Without the shape the Python helper raises at valid interleaved calls, which `safe` does not change."""
    with pytest.raises(ValueError, match="line 1"):
        python(proxies.get(toolstream_repair="safe"), secure, STREAMS[name])


@pytest.fixture(scope="module")
def node(proxies: Proxies, secure: Upstream) -> Iterator[Program]:
    """The JavaScript clients, started once because their imports take a second."""
    with Program(JAVASCRIPT, proxies.get(f"reverse:{secure.url}", toolstream_shape="for:openai-stream").ca) as program:
        yield program


def javascript(program: Program, proxy: Mitmdump, upstream: Upstream, stream: Healthy) -> Done | str:
    """The calls of the `done` events of JavaScript's `chat.completions.stream`, or its error."""
    plan = upstream.plan(event_stream(stream.frames))
    tools = [one["function"] for one in request("openai-chat")["tools"]]
    result = program.request(
        "openai chat.stream events", f"https://127.0.0.1:{proxy.port}", "m", dict(plan.headers), tools
    )
    if "error" in result:
        return str(result["error"])
    return sorted((name, json.loads(arguments)) for name, arguments, _ in result["calls"])


@pytest.mark.skipif(JAVASCRIPT.unavailable is not None, reason=JAVASCRIPT.unavailable or "")
@pytest.mark.parametrize("name", STREAMS)
def test_javascript_reads_each_call_once(node: Program, proxies: Proxies, secure: Upstream, name: str) -> None:
    """With `for:openai-stream` the JavaScript helper emits each complete call once; without it, it misreads some."""
    mode = f"reverse:{secure.url}"
    assert javascript(node, proxies.get(mode, toolstream_shape="for:openai-stream"), secure, STREAMS[name]) == INTENDED
    if name in MISREAD:
        assert javascript(node, proxies.get(mode, toolstream_repair="safe"), secure, STREAMS[name]) != INTENDED
