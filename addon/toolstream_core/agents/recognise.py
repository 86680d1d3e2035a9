"""Which agent a command line starts, and where the agent's own arguments begin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.agents.table import AGENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.agents.agent import Agent

_SUFFIXES: Final = (".exe", ".cmd", ".bat", ".ps1", ".js", ".mjs", ".cjs")
_ASSIGNMENT: Final = re.compile(r"\w+=")


class Runner(NamedTuple):
    """A program that runs another one, whose name is its first argument that is no option."""

    words: tuple[str, ...]
    """How its command line begins."""
    valued: frozenset[str] = frozenset()
    """Its options whose value is the next word."""
    separated: bool = False
    """Whether it takes options from anywhere before a `--`, and hands on what is behind that."""


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
)


class Recognised(NamedTuple):
    """An agent in a command line."""

    agent: Agent
    at: int
    """The place of the agent's first argument in the command line."""
    separator: bool = False
    """Whether a `--` has to stand before what is put there."""


def recognise(command: Sequence[str]) -> Recognised | None:
    """The agent that a command line starts, also by `npx` and its like; `None` where it is none that is known."""
    at = 0
    separated = False
    while runner := _runner(command[at:]):
        at = _program(command, at + len(runner.words), runner.valued)
        separated = runner.separated
    if at >= len(command):
        return None
    agent = next((agent for agent in AGENTS if _is(agent, command[at])), None)
    if agent is None:
        return None
    if not separated:
        return Recognised(agent, at + 1)
    behind = [place for place, word in enumerate(command) if word == "--"]
    return Recognised(agent, at + 1 if not behind else max(at, behind[0]) + 1, not behind)


def _runner(words: Sequence[str]) -> Runner | None:
    begin = [_program_name(words[0]), *words[1:3]] if words else []
    return next((runner for runner in RUNNERS if tuple(begin[: len(runner.words)]) == runner.words), None)


def _program(command: Sequence[str], at: int, valued: frozenset[str]) -> int:
    """The place of the first word from `at` on that is no option, no option's value and no assignment."""
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
