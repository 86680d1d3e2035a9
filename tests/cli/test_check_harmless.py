"""`toolstream check` in front of agents whose tools have effects: no file is touched, nothing harmful is called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.e2e

AGENT = Path(__file__).resolve().parents[1] / "checking" / "tool_agent.py"
FILES = {"notes.txt": "mine", "src/main.txt": "mine too", "README.md": "# Read", ".env": "A=1"}


def tool(name: str, *parameters: str, **schemas: Any) -> dict[str, Any]:
    """A tool with required parameters, texts where no schema is given."""
    properties = {**{one: {"type": "string"} for one in parameters}, **schemas}
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": schema}}


DELETE, WRITE, MOVE = (
    tool("delete_file", "path"),
    tool("write_file", "path", "content"),
    tool("move_file", "from", "to"),
)
SHELL, READ, SEARCH = tool("bash", "command"), tool("read_file", "path"), tool("search_notes", "query")
HARMFUL: Mapping[str, list[dict[str, Any]]] = {
    "delete": [DELETE],
    "delete in camel case": [tool("removeFile", "fileName")],
    "write": [WRITE],
    "edit": [tool("edit", "filePath", "oldString", "newString")],
    "move": [MOVE],
    "shell": [SHELL],
    "codex": [tool("exec_command", "cmd"), tool("write_stdin", "chars"), tool("update_plan", "plan")],
    "send": [tool("send_email", "to", "body"), tool("slack_post_message", "channel", "text")],
    "pay": [tool("createPayment", "iban", amount={"type": "number"})],
    "sql": [tool("query", "sql"), tool("run_query", "query")],
    "agents": [tool("Agent", "description", "prompt"), tool("Task", "prompt"), tool("spawn_agent", "message")],
    "disguised": [tool("get_and_delete", "path"), tool("read_write", "path"), tool("list_drop", "name")],
    "net": [tool("fetch", "url"), tool("web_search", "query"), tool("read_page", "url")],
    "unknown": [tool("frobnicate", "path")],
}
MIXED: Mapping[str, tuple[list[dict[str, Any]], str]] = {
    "read behind delete": ([DELETE, WRITE, READ], "read_file"),
    "search before read": ([SHELL, READ, SEARCH, MOVE], "search_notes"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A working directory with files, and a folder of its own for what is temporary."""
    folder, temporary = tmp_path / "project", tmp_path / "temporary"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    temporary.mkdir()
    return folder


class Checked(NamedTuple):
    """What came of a check."""

    code: int
    out: list[str]
    error: str
    calls: list[Any]
    """Every call that the agent ran: name, arguments, working directory, files there."""


def agent(project: Path, tools: list[dict[str, Any]], name: str = "tools") -> list[str]:
    """The command of an agent with these tools."""
    offered = project.parent / f"{name}.json"
    offered.write_text(json.dumps(tools))
    return [sys.executable, str(AGENT), str(offered)]


def check(project: Path, tools: list[dict[str, Any]], *words: str) -> Checked:
    """Run the command in the project, with one agent."""
    return run_check(project, *words, "--", *agent(project, tools))


def run_check(project: Path, *words: str) -> Checked:
    """Run the command in the project."""
    command = [sys.executable, "-m", "toolstream_core.cli.main", "check", "--quiet", "--repair", "safe"]
    command += ["--case", "empty-id,duplicate-id", *words]
    environment = {**os.environ, "TMPDIR": str(project.parent / "temporary")}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    logs = sorted(project.parent.glob("*.log"))
    calls = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    return Checked(done.returncode, done.stdout.splitlines(), done.stderr, calls)


