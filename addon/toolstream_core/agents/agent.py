"""The row of an agent: how it is recognised, and what it needs beside the variables that all clients get."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Upstream(enum.Enum):
    """Who answers, and how clients get there."""

    SAVED = "saved"
    """Saved flows, in every provider's place: whatever a client asks comes to the proxy."""
    PROXIED = "proxied"
    """The real providers; clients find the proxy by the proxy variables."""
    FORWARDED = "forwarded"
    """The real providers; base URLs name the proxy, which forwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent that is started from the command line.

    Values and arguments may name a variable of the command's environment in braces, such as `{OPENAI_BASE_URL}`, and
    the proxy itself as `{PROXY}`; `{SOCKETS}` is `true` where the user wants WebSockets, else `false`. What names a
    variable that is not set is left out.
    """

    name: str
    commands: tuple[str, ...]
    """File names of its program, without suffix."""
    packages: tuple[str, ...] = ()
    """Names under which `npx`, `uvx` and their like run it."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Set whoever answers."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Set where base URLs name the proxy."""
    offline: Mapping[str, str] = field(default_factory=dict)
    """Set where saved flows answer."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Set where saved flows answer and the user has not set them."""
    removed: tuple[str, ...] = ()
    """Base-URL variables that keep it from starting; the proxy variables lead it to the proxy all the same."""
    arguments: Mapping[Upstream, tuple[str, ...]] = field(default_factory=dict)
    """Put right behind the program's name, by who answers."""
    configured: Callable[[Mapping[str, str], Sequence[str]], bool] | None = None
    """Whether the user's environment, files or arguments say already what the arguments for real providers would."""
    headless: tuple[str, ...] = ()
    """Arguments with which it does not take over the terminal; empty where it never does."""
    protocols: str
    """What it speaks, for people."""
    reaches: str
    """Which of the variables lead it to the proxy, and which it ignores, for people."""
    tried: str = ""
    """The version that went through the proxy; empty where the row rests on documents."""
    sources: tuple[str, ...]
    """Where that is documented."""

    def takes_terminal(self, arguments: Sequence[str]) -> bool:
        """Whether it draws on the whole terminal when started with these."""
        return bool(self.headless) and not any(
            word in self.headless or word.partition("=")[0] in self.headless for word in arguments
        )
