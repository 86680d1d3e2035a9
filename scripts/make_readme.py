"""Fills the output blocks of README.md from real runs; `--check` says where they have drifted.

What differs from run to run is made the same: the flow's id at the end of each line is left out, the
milliseconds are those of a quick machine, and long lines are cut.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
SCENE = "DeepSeek"
COLUMNS = 118
_FLOW_ID = re.compile(r"  [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def main() -> int:
    """Write the blocks, or compare; 1 where they differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 on drift")
    check = parser.parse_args().check
    before = README.read_text(encoding="utf-8")
    after = _filled(_filled(before, "demo", _demo()), "inspect", _inspect())
    if before == after:
        return 0
    if check:
        print("README.md shows other output than the commands print now: run scripts/make_readme.py")
        return 1
    README.write_text(after, encoding="utf-8")
    return 0


def _demo() -> str:
    """The lines of one client of the demo."""
    printed = _run("demo")
    scene = printed[printed.index(SCENE) :].split("\n\n")[0]
    lines = [_stable(line.removeprefix("  ")) for line in scene.splitlines()[1:]]
    return "\n".join(lines)


def _inspect() -> str:
    """A command and what it prints."""
    return "$ toolstream inspect flows/glm-5.flow\n" + "\n".join(
        _stable(line) for line in _run("inspect", "flows/glm-5.flow").splitlines()
    )


def _run(*words: str) -> str:
    command = [sys.executable, "-m", "toolstream_core.cli.main", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def _stable(line: str) -> str:
    line = re.sub(r"\+\d+ms", "+1ms", _FLOW_ID.sub("  …", line))
    return line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…"


def _filled(text: str, name: str, lines: str) -> str:
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    head, rest = text.split(begin)
    return f"{head}{begin}\n```console\n{lines}\n```\n{end}{rest.split(end)[1]}"


if __name__ == "__main__":
    raise SystemExit(main())
