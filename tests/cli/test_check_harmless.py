"""`toolstream check` with agents whose tools have effects: no file changes, and only harmless tools are called."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.cli.processes import environment, toolstream

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.e2e

AGENT = Path(__file__).resolve().parents[1] / "checking" / "tool_agent.py"
FILES = {"notes.txt": "mine", "src/main.txt": "mine too", "README.md": "# Read", ".env": "A=1"}


def tool(name: str, *parameters: str, **schemas: Any) -> dict[str, Any]:
    """Return a tool with required parameters; a parameter without a schema is a string."""
    properties = {**{parameter: {"type": "string"} for parameter in parameters}, **schemas}
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
WITH_HARMLESS: Mapping[str, tuple[list[dict[str, Any]], str]] = {
    "read after delete": ([DELETE, WRITE, READ], "read_file"),
    "search before read": ([SHELL, READ, SEARCH, MOVE], "search_notes"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Create a working directory with files and a separate folder for temporary files."""
    folder, temporary = tmp_path / "project", tmp_path / "temporary"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    temporary.mkdir()
    return folder


class Checked(NamedTuple):
    """The result of a check."""

    code: int
    out: list[str]
    error: str
    calls: list[Any]
    """All calls that the agent ran: name, arguments, working directory and its files."""


def agent(project: Path, tools: list[dict[str, Any]], name: str = "tools") -> list[str]:
    """Return the command of an agent with these tools."""
    offered = project.parent / f"{name}.json"
    offered.write_text(json.dumps(tools))
    return [sys.executable, str(AGENT), str(offered)]


def check(project: Path, tools: list[dict[str, Any]], *words: str) -> Checked:
    """Run the command in the project with one agent."""
    return run_check(project, *words, "--", *agent(project, tools))


def run_check(project: Path, *words: str) -> Checked:
    """Run the command in the project."""
    command = toolstream("check", "--quiet", "--repair", "safe", "--case", "empty-id,duplicate-id", *words)
    env = environment(TMPDIR=str(project.parent / "temporary"))
    result = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    logs = sorted(project.parent.glob("*.log"))
    calls = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    return Checked(result.returncode, result.stdout.splitlines(), result.stderr, calls)


def files(folder: Path) -> dict[str, str]:
    """Return the paths and contents of the files in a folder."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_no_harmful_tool_is_called(project: Path) -> None:
    """Without a harmless tool, `check` exits with 2, lists the tools and names the option; no file changes."""
    listed = project.parent / "agents.toml"
    listed.write_text(
        "".join(
            f"[clients.{json.dumps(name)}]\ncommand = {json.dumps(agent(project, tools, name))}\n"
            for name, tools in HARMFUL.items()
        )
    )
    result = run_check(project, "--matrix", str(listed))
    assert (result.code, result.calls, files(project)) == (2, [], FILES)
    assert result.out[: len(HARMFUL)] == [f"{name}: calls no tool" for name in HARMFUL]
    messages = [line.partition("openai-chat/healthy  ")[2] for line in result.out if "harness-failure required" in line]
    assert messages == [no_harmless_tool(tools) for tools in HARMFUL.values()]


def test_one_agent_without_a_harmless_tool(project: Path) -> None:
    """The message is printed as an error of the command, too."""
    result = check(project, [DELETE, WRITE])
    assert (result.code, result.calls, files(project)) == (2, [], FILES)
    assert result.out[0] == "tool_agent.py: calls no tool"
    assert result.error == f"toolstream: {no_harmless_tool([DELETE, WRITE])}\n"


def test_an_unknown_tool_is_an_error(project: Path) -> None:
    """The error lists the available tools, as the name may be misspelt."""
    result = check(project, [WRITE], "--tool", "nosuch")
    assert (result.code, result.calls, files(project)) == (1, [], FILES)
    message = f"the client offers no tool nosuch; available tools: {WRITE['function']['name']}"
    assert message in "\n".join(result.out)


def test_a_missing_command_sends_no_request(project: Path) -> None:
    """The report says that no request was sent."""
    result = run_check(project, "--", "no-such-command")
    assert result.out[0] == "no-such-command: sent no request to an LLM"


def no_harmless_tool(tools: list[dict[str, Any]]) -> str:
    """Return the message of a check that calls no tool."""
    names = [tool["function"]["name"] for tool in tools]
    return f"no tool on offer is known to be harmless: {', '.join(names)}. To call one, name it: --tool {names[0]}"


@pytest.mark.parametrize(("tools", "called"), WITH_HARMLESS.values(), ids=WITH_HARMLESS)
def test_the_harmless_tool_is_called(tools: list[dict[str, Any]], called: str, project: Path) -> None:
    """The order of the tools does not matter; the first line has the arguments, and a file to read exists."""
    result = check(project, tools)
    assert (result.code, files(project)) == (0, FILES)
    assert {name for name, *_ in result.calls} <= {"read_file", "search_notes"}
    assert result.calls[0][0] == called
    assert result.out[0].startswith(f"tool_agent.py: calls {called} {{")
    assert all(
        json.dumps(call[1], ensure_ascii=False)[1:-1] in result.out[0].replace('":"', '": "') for call in result.calls
    )
    assert files(project.parent / "temporary") == {}


@pytest.mark.parametrize("offered", [DELETE, WRITE, MOVE, SHELL], ids=lambda tool: str(tool["function"]["name"]))
def test_a_named_tool_gets_harmless_arguments(offered: dict[str, Any], project: Path) -> None:
    """A path does not exist and is in a temporary folder that is deleted; a command is `true`."""
    name = offered["function"]["name"]
    result = check(project, [offered], "--tool", name)
    assert files(project) == FILES
    assert {called for called, *_ in result.calls} == {name}
    for _, arguments, *_ in result.calls:
        path = next(iter(arguments.values()))
        assert path.split()[0] == "true" if name == "bash" else Path(path).is_relative_to(project.parent / "temporary")
    assert files(project.parent / "temporary") == {}


def test_a_named_call_is_sent_unchanged(project: Path) -> None:
    """The user chose its arguments."""
    result = check(project, [DELETE], 'calls:delete_file {"path":"notes.txt"}')
    assert result.code == 0
    assert [name for name, *_ in result.calls] == ["delete_file"] * len(result.calls)
    assert all(arguments == {"path": "notes.txt"} for _, arguments, *_ in result.calls)
    assert not (project / "notes.txt").exists()


def test_a_copy_of_the_working_directory(project: Path) -> None:
    """The copy has the files that Git would add and links inside the folder; each run gets a new copy."""
    (project / ".gitignore").write_text("kept\n")
    (project / "kept").mkdir()
    (project / "kept" / "large").write_text("x")
    (project / "inside").symlink_to("src/main.txt")
    (project / "outside").symlink_to("../elsewhere")
    (project / "absolute").symlink_to(project / "README.md")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    result = check(project, [DELETE], "--workdir", "copy", 'calls:delete_file {"path":"notes.txt"}')
    assert result.code == 0
    assert (project / "notes.txt").read_text() == "mine"
    assert len({workdir for *_, workdir, _ in result.calls}) == len(result.calls) > 1
    for *_, workdir, listing in result.calls:
        assert listing == [".env", ".gitignore", "README.md", "inside", "notes.txt", "src"]
        assert not Path(workdir).exists()
