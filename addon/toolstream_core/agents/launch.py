"""A command as it is started behind the proxy: its environment, and the arguments that its agent needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolstream_core.agents.agent import Upstream
from toolstream_core.agents.recognise import recognise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from toolstream_core.agents.agent import Agent
    from toolstream_core.agents.recognise import Recognised

PROXY: Final = "PROXY"
"""What names the proxy's own URL in the rows of agents."""
SOCKETS: Final = "SOCKETS"
"""What stands there for whether the user wants WebSockets."""
_NAMED: Final = re.compile(r"\{([A-Z][A-Z_]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a command is started."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    """All of it."""
    agent: Agent | None
    variables: tuple[str, ...]
    """Names of those that were set for the agent alone."""
    removed: tuple[str, ...]
    """Names of those that it does not get."""
    arguments: tuple[str, ...]
    """Those that were added to the command line."""
    takes_terminal: bool
    """Whether the command draws on the whole terminal."""


def launch(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    own: Mapping[str, str],
    proxy: str,
    upstream: Upstream,
    sockets: bool = False,
) -> Launch:
    """Start `command` in `environment`, which leads all clients to the proxy; `own` is the user's environment.

    `sockets`: an agent that can ask over HTTP or over WebSockets is to use the latter.
    """
    found = recognise(command)
    if found is None:
        return Launch(
            command=tuple(command),
            environment=environment,
            agent=None,
            variables=(),
            removed=(),
            arguments=(),
            takes_terminal=False,
        )
    names = {**environment, PROXY: proxy, SOCKETS: str(sockets).lower()}
    variables = dict(_filled(_variables(found.agent, own, upstream), names))
    names |= variables
    removed = [name for name in found.agent.removed if not own.get(name) and name in environment]
    arguments = tuple(_arguments(found.agent, own, command[found.at :], names, upstream))
    return Launch(
        command=_inserted(command, found, arguments),
        environment={name: value for name, value in names.items() if name not in {PROXY, SOCKETS, *removed}},
        agent=found.agent,
        variables=tuple(variables),
        removed=tuple(removed),
        arguments=arguments,
        takes_terminal=found.agent.takes_terminal(command[found.at :]),
    )


def _variables(agent: Agent, own: Mapping[str, str], upstream: Upstream) -> Mapping[str, str]:
    chosen = {**agent.variables}
    if upstream is not Upstream.PROXIED:
        chosen |= agent.addresses
    if upstream is Upstream.SAVED:
        chosen |= agent.offline
        chosen |= {name: value for name, value in agent.defaults.items() if not own.get(name)}
    return chosen


def _arguments(
    agent: Agent, own: Mapping[str, str], given: Sequence[str], names: Mapping[str, str], upstream: Upstream
) -> Iterator[str]:
    if upstream is Upstream.SAVED or agent.configured is None or not agent.configured(own, given):
        yield from (_fill(word, names) for word in agent.arguments.get(upstream, ()))


def _inserted(command: Sequence[str], found: Recognised, arguments: Sequence[str]) -> tuple[str, ...]:
    separator = ("--",) if found.separator and arguments else ()
    return (*command[: found.at], *separator, *arguments, *command[found.at :])


def _filled(templates: Mapping[str, str], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables whose templates name nothing that is not set."""
    for name, template in templates.items():
        if _is_filled(template, names):
            yield name, _fill(template, names)


def _is_filled(template: str, names: Mapping[str, str]) -> bool:
    return all(names.get(name) for name in _NAMED.findall(template))


def _fill(template: str, names: Mapping[str, str]) -> str:
    return _NAMED.sub(lambda found: names[found[1]], template)
