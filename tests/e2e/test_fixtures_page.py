"""docs/fixtures.md as a new user follows it: in an empty folder, with the wheel installed, without the clone."""

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
    """Somebody with the wheel in an environment of their own, in a folder of their own."""

    folder: Path
    python: Path

    def types(self, command: str) -> str:
        """What a command prints; it has to succeed."""
        words = shlex.split(command)
        module = {"toolstream": "toolstream_core.cli.main", "pytest": "pytest"}[words[0]]
        # In the place of a real provider, which the page's agent asks in the first step.
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
    """With the wheel, what it needs, and no more of the clone."""
    home = tmp_path_factory.mktemp("home")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(home / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / "env"], check=True, timeout=120)
    python = home / "env" / "bin" / "python"
    (site,) = (home / "env").glob("lib/python*/site-packages")
    (wheel,) = (home / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    # A line of a .pth file adds a folder to the path, but not what the .pth files in there add: not the clone.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    folder = home / "project"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    return User(folder, python)


def test_the_steps(user: User) -> None:
    """Each command of the two walks, in their order; what they leave is what the page says."""
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
            printed |= {command: user.types(command) for command in block.splitlines()}
    tests = next(text for command, text in printed.items() if command.startswith("pytest"))
    assert "3 passed" in tests
    kept = {path.name: path.stat().st_mode & 0o777 for path in (user.folder / "flows").iterdir()}
    assert kept == {"broken.flow": 0o600, "broken.expect.json": 0o600}
    report = (user.folder / "report.md").read_text(encoding="utf-8")
    assert "empty-id" in report
    assert "toolstream serve small.flow" in report
    assert (user.folder / "small.flow").stat().st_size < (user.folder / "flows" / "broken.flow").stat().st_size


def test_a_client_that_misreads_fails(user: User) -> None:
    """The test of the page is one that can fail: this agent takes each id that is there for a new call."""
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
    """The report of `toolstream check` is drawn with files that are no Python."""
    code = "from toolstream_core.view.assemble import check_page; print(check_page({'clients': []})[:15])"
    done = subprocess.run([user.python, "-c", code], cwd=user.folder, capture_output=True, text=True, check=True)
    assert done.stdout == "<!doctype html>\n"
