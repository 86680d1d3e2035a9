"""The rules that no linter knows: short functions, pinned requirements, no machine's paths."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FUNCTION_LINES = 50
PINS = ("requirements", "tests/clients/locks")
RECORDED = {"flows", "streams"}
MACHINE_PATH = re.compile(r"(?<![\w.}])/(?:root|work|(?:home|Users)/(?!user\b|you\b)\w+)(?:/|\b)")


def long_functions(source: str) -> list[str]:
    """Functions beyond the limit that do not say why, in a comment right above them."""
    lines = source.splitlines()
    return [
        f"line {node.lineno}: {node.name} has {size} lines"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (size := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
        and not _above(node, lines).startswith("#")
    ]


def _above(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> str:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return lines[first - 2].strip() if first > 1 else ""


def programs() -> list[str]:
    """All Python files of the project, as paths within it."""
    folders = (ROOT / name for name in ("addon", "scripts", "tests"))
    return sorted(path.relative_to(ROOT).as_posix() for folder in folders for path in folder.rglob("*.py"))


def test_functions_stay_short() -> None:
    """A function of more than 50 lines does two things, unless a comment above it says why."""
    found = {program: long_functions((ROOT / program).read_text()) for program in programs()}
    assert {program: long for program, long in found.items() if long} == {}


def test_no_tracked_text_names_a_path_of_somebodys_machine() -> None:
    """Recorded bytes are evidence and stay as they were."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    tracked = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    texts = [path for path in tracked if not RECORDED & set(path.parts) and path.is_file()]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in texts
        if path != Path(__file__).resolve()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert found == []


def test_a_long_function_has_to_say_why() -> None:
    """The comment above it, or above its decorators, is the reason."""
    long = "def f():\n" + "    x = 1\n" * FUNCTION_LINES
    assert long_functions(long) == [f"line 1: f has {FUNCTION_LINES + 1} lines"]
    assert long_functions(f"# A table, read from top to bottom.\n@cache\n{long}") == []
    assert long_functions(f"x = 1\n@cache\n{long}") != []


@pytest.mark.parametrize("path", [f"/{folder}" for folder in ("root/x", "work/main", "home/ann/x", "Users/ann")])
def test_a_path_of_a_machine_is_told(path: str) -> None:
    """Wherever in a line it stands."""
    assert MACHINE_PATH.search(f"cd {path} && x")


NO_MACHINE = (("https://a.example", "work/x"), ("$ROOT", "root/x"), ("${A}", "work"), ("", "home/you/x"))


@pytest.mark.parametrize("path", [*(f"{begin}/{folder}" for begin, folder in NO_MACHINE), "/etc/x"])
def test_an_address_or_anybodys_path_is_not_told(path: str) -> None:
    """A path of a URL, one below a variable, and the reader's own home are no machine's."""
    assert not MACHINE_PATH.search(f"cd {path} && x")


@pytest.mark.parametrize(
    "name",
    sorted(path.relative_to(ROOT).as_posix() for folder in PINS for path in (ROOT / folder).glob("*.txt")),
)
def test_requirements_pin_everything_by_hash_and_name_no_address(name: str) -> None:
    """They install the same from any index or mirror, and never anything else than what was tested."""
    text = (ROOT / name).read_text()
    entries = re.split(r"\n(?=\S)", re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE).strip())
    assert len(entries) > 1
    for entry in entries:
        assert re.match(r"[a-z0-9.-]+==[\w.+-]+( ;[^\n]+?)? \\\n    --hash=sha256:[0-9a-f]{64}", entry), entry[:80]
    assert not re.search(r"://|--(?:extra-)?index|--find-links|--trusted", text)


def test_locks_of_npm_name_no_address() -> None:
    """They hold hashes, and install from any registry."""
    locks = [*ROOT.glob("tests/**/package-lock.json"), ROOT / "requirements" / "browser" / "package-lock.json"]
    texts = [path.read_text() for path in locks if "node_modules" not in path.parts]
    assert len(texts) > 1
    assert [text for text in texts if '"resolved"' in text or '"integrity"' not in text] == []


def test_what_runs_is_what_was_tested() -> None:
    """Each pin for users is a pin for development too."""
    run, dev = (
        set(re.findall(r"^\S+==\S+", (ROOT / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("run.txt", "dev.txt")
    )
    assert run <= dev


def test_the_oldest_mitmproxy_that_is_allowed_is_tested() -> None:
    """What pyproject.toml promises is what the end-to-end tests start, and each has its pins."""
    lines = (ROOT / "requirements" / "mitmproxies.in").read_text().splitlines()
    wanted = {line.split()[0]: line.split()[1] for line in lines if not line.startswith("#")}
    [promised] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert wanted["oldest"].replace("==", ">=") in {promised, promised + ".0", promised + ".0.0"}
    for name, version in wanted.items():
        assert f"\n{version} \\\n" in (ROOT / "requirements" / f"mitmproxy-{name}.txt").read_text()


def test_everything_that_is_declared_is_pinned() -> None:
    """Whoever adds a dependency to pyproject.toml runs scripts/lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = chain(project["dependencies"], *project["optional-dependencies"].values())
    names = {re.split(r"[^\w.-]", line)[0] for line in declared} - {"mitmproxy-toolstream"}
    pinned = set(re.findall(r"^(\S+)==", (ROOT / "requirements" / "dev.txt").read_text(), re.MULTILINE))
    assert names - pinned == set()