def files(folder: Path) -> dict[str, str]:
    """What a folder holds."""
    return {str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*") if one.is_file()}


def test_nothing_harmful_is_called(project: Path) -> None:
    """Without a harmless tool, `check` exits with 2, lists the tools and names the option; no file changes."""
    listed = project.parent / "agents.toml"
    listed.write_text(
        "".join(
            f"[clients.{json.dumps(name)}]\ncommand = {json.dumps(agent(project, tools, name))}\n"
            for name, tools in HARMFUL.items()
        )
    )
    done = run_check(project, "--matrix", str(listed))
    assert (done.code, done.calls, files(project)) == (2, [], FILES)
    assert done.out[: len(HARMFUL)] == [f"{name}: calls no tool" for name in HARMFUL]
    messages = [line.partition("openai-chat/healthy  ")[2] for line in done.out if "harness-failure required" in line]
    assert messages == [nothing_harmless(tools) for tools in HARMFUL.values()]


def test_one_agent_without_a_harmless_tool(project: Path) -> None:
    """Its message is an error of the command, too."""
    done = check(project, [DELETE, WRITE])
    assert (done.code, done.calls, files(project)) == (2, [], FILES)
    assert done.out[0] == "tool_agent.py: calls no tool"
    assert done.error == f"toolstream: {nothing_harmless([DELETE, WRITE])}\n"


def test_a_tool_that_is_not_on_offer_is_named(project: Path) -> None:
    """It may be misspelt."""
    done = check(project, [WRITE], "--tool", "nosuch")
    assert (done.code, done.calls, files(project)) == (1, [], FILES)
    wanted = f"the client offers no tool nosuch; available tools: {WRITE['function']['name']}"
    assert wanted in "\n".join(done.out)


def test_a_command_that_is_not_there_calls_nothing(project: Path) -> None:
    """It sent no request."""
    done = run_check(project, "--", "no-such-command")
    assert done.out[0] == "no-such-command: sent no request to an LLM"


def nothing_harmless(tools: list[dict[str, Any]]) -> str:
    """The message of a check that calls no tool."""
    names = [one["function"]["name"] for one in tools]
    return f"no tool on offer is known to be harmless: {', '.join(names)}. To call one, name it: --tool {names[0]}"


@pytest.mark.parametrize(("tools", "called"), MIXED.values(), ids=MIXED)
def test_the_harmless_tool_is_called(tools: list[dict[str, Any]], called: str, project: Path) -> None:
    """Wherever it stands; the first line says with which arguments, and a file to read exists."""
    done = check(project, tools)
    assert (done.code, files(project)) == (0, FILES)
    assert {name for name, *_ in done.calls} <= {"read_file", "search_notes"}
    assert done.calls[0][0] == called
    assert done.out[0].startswith(f"tool_agent.py: calls {called} {{")
    assert all(
        json.dumps(call[1], ensure_ascii=False)[1:-1] in done.out[0].replace('":"', '": "') for call in done.calls
    )
    assert files(project.parent / "temporary") == {}


@pytest.mark.parametrize("offered", [DELETE, WRITE, MOVE, SHELL], ids=lambda one: str(one["function"]["name"]))
def test_a_named_tool_gets_harmless_arguments(offered: dict[str, Any], project: Path) -> None:
    """A path does not exist, and lies in a temporary folder that is gone afterwards; a command is `true`."""
    name = offered["function"]["name"]
    done = check(project, [offered], "--tool", name)
    assert files(project) == FILES
    assert {called for called, *_ in done.calls} == {name}
    for _, arguments, *_ in done.calls:
        path = next(iter(arguments.values()))
        assert path.split()[0] == "true" if name == "bash" else Path(path).is_relative_to(project.parent / "temporary")
    assert files(project.parent / "temporary") == {}


def test_a_named_call_is_made_as_it_is(project: Path) -> None:
    """The user decides."""
    done = check(project, [DELETE], 'calls:delete_file {"path":"notes.txt"}')
    assert done.code == 0
    assert [name for name, *_ in done.calls] == ["delete_file"] * len(done.calls)
    assert all(arguments == {"path": "notes.txt"} for _, arguments, *_ in done.calls)
    assert not (project / "notes.txt").exists()


def test_a_copy_of_the_working_directory(project: Path) -> None:
    """It has what Git knows or would add, and links that stay inside; each run has a new one, which is removed."""
    (project / ".gitignore").write_text("kept\n")
    (project / "kept").mkdir()
    (project / "kept" / "large").write_text("x")
    (project / "inside").symlink_to("src/main.txt")
    (project / "outside").symlink_to("../elsewhere")
    (project / "absolute").symlink_to(project / "README.md")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    done = check(project, [DELETE], "--workdir", "copy", 'calls:delete_file {"path":"notes.txt"}')
    assert done.code == 0
    assert (project / "notes.txt").read_text() == "mine"
    assert len({where for *_, where, _ in done.calls}) == len(done.calls) > 1
    for *_, where, there in done.calls:
        assert there == [".env", ".gitignore", "README.md", "inside", "notes.txt", "src"]
        assert not Path(where).exists()
