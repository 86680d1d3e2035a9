"""The environment of a started command, and the arguments that are added."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from toolstream_core.agents import AGENTS, Agent, Upstream, launch, takes_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from toolstream_core.agents import Launch

PROXY = "http://127.0.0.1:4711"
ALL = {
    "HTTPS_PROXY": PROXY,
    "NO_PROXY": "",
    "OPENAI_BASE_URL": f"{PROXY}/v1",
    "GOOGLE_GEMINI_BASE_URL": PROXY,
    "OPENAI_API_KEY": "k",
    "SSL_CERT_FILE": "/ca.pem",
}
"""The variables that lead all clients to a proxy with saved flows."""


def started(command: str, upstream: Upstream = Upstream.SAVED, **own: str) -> Launch:
    """The launch of a command with the proxy; `own` is the user's environment."""
    shared = {"HTTPS_PROXY": PROXY, "NO_PROXY": ""} if upstream is Upstream.PROXIED else ALL
    return launch(command.split(), {**own, **shared}, own=own, proxy=PROXY, upstream=upstream)


@pytest.mark.parametrize("upstream", Upstream)
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_the_arguments_of_an_agent_are_added_after_the_program(agent: Agent, upstream: Upstream) -> None:
    """Arguments are added before the user's, placeholders are replaced, and all changed variables are reported."""
    found = started(f"{agent.commands[0]} say hi", upstream, HOME="/nowhere")
    own = {"HOME": "/nowhere", **ALL}
    assert found.agent is agent
    assert found.command == (agent.commands[0], *found.arguments, "say", "hi")
    assert len(found.arguments) == len(agent.arguments.get(upstream, ()))
    changed = {name for name, value in found.environment.items() if own.get(name) != value}
    assert changed == {*found.variables}
    texts = [*found.command, *(found.environment[name] for name in found.variables)]
    assert [text for text in texts if any(f"{{{name}}}" in text for name in (*ALL, "PROXY"))] == []
    assert not any(name in found.environment for name in found.removed)
    assert found.environment.keys().isdisjoint({"PROXY", "SOCKETS"})


def test_other_commands_are_not_changed() -> None:
    """A command that is not an agent gets only the shared variables."""
    found = started("python agent.py", A="b")
    assert found.command == ("python", "agent.py")
    assert found.environment == {**ALL, "A": "b"}
    assert (found.agent, found.variables, found.arguments) == (None, (), ())


def test_codex_streams_over_http_from_saved_flows() -> None:
    """With saved flows Codex gets a provider with the placeholder key, over HTTP."""
    _, _, choice, _, settings = started("codex exec hi").command[:5]
    assert tomllib.loads(choice) == {"model_provider": "toolstream"}
    assert tomllib.loads(settings)["model_providers"]["toolstream"] == {
        "name": "toolstream",
        "base_url": f"{PROXY}/v1",
        "env_key": "OPENAI_API_KEY",
        "wire_api": "responses",
        "supports_websockets": False,
    }


@pytest.mark.parametrize("upstream", Upstream)
def test_codex_uses_a_websocket_on_request(upstream: Upstream) -> None:
    """Codex uses a WebSocket with `sockets`, and else HTTP, where each request has the complete conversation."""
    for sockets in (True, False):
        command = ["codex", "exec", "hi"]
        found = launch(command, ALL, own={"HOME": "/nowhere"}, proxy=PROXY, upstream=upstream, sockets=sockets)
        assert tomllib.loads(found.command[4])["model_providers"]["toolstream"]["supports_websockets"] is sockets


def test_codex_keeps_its_login_with_the_real_provider() -> None:
    """With the real provider Codex gets neither a base URL nor a key: both come from the user's login."""
    settings = started("codex exec hi", Upstream.PROXIED, HOME="/nowhere").command[4]
    assert tomllib.loads(settings)["model_providers"]["toolstream"] == {
        "name": "OpenAI",
        "requires_openai_auth": True,
        "wire_api": "responses",
        "supports_websockets": False,
    }


@pytest.mark.parametrize(
    ("command", "config"),
    [
        ("codex exec -c model_provider=mine hi", ""),
        ("codex --oss exec hi", ""),
        ("codex exec hi", 'model_provider = "openrouter"'),
        ("codex exec hi", '[profiles.work]\nmodel_provider = "azure"'),
    ],
)
def test_the_users_own_provider_is_kept(command: str, config: str, tmp_path: Path) -> None:
    """A provider on the command line or in the configuration is kept, except with saved flows."""
    (tmp_path / "config.toml").write_text(config)
    own = {"CODEX_HOME": str(tmp_path)}
    assert started(command, Upstream.PROXIED, **own).arguments == ()
    assert started(command, Upstream.FORWARDED, **own).arguments == ()
    assert started(command, Upstream.SAVED, **own).arguments != ()


@pytest.mark.parametrize("config", ["", "model = 'x'", 'model_provider = "openai"', "no toml", 'profiles = "x"'])
def test_the_builtin_provider_gets_arguments(config: str, tmp_path: Path) -> None:
    """Without another provider in the configuration Codex gets arguments that select HTTP."""
    (tmp_path / "config.toml").write_text(config)
    assert started("codex", Upstream.PROXIED, CODEX_HOME=str(tmp_path)).arguments != ()


def test_the_users_model_and_provider_are_kept() -> None:
    """Default variables do not replace the user's variables."""
    assert started("goose run").environment["GOOSE_PROVIDER"] == "openai"
    assert started("goose run", GOOSE_PROVIDER="anthropic").environment["GOOSE_PROVIDER"] == "anthropic"


def test_a_base_url_that_prevents_the_start_is_removed() -> None:
    """A base URL that prevents the start of an agent is removed, unless the user has set it."""
    found = started("gemini -p hi")
    assert found.removed == ("GOOGLE_GEMINI_BASE_URL",)
    assert "GOOGLE_GEMINI_BASE_URL" not in found.environment
    kept = started("gemini -p hi", GOOGLE_GEMINI_BASE_URL="http://gateway.example")
    assert (kept.removed, kept.environment["GOOGLE_GEMINI_BASE_URL"]) == ((), PROXY)


def test_arguments_with_npm_exec() -> None:
    """`npm exec` passes arguments after `--` to the agent."""
    assert started("npm exec @openai/codex").command[3:5] == ("--", "-c")
    assert started("npm exec -- @openai/codex exec").command[:5] == ("npm", "exec", "--", "@openai/codex", "-c")


@pytest.mark.parametrize(
    ("command", "takes"),
    [
        ("claude", True),
        ("claude -p hi", False),
        ("codex", True),
        ("codex exec hi", False),
        ("qwen --prompt=hi", False),
        ("aichat hi", False),
        ("python agent.py", False),
    ],
)
def test_agents_with_a_terminal_interface(command: str, takes: bool) -> None:
    """An agent uses the terminal, unless its arguments select another mode."""
    assert takes_terminal(command.split()) is takes
