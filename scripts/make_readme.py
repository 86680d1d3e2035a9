"""Fills the output blocks of README.md from real runs; `--check` says where they have drifted.

What differs from run to run is made the same: the flow's id is left out, the
milliseconds are those of a quick machine, and long lines are cut.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "addon"))

from mitmproxy.http import HTTPFlow  # noqa: E402
from mitmproxy.io import FlowReader, FlowWriter  # noqa: E402

from toolstream_core.checking import table  # noqa: E402
from toolstream_core.cli import catalogue  # noqa: E402
from toolstream_core.defects.table import ROWS  # noqa: E402
from toolstream_core.faults.clients import CLIENTS  # noqa: E402
from toolstream_core.faults.presets import PRESETS  # noqa: E402
from toolstream_core.settings import injectable_names  # noqa: E402
from toolstream_core.transit import TRANSIT  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

README = ROOT / "README.md"
SCENE = "DeepSeek"
COLUMNS = 120
_FLOW_ID = re.compile(r"  [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def main() -> int:
    """Write the blocks, or compare; 1 where they differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 on drift")
    check = parser.parse_args().check
    before = README.read_text(encoding="utf-8")
    after = before
    blocks = {"demo": _demo(), "verdict": _verdict(), "inspect": _inspect(), "repair": _repair(), "check": _check()}
    for name, lines in blocks.items():
        after = _filled(after, name, f"```console\n{lines}\n```")
    for name, rows in (
        ("shapes", _shapes()),
        ("clients", _clients()),
        ("transit", _transit()),
        ("presets", _presets()),
        ("defects", _defects()),
    ):
        after = _filled(after, name, f"\n{rows}\n")
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


def _repair() -> str:
    """A stream of two calls that share their index, mended."""
    with tempfile.TemporaryDirectory() as folder:
        broken, changed = str(Path(folder) / "broken.flow"), str(Path(folder) / "mended.flow")
        _run("fault", "reused-index", "flows/openai-chat-parallel.flow", "-o", broken)
        shown = _run("repair", broken, "-o", changed, "--diff", both=True).splitlines()
    first = next(at for at, line in enumerate(shown) if "repair:" in line)
    lines = [_stable(re.sub(r'"id".*?("delta")', r"…\1", line)) for line in shown[first : first + 3]]
    return "\n".join(["$ toolstream repair broken.flow -o mended.flow --diff", *lines])


def _verdict() -> str:
    """A conversation whose client takes every present id for a new call, as in a report of aichat."""
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "session.flow"
        with (ROOT / "flows" / "deepseek-empty-id.flow").open("rb") as saved, session.open("wb") as made:
            writer = FlowWriter(made)
            for flow in FlowReader(saved).stream():
                assert isinstance(flow, HTTPFlow)
                request = flow.request.json()
                for call in (call for message in request["messages"] for call in message.get("tool_calls", ())):
                    call["function"]["arguments"] = "{}"
                flow.request.text = json.dumps(request)
                writer.add(flow)
        shown = _run("inspect", str(session)).replace(f"{folder}/", "")
    return "\n".join(["$ toolstream inspect session.flow", *map(_stable, shown.splitlines())])


def _check() -> str:
    """A client that takes every id that is there for a new call."""
    words = ["--faults", "glm-5,deepseek,reused-index,cut-off-call,stall"]
    client = ["--", "python", "agent.py", "by-id"]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / "tests" / "checking" / "agent.py", folder)
        environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        asked = [sys.executable, "-m", "toolstream_core.cli.main", "check", "--json", "-", *words, *client]
        done = subprocess.run(asked, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    called = next(line for line in done.stderr.splitlines() if ": calls " in line)
    shown = [*textwrap.wrap(called, COLUMNS, subsequent_indent="  "), *table.lines(json.loads(done.stdout), COLUMNS)]
    return "\n".join([f"$ toolstream check {' '.join([*words, *client])}", *map(_stable, shown)])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def _shapes() -> str:
    """Every shape with its dialects."""
    rows = [
        (f"`{one['name']}`", one["meaning"].rstrip("."), ", ".join(f"`{name}`" for name in one["dialects"]))
        for one in catalogue.shapes()
    ]
    return _table(("shape", "is", "dialects"), rows)


def _clients() -> str:
    rows = [
        (f"`for:{row.name}`", f"[{row.client}]({row.source}) {row.versions}", _names((*row.shapes, *row.repairs)))
        for row in CLIENTS
    ]
    return _table(("name", "client", "shapes and repairs"), rows)


def _transit() -> str:
    rows = [
        (f"`{row.name}`", row.meaning, "; ".join(f"`{key.name}`: {key.expected}" for key in row.keys))
        for row in TRANSIT
    ]
    return _table(("fault", "what happens", "keys"), rows)


def _presets() -> str:
    rows = [(f"`{row.name}`", f"[{row.meaning}]({row.source})", _names(row.parts)) for row in PRESETS]
    return _table(("preset", "habit", "made of"), rows)


def _defects() -> str:
    """How many defects there are, by family."""
    rows = [
        (
            family,
            str(len(mine)),
            str(sum(row.repair == "safe" for row in mine)),
            str(sum(row.repair == "unsafe" for row in mine)),
            str(sum(row.name in injectable_names() for row in mine)),
        )
        for family in dict.fromkeys(row.family for row in ROWS)
        if (mine := [row for row in ROWS if row.family == family])
    ]
    told = f"{len(ROWS)} defects are known, each with [a page](docs/defects/README.md)."
    return f"{told}\n\n{_table(('family', 'defects', 'safe repair', 'unsafe repair', 'can be caused'), rows)}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _run(*words: str, both: bool = False) -> str:
    command = [sys.executable, "-m", "toolstream_core.cli.main", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout + (done.stderr if both else "")


def _stable(line: str) -> str:
    line = re.sub(r" *\+\d+ms", lambda time: f"{'+1ms':>{len(time[0])}}", _FLOW_ID.sub("  …", line))
    return line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…"


def _filled(text: str, name: str, lines: str) -> str:
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    head, rest = text.split(begin)
    return f"{head}{begin}\n{lines}\n{end}{rest.split(end)[1]}"


if __name__ == "__main__":
    raise SystemExit(main())
