#!/usr/bin/env python3
"""Writes docs/agents.md from the table of agents.

scripts/make_agents.py           write what has changed
scripts/make_agents.py --check   write nothing; tell the difference and exit 1 where there is one
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "addon"), str(ROOT / "scripts")]

from make_flows import write_or_check  # noqa: E402
from toolstream_core.agents import AGENTS, Upstream  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolstream_core.agents import Agent

_HEAD: Final = """\
# Agents

What `toolstream run` does for agents that are started from the command line, beside the variables that every command
gets ([`toolstream run`](cli.md#toolstream-run)). Written by `scripts/make_agents.py` from
`addon/toolstream_core/agents/table.py`.

`{OPENAI_BASE_URL}` and the like stand for what that variable is in the command's environment, `{SOCKETS}` for `true`
where `--websocket read` is given, else for `false`. An agent is recognised
by its command, with or without a path or suffix, and by its package behind `npx`, `npm exec`, `pnpm dlx`, `bunx`,
`uvx` and their like.

| agent | command | package | speaks | reaches the proxy by | tried |
| --- | --- | --- | --- | --- | --- |
"""
_TRIED: Final = """
*Tried*: this version of the real agent, headless, went through the proxy with saved flows in the provider's place, and
asked its own provider through it. The other rows rest on the sources alone.
"""
_WHEN: Final = {
    Upstream.SAVED: "with saved flows",
    Upstream.PROXIED: "with real providers",
    Upstream.FORWARDED: "with `--base-url`",
}


def page() -> str:
    """The whole page."""
    rows = "".join(_row(agent) for agent in AGENTS)
    return _HEAD + rows + _TRIED + "".join(_section(agent) for agent in AGENTS)


def _row(agent: Agent) -> str:
    cells = (
        f"[{agent.name}](#{agent.name})",
        _codes(agent.commands),
        _codes(agent.packages),
        agent.protocols,
        agent.reaches,
        agent.tried or "no",
    )
    return f"| {' | '.join(cells)} |\n"


def _section(agent: Agent) -> str:
    sources = "".join(f"- <{source}>\n" for source in agent.sources)
    return f"\n## {agent.name}\n\n{''.join(f'- {line}\n' for line in _lines(agent))}\nSources:\n\n{sources}"


def _lines(agent: Agent) -> Iterator[str]:
    told = (
        ("always", agent.variables),
        ("with saved flows or `--base-url`", agent.addresses),
        ("with saved flows", agent.offline),
        ("with saved flows, where you have set none", agent.defaults),
    )
    yield from (f"{when}: {_assignments(variables)}" for when, variables in told if variables)
    if agent.removed:
        yield f"left out, unless you have set it: {_codes(agent.removed)}"
    for upstream, words in agent.arguments.items():
        unless = "" if upstream is Upstream.SAVED or agent.configured is None else ", unless you chose a provider"
        yield f"arguments {_WHEN[upstream]}{unless}: `{shlex.join(words)}`"
    if agent.headless:
        yield f"leaves the terminal alone with {_codes(agent.headless)}; else its log comes behind its end"
    if not (agent.arguments or agent.removed or any(variables for _, variables in told)):
        yield "needs nothing more"


def _assignments(variables: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in variables.items())


def _codes(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words) or "none"


if __name__ == "__main__":
    sys.exit(write_or_check((__doc__ or "").partition(". ")[0], {ROOT / "docs" / "agents.md": page().encode()}))
