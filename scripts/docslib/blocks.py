"""Fills the marked blocks of README.md and of pages in docs/: output of real runs, and tables from the code.

Also draws docs/terminal.svg from the runs in README.md. The output is reproducible: flow ids are removed, and long
lines are truncated.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from functools import cache, partial
from graphlib import TopologicalSorter
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docslib.tables import DOCS, ROOT, code, codes
from recording import plain, svg
from tests import test_architecture as architecture
from toolstream_core.checking import report
from toolstream_core.defects.table import DEFECTS
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.faults.presets import PRESETS
from toolstream_core.proxy.option_table import KEEP_BODIES, OPTIONS, PROVIDER, AddonOption
from toolstream_core.report import catalogue
from toolstream_core.report.columns import table
from toolstream_core.settings import injectable_names
from toolstream_core.transit.definitions import TRANSIT
from toolstream_core.verdict.outcome import Grade, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from toolstream_core.verdict.outcome import ReportedWord

README: Final = ROOT / "README.md"
FLOW: Final = "demo:deepseek-empty-id"
AGENT: Final = "python agent.py"
CASES: Final = "deepseek,cut-off-call,stall"
COLUMNS: Final = 120
_FLOW_ID: Final = re.compile(r"  flow (?:\x1b\[2m)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\x1b\[0m)?$")


def agent() -> str:
    """The source of the example in README.md."""
    found: list[str] = re.findall(r"```python\n(# agent\.py\n.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return found[0]


@cache
def run(*options: str, shown: str = "#") -> str:
    """Run the example. Returns the command, the coloured log lines that contain `shown`, and the client's output."""
    words = ["run", FLOW, *options, "--", *AGENT.split()]
    log, printed = _in_terminal(*words)
    # A verdict and the summary of the next response are logged at the same time: sort them by response.
    kept = [(plain(line)[:2], line) for line in log.splitlines() if plain(line).startswith("#") and shown in line]
    lines = [_stable(line) for _, line in sorted(kept, key=itemgetter(0))]
    return "\n".join([f"$ toolstream {' '.join(words)}", *lines, *printed.splitlines()])


working: Final = partial(run, "--shape", "whole-calls", shown="verdict")
"""The run with the verdict's advice; without it, the client misreads the stream."""


def recording() -> str:
    """Both runs as an SVG."""
    return svg(
        "toolstream finds why an agent loops",
        "Terminal: toolstream run logs a streamed tool call. The verdict is returned-without-arguments, and names the "
        "client's bug and a workaround. With this workaround, --shape whole-calls, the verdict is ok.",
        [*run().splitlines(), "", *working().splitlines()],
    )


def check() -> str:
    """A `toolstream check` of the example with a few cases."""
    words = ["--case", CASES, "--", *AGENT.split()]
    done = _toolstream("check", "--format", "json", *words)
    called = next(line for line in done.stderr.splitlines() if ": calls " in line)
    shown = [*textwrap.wrap(called, COLUMNS, subsequent_indent="  "), *report.lines(json.loads(done.stdout), COLUMNS)]
    return "\n".join([f"$ toolstream check {' '.join(words)}", *map(_temporary, shown)])


def inspect() -> str:
    """The events of a healthy stream."""
    done = _toolstream("inspect", "--chunks", "flows/glm-5.flow")
    return "\n".join(["$ toolstream inspect --chunks flows/glm-5.flow", *map(_stable, done.stdout.splitlines())])


def repair() -> str:
    """The repair of a stream whose two calls share an index."""
    with tempfile.TemporaryDirectory() as folder:
        broken, changed = str(Path(folder) / "broken.flow"), str(Path(folder) / "repaired.flow")
        _toolstream("fault", "reused-index", "flows/openai-chat-parallel.flow", "-o", broken)
        shown = _toolstream("repair", broken, "-o", changed, "--diff").stderr.splitlines()
    first = next(at for at, line in enumerate(shown) if "repair:" in line)
    lines = [_stable(re.sub(r'"id".*?("delta")', r"…\1", line)) for line in shown[first : first + 3]]
    return "\n".join(["$ toolstream repair broken.flow -o repaired.flow --diff", *lines])


