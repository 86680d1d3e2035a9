"""docs/agents.md, from the table of agents."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from docslib.markdown import DOCS, codes, table
from toolstream_core.agents import AGENTS, Upstream

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from toolstream_core.agents import Agent

_HEAD: Final = """\
# Agents

`toolstream run -- AGENT` runs an agent behind the proxy, and `toolstream check -- AGENT` tests it. Both set variables
for every command ([`toolstream run`](cli.md#toolstream-run)). For the agents on this page, they also add the arguments
and variables listed below. You need not set them.

`scripts/docs.py` writes this page from `addon/toolstream_core/agents/table.py`.

In the sections, "with saved flows" means that flows or `calls:` respond, and "with real providers" that the agent's own
provider does. `{OPENAI_BASE_URL}` and similar placeholders are replaced by the variable's value in the command's
environment. `{SOCKETS}` is `true` with `--websocket read`, otherwise `false`.

toolstream recognises an agent by its command, with or without a path or suffix. It also recognises the agent's package
after `npx`, `npm exec`, `pnpm dlx`, `bunx`, `uvx` and similar commands.

"""
_COLUMNS: Final = ("Agent", "Command", "Package", "Protocols", "Connects to the proxy by", "Tested version")
_TRIED: Final = """
*Tested version*: this version of the real agent was run headless through the proxy, with saved flows and with requests
to its own provider. The rows with "none" are based on the listed sources only.
"""
_WHEN: Final = {
    Upstream.SAVED: "with saved flows",
    Upstream.PROXIED: "with real providers",
    Upstream.FORWARDED: "with `--base-url`",
}


def files() -> dict[Path, bytes | None]:
    """The page."""
    rows = "".join(f"{line}\n" for line in table(_COLUMNS, map(_row, AGENTS)))
    page = _HEAD + rows + _TRIED + "".join(_section(agent) for agent in AGENTS)
    return {DOCS / "agents.md": page.encode()}


def _row(agent: Agent) -> tuple[str, ...]:
    return (
        f"[{agent.name}](#{agent.name})",
        _codes(agent.commands),
        _codes(agent.packages),
        agent.protocols,
        agent.reaches,
        agent.tried or "none",
    )


def _section(agent: Agent) -> str:
    sources = "".join(f"- <{source}>\n" for source in agent.sources)
    return f"\n## {agent.name}\n\n{''.join(f'- {line}\n' for line in _lines(agent))}\nSources:\n\n{sources}"


def _lines(agent: Agent) -> Iterator[str]:
    groups = (
        ("always", agent.variables),
        ("with saved flows or `--base-url`", agent.addresses),
        ("with saved flows", agent.offline),
        ("with saved flows, unless already set", agent.defaults),
    )
    yield from (f"{when}: {_assignments(variables)}" for when, variables in groups if variables)
    if agent.removed:
        yield f"removed, unless you have set it: {_codes(agent.removed)}"
    for upstream, words in agent.arguments.items():
        unless = "" if upstream is Upstream.SAVED or agent.configured is None else ", unless you select a provider"
        yield f"arguments {_WHEN[upstream]}{unless}: `{shlex.join(words)}`"
    if agent.headless:
        headless = _codes(agent.headless)
        yield f"does not take over the terminal with {headless}; otherwise the log is printed after the agent exits"
    if not (agent.arguments or agent.removed or any(variables for _, variables in groups)):
        yield "needs no further settings"


def _assignments(variables: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in variables.items())


def _codes(words: tuple[str, ...]) -> str:
    return codes(words) or "none"
