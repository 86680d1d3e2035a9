"""An agent: how it is recognised, and what it needs in addition to the variables of all clients."""

from __future__ import annotations

import enum
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final


class Upstream(enum.Enum):
    """The provider, and how requests reach it."""

    SAVED = "saved"
    """Saved flows, in place of every provider: each request of a client reaches the proxy."""
    PROXIED = "proxied"
    """The real providers; clients find the proxy by the proxy variables."""
    FORWARDED = "forwarded"
    """The real providers; base URLs name the proxy, which forwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent that is started from the command line.

    Values and arguments may name a variable of the command's environment in braces, such as `{OPENAI_BASE_URL}`, and
    the proxy itself as `{PROXY}`; `{SOCKETS}` is `true` if the user wants WebSockets, else `false`. What names a
    variable that is not set is left out.
    """

    name: str
    commands: tuple[str, ...]
    """File names of its program, without suffix."""
    packages: tuple[str, ...] = ()
    """Names under which `npx`, `uvx` and their like run it."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Always set."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Set if base URLs name the proxy."""
    offline: Mapping[str, str] = field(default_factory=dict)
    """Set with saved flows."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Set with saved flows, unless the user has set them."""
    removed: tuple[str, ...] = ()
    """Base-URL variables that keep it from starting; the proxy variables lead it to the proxy all the same."""
    arguments: Mapping[Upstream, tuple[str, ...]] = field(default_factory=dict)
    """Inserted after the program's name, by upstream."""
    configured: Callable[[Mapping[str, str], Sequence[str]], bool] | None = None
    """Whether the user's environment, files or arguments already set what the arguments for real providers would."""
    headless: tuple[str, ...] = ()
    """Arguments with which it does not take over the terminal; empty if it never does."""
    protocols: str
    """Its protocols, for people."""
    reaches: str
    """The variables that direct it to the proxy, and those that it ignores, for people."""
    tried: str = ""
    """The version that was tried with the proxy; empty if the entry relies on documentation."""
    sources: tuple[str, ...]
    """Links to the documentation."""

    def takes_terminal(self, arguments: Sequence[str]) -> bool:
        """Whether it uses the full screen of the terminal with these arguments."""
        return bool(self.headless) and not any(
            word in self.headless or word.partition("=")[0] in self.headless for word in arguments
        )


PROVIDER: Final = "toolstream"
_CHOICE: Final = re.compile(r"model_provider\b")
_LOCAL: Final = frozenset({"--oss", "--local-provider"})


def override(**settings: str | bool) -> tuple[str, ...]:
    """The arguments that choose a provider with these settings, which speaks Responses.

    Without a base URL, requests go where the user's login leads to. Over HTTP each request has the complete
    conversation, over a WebSocket only what is new.
    """
    toml = [
        f'{name}="{value}"' if isinstance(value, str) else f"{name}={str(value).lower()}"
        for name, value in {**settings, "wire_api": "responses"}.items()
    ]
    shown = ",".join([*toml, "supports_websockets={SOCKETS}"])
    return ("-c", f'model_provider="{PROVIDER}"', "-c", f"model_providers.{PROVIDER}={{{shown}}}")


