"""Rules that no linter checks: short functions, pinned requirements, no local paths."""

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
LOCAL_PATH = re.compile(r"(?<![\w.}])/(?:root|work|(?:home|Users)/(?!user\b|you\b)\w+)(?:/|\b)")


def long_functions(source: str) -> list[str]:
    """Return functions beyond the limit without a comment above them."""
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
    """Return the paths of all Python files of the project."""
    folders = (ROOT / name for name in ("addon", "scripts", "tests"))
    return sorted(path.relative_to(ROOT).as_posix() for folder in folders for path in folder.rglob("*.py"))


def test_functions_stay_short() -> None:
    """No function has more than 50 lines, unless a comment above it gives the reason."""
    found = {program: long_functions((ROOT / program).read_text()) for program in programs()}
    assert {program: long for program, long in found.items() if long} == {}


def test_no_tracked_text_contains_a_local_path() -> None:
    """No tracked file contains a path of a developer's machine, except recorded bytes."""
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
        if LOCAL_PATH.search(line)
    ]
    assert found == []


def test_a_long_function_needs_a_comment() -> None:
    """A long function is reported, unless it has a comment above it or its decorators."""
    long = "def f():\n" + "    x = 1\n" * FUNCTION_LINES
    assert long_functions(long) == [f"line 1: f has {FUNCTION_LINES + 1} lines"]
    assert long_functions(f"# A table, read from top to bottom.\n@cache\n{long}") == []
    assert long_functions(f"x = 1\n@cache\n{long}") != []


@pytest.mark.parametrize("path", [f"/{folder}" for folder in ("root/x", "work/main", "home/ann/x", "Users/ann")])
def test_a_local_path_is_reported(path: str) -> None:
    """A local path is found anywhere in a line."""
    assert LOCAL_PATH.search(f"cd {path} && x")


OTHER_PATHS = (("https://a.example", "work/x"), ("$ROOT", "root/x"), ("${A}", "work"), ("", "home/you/x"))


@pytest.mark.parametrize("path", [*(f"{begin}/{folder}" for begin, folder in OTHER_PATHS), "/etc/x"])
def test_urls_and_generic_paths_are_not_reported(path: str) -> None:
    """Paths of URLs, paths below variables, and placeholders of home folders are not reported."""
    assert not LOCAL_PATH.search(f"cd {path} && x")


@pytest.mark.parametrize(
    "name",
    sorted(path.relative_to(ROOT).as_posix() for folder in PINS for path in (ROOT / folder).glob("*.txt")),
)
def test_requirements_are_pinned_by_hash_without_urls(name: str) -> None:
    """Every requirement is pinned by version and hash, and no file contains an index URL."""
    text = (ROOT / name).read_text()
    entries = re.split(r"\n(?=\S)", re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE).strip())
    assert len(entries) > 1
    for entry in entries:
        assert re.match(r"[a-z0-9.-]+==[\w.+-]+( ;[^\n]+?)? \\\n    --hash=sha256:[0-9a-f]{64}", entry), entry[:80]
    assert not re.search(r"://|--(?:extra-)?index|--find-links|--trusted", text)


def test_npm_locks_contain_no_urls() -> None:
    """The npm locks contain hashes and no URLs."""
    locks = [*ROOT.glob("tests/**/package-lock.json"), ROOT / "requirements" / "browser" / "package-lock.json"]
    texts = [path.read_text() for path in locks if "node_modules" not in path.parts]
    assert len(texts) > 1
    assert [text for text in texts if '"resolved"' in text or '"integrity"' not in text] == []


def test_user_pins_are_development_pins() -> None:
    """Each pin for users is also a pin for development."""
    run, dev = (
        set(re.findall(r"^\S+==\S+", (ROOT / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("run.txt", "dev.txt")
    )
    assert run <= dev


def test_the_oldest_allowed_mitmproxy_is_tested() -> None:
    """The oldest mitmproxy in pyproject.toml is a version of the end-to-end tests, and each version has pins."""
    lines = (ROOT / "requirements" / "mitmproxies.in").read_text().splitlines()
    versions = {line.split()[0]: line.split()[1] for line in lines if not line.startswith("#")}
    [declared] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert versions["oldest"].replace("==", ">=") in {declared, declared + ".0", declared + ".0.0"}
    for name, version in versions.items():
        assert f"\n{version} \\\n" in (ROOT / "requirements" / f"mitmproxy-{name}.txt").read_text()


def test_every_declared_dependency_is_pinned() -> None:
    """Every dependency in pyproject.toml is pinned; scripts/lock adds the pins."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = chain(project["dependencies"], *project["optional-dependencies"].values())
    names = {re.split(r"[^\w.-]", line)[0] for line in declared} - {"mitmproxy-toolstream"}
    pinned = set(re.findall(r"^(\S+)==", (ROOT / "requirements" / "dev.txt").read_text(), re.MULTILINE))
    assert names - pinned == set()
