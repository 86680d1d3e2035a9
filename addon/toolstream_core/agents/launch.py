"""Recognises the agent that a command starts, and makes it use the proxy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from toolstream_core.agents.table import AGENTS, Agent, Upstream

_SUFFIXES: Final = (".exe", ".cmd", ".bat", ".ps1", ".js", ".mjs", ".cjs")
_ASSIGNMENT: Final = re.compile(r"\w+=")


class Runner(NamedTuple):
    """A program that runs another program: the first argument that is not an option."""

    words: tuple[str, ...]
    """How its command line begins."""
    valued: frozenset[str] = frozenset()
    """Its options whose value is the next word."""
    separated: bool = False
    """Whether its own options end at a `--`, and the command follows."""


RUNNERS: Final = (
    Runner(("env",), frozenset({"-u", "--unset", "-C", "--chdir"})),
    Runner(("nohup",)),
    Runner(("npx",), frozenset({"-p", "--package", "-w", "--workspace"})),
    Runner(("npm", "exec"), frozenset({"-p", "--package", "-w", "--workspace"}), separated=True),
    Runner(("npm", "x"), frozenset({"-p", "--package", "-w", "--workspace"}), separated=True),
    Runner(("pnpx",), frozenset({"--package"})),
    Runner(("pnpm", "dlx"), frozenset({"--package"})),
    Runner(("pnpm", "exec")),
    Runner(("yarn", "dlx"), frozenset({"-p", "--package"})),
    Runner(("bunx",), frozenset({"-p", "--package"})),
    Runner(("bun", "x"), frozenset({"-p", "--package"})),
    Runner(("uvx",), frozenset({"--from", "--with", "-p", "--python"})),
    Runner(("uv", "tool", "run"), frozenset({"--from", "--with", "-p", "--python"})),
    Runner(("uv", "run"), frozenset({"--with", "-p", "--python"})),
    Runner(("pipx", "run"), frozenset({"--spec", "--python"})),
    Runner(("python", "-m")),
    Runner(("python3", "-m")),
    Runner(("node",), frozenset({"-r", "--require", "--import", "-C", "--conditions"})),
    Runner(("bun",)),
    Runner(("java",), frozenset({"-cp", "-classpath", "--class-path", "-p", "--module-path"})),
)


class Recognised(NamedTuple):
    """An agent in a command line."""

    agent: Agent
    at: int
    """The place of the agent's first argument in the command line."""
    separator: bool = False
    """Whether a `--` must precede inserted arguments."""


def recognise(command: Sequence[str]) -> Recognised | None:
    """The agent that a command line starts, also with `npx` and its like; `None` if it is unknown."""
    at, separated = program(command)
    if at >= len(command):
        return None
    agent = next((agent for agent in AGENTS if _is(agent, command[at])), None)
    if agent is None:
        return None
    if not separated:
        return Recognised(agent, at + 1)
    separators = [place for place, word in enumerate(command) if word == "--"]
    return Recognised(agent, at + 1 if not separators else max(at, separators[0]) + 1, not separators)


def _runner(words: Sequence[str]) -> Runner | None:
    begin = [_program_name(words[0]), *words[1:3]] if words else []
    return next((runner for runner in RUNNERS if tuple(begin[: len(runner.words)]) == runner.words), None)


def program(command: Sequence[str]) -> tuple[int, bool]:
    """The place of the program that the runners in a command line run, and whether a `--` precedes its arguments."""
    at, separated = 0, False
    while runner := _runner(command[at:]):
        at = _program(command, at + len(runner.words), runner.valued)
        separated = runner.separated
    return at, separated


def _program(command: Sequence[str], at: int, valued: frozenset[str]) -> int:
    """The place of the first word, from `at` on, that is neither an option, nor its value, nor an assignment."""
    while at < len(command) and (command[at].startswith("-") or _ASSIGNMENT.match(command[at])):
        at += 2 if command[at] in valued else 1
    return at


def _is(agent: Agent, word: str) -> bool:
    """Whether a word is a program of the agent, a path to it, or its package with or without a version."""
    package = word[:1] + word[1:].partition("@")[0]
    if package in {*agent.packages, *agent.commands}:
        return True
    path = word.replace("\\", "/")
    inside = any(f"/node_modules/{one}/" in path for one in agent.packages)
    return inside or (not word.startswith("@") and _program_name(word) in agent.commands)


def _program_name(word: str) -> str:
    """A program's file name, without its folder and suffix."""
    name = word.replace("\\", "/").rpartition("/")[2].lower()
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)


PROXY: Final = "PROXY"
"""The placeholder of the proxy's own URL in the table of agents."""
SOCKETS: Final = "SOCKETS"
"""The placeholder for `true` if the user wants WebSockets, else `false`."""
_NAMED: Final = re.compile(r"\{([A-Z][A-Z_]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a command is started."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    """The complete environment."""
    agent: Agent | None = None
    variables: tuple[str, ...] = ()
    """Names of the variables that were set only for the agent."""
    removed: tuple[str, ...] = ()
    """Names of the variables that it does not get."""
    arguments: tuple[str, ...] = ()
    """The arguments that were added to the command line."""


def launch(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    own: Mapping[str, str],
    proxy: str,
    upstream: Upstream,
    sockets: bool = False,
) -> Launch:
    """Start `command` in `environment`, which directs all clients to the proxy; `own` is the user's environment.

    `sockets`: an agent that supports HTTP and WebSockets uses the latter.
    """
    found = recognise(command)
    if found is None:
        return Launch(command=tuple(command), environment=environment)
    names = {**environment, PROXY: proxy, SOCKETS: str(sockets).lower()}
    variables = dict(_filled(_variables(found.agent, own, upstream), names))
    names |= variables
    removed = [name for name in found.agent.removed if not own.get(name) and name in environment]
    arguments = tuple(_arguments(found.agent, own, command[found.at :], names, upstream))
    separator = ("--",) if found.separator and arguments else ()
    return Launch(
        command=(*command[: found.at], *separator, *arguments, *command[found.at :]),
        environment={name: value for name, value in names.items() if name not in {PROXY, SOCKETS, *removed}},
        agent=found.agent,
        variables=tuple(variables),
        removed=tuple(removed),
        arguments=arguments,
    )


def takes_terminal(command: Sequence[str]) -> bool:
    """Whether a command line starts an agent that uses the full screen of the terminal."""
    found = recognise(command)
    return found is not None and found.agent.takes_terminal(command[found.at :])


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


def _filled(templates: Mapping[str, str], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables whose templates name nothing that is not set."""
    for name, template in templates.items():
        if all(names.get(one) for one in _NAMED.findall(template)):
            yield name, _fill(template, names)


def _fill(template: str, names: Mapping[str, str]) -> str:
    return _NAMED.sub(lambda found: names[found[1]], template)
