"""A small part of the matrix: the SDK's example loop, and a wrong loop with and without repair."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolstream_core.cli.main import main

pytestmark = pytest.mark.e2e

DRIVERS = Path(__file__).parent / "drivers" / "python"
CASE = "openai-chat/fault/empty-id"


def grades(folder: Path, *options: str) -> tuple[int, dict[str, str]]:
    """The exit code, and the grade of each client under a fault."""
    listed, report = folder / "clients.toml", folder / "report.json"
    commands = {
        name: [sys.executable, str(DRIVERS / f"{name}.py"), "{prompt}"] for name in ("openai_loop", "wrong_loop")
    }
    listed.write_text("\n".join(f"[clients.{name}]\ncommand = {json.dumps(words)}" for name, words in commands.items()))
    common = ["check", "--quiet", "--matrix", str(listed), "--case", "empty-id", "--format", "json", "-o", str(report)]
    code = main([*common, *options])
    clients = json.loads(report.read_text(encoding="utf-8"))["clients"]
    return code, {one["name"]: case["grade"] for one in clients for case in one["cases"] if case["id"] == CASE}


def test_repair_helps_a_wrong_loop(tmp_path: Path) -> None:
    """The SDK's example loop needs no repair."""
    assert grades(tmp_path) == (1, {"openai_loop": "ok", "wrong_loop": "failed"})
    assert grades(tmp_path, "--repair", "safe", "--client", "wrong_loop") == (0, {"wrong_loop": "ok"})


@pytest.mark.parametrize(
    ("name", "given", "ran"),
    [
        ("read_file", '{"path": "a.txt"}', [["read_file", {"path": "a.txt"}]]),
        ("read_file", '{"file": "a.txt"}', [["read_file", {"file": "a.txt"}]]),
        ("write_file", "{}", [["write_file", {}]]),
        ("read_file", '{"path', []),
    ],
)
def test_each_tool_run_is_recorded(tmp_path: Path, name: str, given: str, ran: list[object]) -> None:
    """Each run is recorded once, also with a wrong name or arguments, but not if the arguments are no JSON."""
    program = f"import two_tools; two_tools.run_tool({name!r}, {given!r})"
    noted = tmp_path / "ran"
    noted.touch()
    environment = {**os.environ, "DRIVER_RAN": str(noted), "PYTHONPATH": str(DRIVERS)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=False, stderr=subprocess.DEVNULL)
    assert [json.loads(line) for line in noted.read_text(encoding="utf-8").splitlines()] == ran
