"""The steps of docs/fixtures.md, in an empty folder with the installed wheel, without the repository."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import zipfile
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

PAGE: Final = (ROOT / "docs" / "fixtures.md").read_text(encoding="utf-8")
STEPS: Final = PAGE[: PAGE.index("## Capture")]
BLOCKS: Final = re.findall(r"```(sh|python)\n(.*?)```", STEPS, re.DOTALL)
AGENT: Final = """
import json
import openai

TOOL = {"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}


def run(words):
    client, messages = openai.OpenAI(), [{"role": "user", "content": words}]
    while True:
        calls, text = {}, ""
        with client.chat.completions.create(
            model="deepseek-chat", messages=messages, tools=[TOOL], stream=True
        ) as stream:
            for choice in (one for chunk in stream for one in chunk.choices):
                text += choice.delta.content or ""
                for delta in choice.delta.tool_calls or ():
                    call = calls.setdefault(delta.index, {"id": delta.id, "type": "function", "function": {}})
                    for key in ("name", "arguments"):
                        call["function"][key] = call["function"].get(key, "") + (getattr(delta.function, key) or "")
        if not calls:
            return text
        messages.append({"role": "assistant", "content": None, "tool_calls": list(calls.values())})
        for call in calls.values():
            assert json.loads(call["function"]["arguments"])["path"] == "README.md"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "# Garden"})


if __name__ == "__main__":
    print(run("read README.md"))
"""


class User(NamedTuple):
    """A user with an installed wheel and an own folder."""

    folder: Path
    python: Path

    def run(self, command: str) -> str:
        """Run a command, which must succeed. Returns its output."""
        words = shlex.split(command)
        module = {"toolstream": "toolstream_core.cli.main", "pytest": "pytest"}[words[0]]
        # Saved flows in place of the real provider of the first step.
        words[2:2] = [str(ROOT / "flows" / "deepseek-empty-id.flow")] if words[1:2] == ["run"] else []
        done = subprocess.run(
            [self.python, "-m", module, *words[1:]],
            cwd=self.folder,
            env={**os.environ, "PATH": f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> User:
    """A user with the wheel and its dependencies, but without the repository."""
    home = tmp_path_factory.mktemp("home")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(home / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / "env"], check=True, timeout=120)
    python = home / "env" / "bin" / "python"
    (site,) = (home / "env").glob("lib/python*/site-packages")
    (wheel,) = (home / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    # A .pth file adds its folder to the path, but not the folders of other .pth files: not the repository.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    folder = home / "project"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    return User(folder, python)


def test_the_steps_work(user: User) -> None:
    """The commands of the page succeed in their order, and write the files that the page names."""
    where = subprocess.run(
        [user.python, "-c", "import toolstream_core; print(toolstream_core.__file__)"],
        cwd=user.folder, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert where.stdout.startswith(str(user.python.parent.parent))
    printed: dict[str, str] = {}
    for kind, block in BLOCKS:
        if kind == "python":
            (user.folder / "test_agent.py").write_text(block)
        else:
            printed |= {command: user.run(command) for command in block.splitlines()}
    tests = next(text for command, text in printed.items() if command.startswith("pytest"))
    assert "3 passed" in tests
    modes = {path.name: path.stat().st_mode & 0o777 for path in (user.folder / "flows").iterdir()}
    assert modes == {"broken.flow": 0o600, "broken.expect.json": 0o600}
    report = (user.folder / "report.md").read_text(encoding="utf-8")
    assert "empty-id" in report
    assert "toolstream serve small.flow" in report
    assert (user.folder / "small.flow").stat().st_size < (user.folder / "flows" / "broken.flow").stat().st_size


def test_a_client_that_misreads_fails(user: User) -> None:
    """The test of the page fails with an agent that treats each id as a new call."""
    folder = user.folder.parent / "misreading"
    folder.mkdir()
    misread = AGENT.replace("calls.setdefault(delta.index,", "calls.setdefault(delta.id,").replace('== "README.md"', "")
    (folder / "agent.py").write_text(
        misread.replace('assert json.loads(call["function"]["arguments"])["path"] ', "pass")
    )
    block = next(block for kind, block in BLOCKS if kind == "python")
    flow = ROOT / "flows" / "deepseek-empty-id.flow"
    (folder / "test_agent.py").write_text(block.replace("flows/broken.flow", str(flow)))
    done = subprocess.run(
        [user.python, "-m", "pytest", "-k", "None"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert "the client misread the response" in done.stdout


def test_the_wheel_has_the_files_of_the_page(user: User) -> None:
    """The wheel has the non-Python files of the HTML report."""
    code = "from toolstream_core.view.assemble import check_page; print(check_page({'clients': []})[:15])"
    done = subprocess.run([user.python, "-c", code], cwd=user.folder, capture_output=True, text=True, check=True)
    assert done.stdout == "<!doctype html>\n"
