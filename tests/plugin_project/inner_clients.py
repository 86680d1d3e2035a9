"""Tests of a project that uses the plugin. A separate pytest runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import agents  # type: ignore[import-not-found]  # in the same folder when it is run
import openai
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolstream_core.pytest_plugin.fixture import Toolstream

CUT = "cut:at=in-arguments"


@pytest.mark.parametrize(
    ("agent", "flow"),
    [
        pytest.param(getattr(agents, name), flow, marks=pytest.mark.toolstream(f"flows/{flow}.flow"), id=name)
        for name, flow in (
            ("chat", "openai-chat-parallel"),
            ("responses", "openai-responses-parallel"),
            ("messages_api", "anthropic-parallel"),
            ("gemini", "gemini-parallel"),
            ("ollama_chat", "ollama-parallel"),
        )
    ],
)
def test_clients(agent: Callable[[], None], flow: str, toolstream: Toolstream) -> None:
    """Each official client reads a saved response correctly; the fixture has its requests and calls."""
    agent()
    toolstream.assert_understood()
    toolstream.assert_no_incomplete_call()
    assert [call.name for call in toolstream.calls] == [call.name for call in toolstream.requests[1].calls]
    assert len(toolstream.calls) == len(toolstream.requests[1].results) > 1
    assert toolstream.requests[0].protocol is not None
    assert toolstream.findings == []


@pytest.mark.anyio
@pytest.mark.toolstream("flows/openai-chat-single.flow")
async def test_async(toolstream: Toolstream) -> None:
    """The fixture works with an event loop of the test."""
    await agents.chat_async()
    toolstream.assert_understood()


@pytest.mark.toolstream("flows/openai-chat-single.flow")
@pytest.mark.parametrize("fault", [None, "glm-5", CUT])
def test_faults(toolstream: Toolstream, fault: str | None) -> None:
    """A fault changes the response or truncates it."""
    toolstream.fault(fault)
    if fault == CUT:
        with pytest.raises(openai.APIConnectionError):
            agents.chat()
        toolstream.assert_no_half_call()
        assert [call.complete for call in toolstream.calls] == [False]
    else:
        agents.chat()
        toolstream.assert_understood()


@pytest.mark.toolstream("flows/openai-chat-single.flow", fault="cumulative-arguments")
def test_a_repair_is_switched_on_and_off(toolstream: Toolstream) -> None:
    """`repair` sets the repairs for later responses, and without arguments removes them."""
    toolstream.repair("safe")
    agents.chat()
    toolstream.assert_understood()
    assert [finding.name for finding in toolstream.findings] == ["cumulative-arguments"]
    toolstream.repair()
    with pytest.raises(ValueError, match="did you mean"):
        toolstream.fault("empty-idd")


@pytest.fixture
def client() -> Iterator[openai.OpenAI]:
    """A client that is created without the fixture `toolstream`."""
    with openai.OpenAI(max_retries=0) as created:
        yield created


@pytest.mark.toolstream("flows/openai-chat-single.flow")
def test_the_marker_alone_is_enough(client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    """The marker sets the environment for other fixtures; changes of `monkeypatch` do not remain."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY")
    [choice] = client.chat.completions.create(
        model="gpt-4.1-mini", messages=[{"role": "user", "content": "hi"}]
    ).choices
    assert choice.message.tool_calls
    assert client.base_url.host == "127.0.0.1"


@pytest.mark.toolstream("flows")
def test_a_child_process(toolstream: Toolstream) -> None:
    """A child process uses the same proxy, also for another host."""
    arguments = "model='gpt-4.1-mini', messages=[{'role': 'user', 'content': 'hi'}]"
    client = "openai.OpenAI(base_url='https://api.openai.com/v1')"
    script = f"import openai; {client}.chat.completions.create({arguments})"
    subprocess.run([sys.executable, "-c", script], check=True)
    assert [request.url.partition("/v1")[0] for request in toolstream.requests] == ["https://api.openai.com"]


@pytest.mark.toolstream("flows/openai-chat-single.flow")
def test_fails_lost_arguments(toolstream: Toolstream) -> None:
    """Fails: the client returns `{}`."""

    def spoil(calls: list[Any], results: list[Any]) -> None:
        calls[0]["function"]["arguments"] = "{}"

    toolstream.fault("glm-5")
    agents.chat(spoil)
    toolstream.assert_understood()


@pytest.mark.toolstream("flows/openai-chat-single.flow")
def test_fails_silent(toolstream: Toolstream) -> None:
    """Fails: the client sends no later request."""
    with openai.OpenAI() as client:
        client.chat.completions.create(model="gpt-4.1-mini", messages=[{"role": "user", "content": "hi"}])
    toolstream.assert_understood()


@pytest.mark.toolstream("flows/openai-chat-single.flow")
def test_fails_no_request(toolstream: Toolstream) -> None:
    """Fails: the client sends no request to the proxy."""
    toolstream.assert_understood()


@pytest.mark.toolstream("flows/openai-chat-single.flow")
def test_fails_unreached(toolstream: Toolstream) -> None:
    """Fails: the client raises a connection error."""
    raise ConnectionError(toolstream.proxy_url)


def test_fails_without_flows(toolstream: Toolstream) -> None:
    """Fails: there is no saved flow and no network."""
    agents.chat()


@pytest.mark.toolstream("flows/no-such.flow")
def test_errors_without_the_file(toolstream: Toolstream) -> None:
    """Errors: the marker names a missing file."""


def test_the_environment_is_put_back() -> None:
    """Runs last: the environment is restored."""
    assert os.environ["OPENAI_BASE_URL"] == "http://before.example"
    assert os.environ["NO_PROXY"] == "before.example"
    assert "HTTPS_PROXY" not in os.environ
    assert "OLLAMA_HOST" not in os.environ
