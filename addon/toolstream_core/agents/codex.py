"""What Codex needs: a provider that is asked over HTTP or over WebSockets, as the user wants it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROVIDER: Final = "toolstream"
_CHOICE: Final = re.compile(r"model_provider\b")
_LOCAL: Final = frozenset({"--oss", "--local-provider"})


def override(**settings: str | bool) -> tuple[str, ...]:
    """The arguments that choose a provider with these settings, which speaks Responses.

    Without a base URL it is asked where the user's login leads to. Over HTTP each request holds the whole
    conversation, over a WebSocket only what is new.
    """
    whole = {name: _toml(value) for name, value in {**settings, "wire_api": "responses"}.items()}
    shown = ",".join(f"{name}={value}" for name, value in {**whole, "supports_websockets": "{SOCKETS}"}.items())
    return ("-c", f'model_provider="{PROVIDER}"', "-c", f"model_providers.{PROVIDER}={{{shown}}}")


def has_provider(environment: Mapping[str, str], arguments: Sequence[str]) -> bool:
    """Whether the user chose a provider: such a one streams over HTTP unless it says otherwise."""
    if any(word in _LOCAL or _CHOICE.match(word) for word in arguments):
        return True
    home = environment.get("CODEX_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".codex")
    try:
        configured = tomllib.loads((Path(home) / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return any(_chooses(one) for one in (configured, *_tables(configured.get("profiles"))))


def _chooses(table: Mapping[str, Any]) -> bool:
    return bool(table.get("model_provider", "openai") != "openai")


def _tables(found: object) -> list[Mapping[str, Any]]:
    return [one for one in found.values() if isinstance(one, dict)] if isinstance(found, dict) else []


def _toml(value: str | bool) -> str:  # noqa: FBT001 - TOML's own types
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