def has_provider(environment: Mapping[str, str], arguments: Sequence[str]) -> bool:
    """Whether the user chose a provider: such a provider streams over HTTP unless it is configured otherwise."""
    if any(word in _LOCAL or _CHOICE.match(word) for word in arguments):
        return True
    home = environment.get("CODEX_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".codex")
    try:
        configured = tomllib.loads((Path(home) / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    profiles = configured.get("profiles")
    tables = [configured, *(profiles.values() if isinstance(profiles, dict) else ())]
    return any(isinstance(one, dict) and one.get("model_provider", "openai") != "openai" for one in tables)


_SAME_HTTP: Final = "HTTPS_PROXY and NODE_EXTRA_CA_CERTS"

AGENTS: Final = (
    Agent(
        name="codex",
        commands=("codex",),
        packages=("@openai/codex",),
        arguments={
            Upstream.SAVED: override(name="toolstream", base_url="{OPENAI_BASE_URL}", env_key="OPENAI_API_KEY"),
            Upstream.PROXIED: override(name="OpenAI", requires_openai_auth=True),
            Upstream.FORWARDED: override(name="OpenAI", base_url="{OPENAI_BASE_URL}", requires_openai_auth=True),
        },
        configured=has_provider,
        headless=("exec", "e", "login", "logout", "mcp", "completion", "review", "--help", "--version"),
        protocols="Responses",
        reaches="HTTPS_PROXY and SSL_CERT_FILE; it ignores OPENAI_BASE_URL, and its built-in provider uses a "
        "WebSocket that trusts only the system's CA store: toolstream configures a provider that streams over HTTP, or "
        "over a WebSocket with `--websocket read`",
        tried="0.169.0",
        sources=(
            "https://github.com/openai/codex/blob/main/docs/config.md",
            "https://github.com/openai/codex/issues/19821",
        ),
    ),
    Agent(
        name="claude",
        commands=("claude",),
        packages=("@anthropic-ai/claude-code",),
        offline={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
        headless=("-p", "--print", "mcp", "config", "doctor", "update", "--help", "--version"),
        protocols="Anthropic Messages",
        reaches=f"{_SAME_HTTP}, or ANTHROPIC_BASE_URL",
        tried="2.1.197",
        sources=("https://code.claude.com/docs/en/network-config", "https://code.claude.com/docs/en/env-vars"),
    ),
    Agent(
        name="opencode",
        commands=("opencode",),
        packages=("opencode-ai",),
        variables={"NO_PROXY": "localhost,127.0.0.1", "no_proxy": "localhost,127.0.0.1"},
        offline={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        headless=("run", "serve", "models", "auth", "mcp", "export", "--help", "--version"),
        protocols="Chat Completions, Responses, Anthropic Messages, Gemini, depending on the provider",
        reaches=f"{_SAME_HTTP}; requests to its own server on this machine must bypass the proxy",
        tried="1.18.33",
        sources=("https://opencode.ai/docs/network/", "https://opencode.ai/docs/config/"),
    ),
    Agent(
        name="qwen",
        commands=("qwen", "qwen-code"),
        packages=("@qwen-code/qwen-code",),
        defaults={"OPENAI_MODEL": "qwen3-coder-plus"},
        headless=("-p", "--prompt", "mcp", "--help", "--version"),
        protocols="Chat Completions",
        reaches=f"{_SAME_HTTP}, or OPENAI_BASE_URL",
        tried="0.15.10",
        sources=("https://qwenlm.github.io/qwen-code-docs/en/cli/authentication",),
    ),
    Agent(
        name="pi",
        commands=("pi",),
        packages=("@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"),
        offline={"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"},
        headless=("-p", "--print", "--mode", "--help", "--version"),
        protocols="Chat Completions, Responses, Anthropic Messages, Gemini, depending on the provider",
        reaches=f"{_SAME_HTTP}; it ignores base-URL variables",
        tried="0.74.2",
        sources=("https://github.com/earendil-works/pi/tree/main/packages/coding-agent",),
    ),
    Agent(
        name="gemini",
        commands=("gemini",),
        packages=("@google/gemini-cli",),
        offline={"GEMINI_TELEMETRY_ENABLED": "false", "GOOGLE_GENAI_USE_GCA": "false"},
        removed=("GOOGLE_GEMINI_BASE_URL",),
        headless=("-p", "--prompt", "mcp", "extensions", "--help", "--version"),
        protocols="Gemini",
        reaches=f"{_SAME_HTTP}; with GOOGLE_GEMINI_BASE_URL it requires a gateway login and does not start headless",
        tried="0.61.0",
        sources=("https://geminicli.com/docs/get-started/authentication/",),
    ),
    Agent(
        name="aichat",
        commands=("aichat",),
        defaults={"AICHAT_PLATFORM": "openai"},
        protocols="Chat Completions, Anthropic Messages, Gemini, depending on its configuration",
        reaches="HTTPS_PROXY and SSL_CERT_FILE, or OPENAI_API_BASE; `api_base` in its configuration takes precedence",
        tried="0.30.0",
        sources=("https://github.com/sigoden/aichat/wiki/Environment-Variables",),
    ),
    Agent(
        name="goose",
        commands=("goose",),
        variables={"GOOSE_CA_CERT_PATH": "{SSL_CERT_FILE}"},
        addresses={"OPENAI_HOST": "{OPENAI_BASE_URL}", "OPENAI_BASE_PATH": "chat/completions"},
        offline={"GOOSE_DISABLE_KEYRING": "1"},
        defaults={"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "gpt-4.1-mini"},
        headless=("run", "configure", "info", "mcp", "--help", "--version"),
        protocols="Chat Completions, Anthropic Messages, Gemini, Ollama, depending on the provider",
        reaches="HTTPS_PROXY and GOOSE_CA_CERT_PATH, or OPENAI_HOST, ANTHROPIC_HOST, OLLAMA_HOST",
        sources=(
            "https://block.github.io/goose/docs/guides/environment-variables",
            "https://github.com/block/goose/blob/main/crates/goose/src/providers/api_client.rs",
        ),
    ),
    Agent(
        name="aider",
        commands=("aider",),
        packages=("aider-chat",),
        offline={"AIDER_ANALYTICS": "false", "AIDER_CHECK_UPDATE": "false"},
        headless=("-m", "--message", "--msg", "-f", "--message-file", "--help", "--version"),
        protocols="Chat Completions and, depending on the model, every other protocol of LiteLLM",
        reaches="HTTPS_PROXY and SSL_CERT_FILE, or OPENAI_API_BASE",
        sources=("https://aider.chat/docs/config/options.html", "https://aider.chat/docs/llms/openai-compat.html"),
    ),
)