def _toolstream(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with pipes."""
    with _started(*words, stderr=subprocess.PIPE) as process:
        printed, log = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, printed, log)


def _in_terminal(*words: str) -> tuple[str, str]:
    """Run a command in a pseudo-terminal. Returns its log and its standard output."""
    terminal_end, process_end = os.openpty()
    with _started(*words, stderr=process_end) as process, os.fdopen(terminal_end, "rb", buffering=0) as terminal:
        os.close(process_end)
        log = b""
        with contextlib.suppress(OSError):  # Linux reports the end of a pseudo-terminal as an error.
            while read := terminal.read(1 << 16):
                log += read
        printed, _ = process.communicate()
    return log.decode(), printed


@contextlib.contextmanager
def _started(*words: str, stderr: int) -> Iterator[subprocess.Popen[str]]:
    """Start a command in a temporary folder with the example and the saved flows."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"TERM": "xterm", "NO_COLOR": ""}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "agent.py").write_text(agent(), encoding="utf-8")
        (Path(folder) / "flows").symlink_to(ROOT / "flows")
        command = [sys.executable, "-m", "toolstream_core.cli.main", *words]
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as process:
            yield process


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(table(head, rows))


def options() -> str:
    """The table of the addon's options."""
    return _table(("Option", "Flag", "Default", "Description"), map(_option, OPTIONS))


def _option(one: AddonOption) -> tuple[str, str, str, str]:
    default = (
        "none"
        if one.default in ("", ())
        else code(str(one.default).lower() if one.default is False else str(one.default))
    )
    choices = f" {', '.join(map(code, one.choices))}." if one.choices else ""
    flag = "none" if one is KEEP_BODIES else code("FLOW" if one is PROVIDER else one.flag)
    return code(one.name), flag, default, one.help + choices


def shapes() -> str:
    """The table of shapes with their protocols."""
    rows = [(code(one["name"]), one["meaning"], codes(one["dialects"])) for one in catalogue.shapes()]
    return _table(("Shape", "Encoding", "Protocols"), rows)


def clients() -> str:
    """The table of the shapes and repairs for each client."""
    rows = [
        (
            f"`for:{defect.name}`",
            f"[{defect.client}]({defect.source}) {defect.versions}",
            codes((*defect.shapes, *defect.repairs)),
            defect.why,
        )
        for defect in CLIENTS
    ]
    return _table(("Name", "Client", "Shapes and repairs", "Reason"), rows)


def transit() -> str:
    """The table of timing and connection faults."""
    rows = [
        (code(defect.name), defect.meaning, "; ".join(f"`{key.name}`: {key.expected}" for key in defect.keys))
        for defect in TRANSIT
    ]
    return _table(("Fault", "Description", "Keys"), rows)


def _meanings(what: str, words: Iterable[ReportedWord]) -> str:
    """The table of words with their meanings, in their order."""
    return _table((what, "Description"), ((code(one), one.meaning) for one in words))


def presets() -> str:
    """The table of presets."""
    rows = [(code(defect.name), f"[{defect.meaning}]({defect.source})", codes(defect.parts)) for defect in PRESETS]
    return _table(("Preset", "Quirk", "Faults and shapes"), rows)


def defects() -> str:
    """The number of defects by family."""
    rows = [
        (
            family,
            str(len(mine)),
            str(sum(defect.repair == "safe" for defect in mine)),
            str(sum(defect.repair == "unsafe" for defect in mine)),
            str(sum(defect.name in injectable_names() for defect in mine)),
        )
        for family in dict.fromkeys(defect.family for defect in DEFECTS)
        if (mine := [defect for defect in DEFECTS if defect.family == family])
    ]
    counted = f"{len(DEFECTS)} defects are known, each with [a page](defects/README.md)."
    return f"{counted}\n\n{_table(('Family', 'Defects', 'Safe repair', 'Unsafe repair', 'Can be injected'), rows)}"


def packages() -> str:
    """The packages of the core by layer, highest first, from their imports and docstrings."""
    needed: dict[str, set[str]] = {}
    for module in architecture.modules():
        source = (architecture.CORE / module).read_text(encoding="utf-8")
        targets = {architecture.unit(one.name) for one in architecture.imports(source)}
        needed.setdefault(architecture.unit_of(module), set()).update(target for target in targets if target)
    layers: dict[str, int] = {}
    for name in TopologicalSorter({name: targets - {name} for name, targets in needed.items()}).static_order():
        layers[name] = 1 + max((layers[target] for target in needed[name] - {name}), default=0)
    lines = []
    for layer in range(max(layers.values()), 0, -1):
        for name in sorted(name for name, one in layers.items() if one == layer):
            place = architecture.CORE / name
            path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            lines.append(f"{layer:2}  {name:14} {docstring.partition('\n')[0]}")
    return "\n".join(["```text", *lines, "```"])


def _stable(line: str) -> str:
    line = _FLOW_ID.sub("", line)
    return line if len(plain(line)) <= COLUMNS else line[: COLUMNS - 1] + "…"


def _temporary(line: str) -> str:
    return re.sub(r"(?<=\")/[^\"]*/toolstream-\w+/", "/tmp/…/", line)  # noqa: S108 - shown, not used


BLOCKS: Final[dict[str, dict[str, Callable[[], str]]]] = {
    "README.md": {"failing": run, "working": working, "check": check},
    "docs/cli.md": {"grades": partial(_meanings, "Grade", Grade), "reasons": partial(_meanings, "Reason", Reason)},
    "docs/mitmproxy.md": {"inspect": inspect},
    "docs/options.md": {"options": options},
    "docs/shapes.md": {"shapes": shapes, "clients": clients},
    "docs/faults.md": {"transit": transit, "presets": presets, "defects": defects},
    "docs/repair.md": {"repair": repair},
    "docs/architecture.md": {"packages": packages},
}
"""The function of each block, by page."""


def filled(page: str) -> str:
    """The text of a page with current blocks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, generate in BLOCKS[page].items():
        lines = plain(generate())
        block = f"```console\n{lines}\n```" if lines.startswith("$ ") else f"\n{lines}\n"
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{block}\n{end}{rest.split(end)[1]}"
    return text


def files() -> dict[Path, bytes | None]:
    """The pages, and the SVG."""
    pages: dict[Path, bytes | None] = {ROOT / page: filled(page).encode() for page in BLOCKS}
    return pages | {DOCS / "terminal.svg": recording().encode()}
