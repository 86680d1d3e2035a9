"""Recognition of the agent that a command line starts."""

from __future__ import annotations

import pytest

from toolstream_core.agents import AGENTS, Agent, program, recognise

SPELLINGS = [
    ("{command} x", 1),
    ("/usr/local/bin/{command} x", 1),
    (r"C:\Users\you\AppData\npm\{command}.cmd x", 1),
    ("{command}.exe x", 1),
    ("env A=b -u C {command} x", 5),
    ("node /opt/lib/{command}.js x", 2),
]
PACKAGED = [
    ("npx {package} x", 2),
    ("npx -y {package}@1.2.3 x", 3),
    ("npx --package {package} -- {command} x", 5),
    ("npm exec -y -- {package} x", 5),
    ("pnpm dlx {package}@latest x", 3),
    ("bunx {package} x", 2),
    ("node ./node_modules/{package}/cli.js x", 2),
]


def agents(*, packaged: bool = False) -> list[object]:
    """A case for each agent."""
    return [pytest.param(agent, id=agent.name) for agent in AGENTS if agent.packages or not packaged]


@pytest.mark.parametrize("agent", agents())
def test_an_agent_is_recognised_by_its_command(agent: Agent) -> None:
    """A command is recognised with a path, with a suffix of Windows, and after `env` and `node`."""
    for command in agent.commands:
        for spelling, at in SPELLINGS:
            words = spelling.format(command=command).split()
            found = recognise(words)
            assert found is not None, words
            assert (found.agent, found.at, words[found.at :]) == (agent, at, ["x"])


@pytest.mark.parametrize("agent", agents(packaged=True))
def test_an_agent_is_recognised_by_its_package(agent: Agent) -> None:
    """A package is recognised with `npx` and similar commands, with and without a version."""
    for package in agent.packages:
        for spelling, at in PACKAGED:
            words = spelling.format(package=package, command=agent.commands[0]).split()
            found = recognise(words)
            assert found is not None, words
            assert (found.agent, found.at) == (agent, at)
            assert not found.separator


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["python", "codex_notes.py"],
        ["echo", "codex"],
        ["npx", "-y"],
        ["env", "A=b"],
        ["my-codex"],
        ["npx", "@other/codex"],
        ["node", "agent.js", "claude"],
    ],
)
def test_other_commands_are_not_recognised(words: list[str]) -> None:
    """An agent's name in another place, or as a part of another name, is not recognised."""
    assert recognise(words) is None


def test_npm_exec_without_separator_gets_one() -> None:
    """`npm exec` needs a separator: else it parses the agent's options."""
    found = recognise(["npm", "exec", "@openai/codex"])
    assert found is not None
    assert (found.at, found.separator) == (3, True)


def test_no_two_agents_share_a_name() -> None:
    """Each command and each package belongs to one agent."""
    names = [name for agent in AGENTS for name in (*agent.commands, *agent.packages)]
    assert len({*names}) == len(names)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("java -cp /lib/*:. -Xmx1g Agent hi", "Agent"),
        ("/usr/bin/java -Xmx1g -jar agent.jar", "agent.jar"),
        ("env KEY=1 uv run --with openai agent.py", "agent.py"),
        ("python agent.py", "python"),
    ],
)
def test_the_program_of_a_runner(command: str, expected: str) -> None:
    """The program of a runner follows its options and their values."""
    words = command.split()
    assert words[program(words)[0]] == expected
