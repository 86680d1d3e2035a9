"""The house as docs/architecture.md draws it, read back from the source. Knows no module's content."""

from __future__ import annotations

import ast
import re
import sys
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "addon" / "toolstream_core"

# Who may import whom: a name reaches what stands to its left, or beside it where that makes no circle.
LAYERS = (
    "wire, model, redact, redaction, secret_shapes ← calls ← dialects ← defects, shapes, faults, transit, clients"
    " ← chain, plan, intake, pipeline, likeness, hush, course, courses, rewriting, verdict, record, settings, body"
    ", pace, recovery, destream"
    " ← report, fixtures, shrinking, sources ← probing ← proxy, testing, cli, pytest_plugin"
)
# Who alone may import these at all.
CONFINED = {"mitmproxy": {"proxy", "fixtures"}, "pytest": {"pytest_plugin"}}
# What a user may lack is imported by these alone, and where it is used.
OPTIONAL = {"cli", "pytest_plugin"}
# Modules without a test file of their own name, by how their paths begin: what tests them instead.
UNMIRRORED = {
    "defects/menders/": "tests/defects/test_laws.py",
    "defects/plants/": "tests/defects/test_laws.py",
    "defects/leaks/": "tests/defects/leaks/test_scanner.py",
    "shapes/": "tests/defects/test_laws.py",
    "dialects/chat_edit.py": "tests/defects/test_laws.py",
    "dialects/gemini_edit.py": "tests/defects/test_laws.py",
    "dialects/ollama_edit.py": "tests/defects/test_laws.py",
    "defects/ending.py": "tests/defects/test_rows.py",
    "defects/framing.py": "tests/defects/test_rows.py",
    "defects/identity.py": "tests/defects/test_rows.py",
    "defects/leak.py": "tests/defects/test_rows.py",
    "defects/wording.py": "tests/defects/test_rows.py",
    "defects/row.py": "tests/defects/test_rows.py",
    "defects/stage.py": "tests/defects/test_laws.py",
    "faults/presets.py": "tests/test_settings.py",
    "body.py": "tests/defects/test_laws.py",
    "plan.py": "tests/test_pipeline.py",
    "transit/": "tests/test_pace.py",
    "proxy/gate.py": "tests/e2e/test_transit.py",
    "proxy/passage.py": "tests/e2e/test_transit.py",
    "proxy/steps.py": "tests/e2e/test_transit.py",
    "intake.py": "tests/test_pipeline.py",
    "cli/explain.py": "tests/cli/test_catalogue.py",
    "cli/list.py": "tests/cli/test_catalogue.py",
    "cli/fault.py": "tests/cli/test_rewriting.py",
    "cli/repair.py": "tests/cli/test_rewriting.py",
    "fixtures/error.py": "tests/fixtures/test_expectation.py",
    "fixtures/expectation/": "tests/fixtures/test_expectation.py",
    "cli/serve.py": "tests/cli/test_serving.py",
    "cli/run.py": "tests/cli/test_serving.py",
    "proxy/worker/": "tests/testing/test_session.py",
    "testing/worker.py": "tests/testing/test_session.py",
    "shrinking/": "tests/shrinking/test_minimal.py",
    "report/prose.py": "tests/report/test_markdown.py",
    "report/readings.py": "tests/report/test_markdown.py",
    "report/folding.py": "tests/report/test_markdown.py",
    "report/reproduce.py": "tests/cli/test_report.py",
    "probing/": "tests/cli/test_probe.py",
    "cli/probe_kept.py": "tests/cli/test_probe.py",
    "cli/command_oracle.py": "tests/cli/test_shrink.py",
    "cli/reproduction.py": "tests/cli/test_shrink.py",
    "fixtures/answers.py": "tests/cli/test_shrink.py",
    "fixtures/atomic.py": "tests/cli/test_shrink.py",
    "cli/extraction.py": "tests/cli/test_extract.py",
    "fixtures/extraction/": "tests/fixtures/test_extraction.py",
    "sources/cassettes/": "tests/sources/test_cassettes.py",
    "sources/interaction.py": "tests/sources/test_layout.py",
    "fixtures/matching/": "tests/fixtures/test_matching.py",
    "pytest_plugin/": "tests/pytest_plugin/test_clients.py",
    "verdict/": "tests/verdict/test_judge.py",
    "sources/rewrite.py": "tests/cli/test_rewriting.py",
    "redaction/": "tests/redaction/test_body.py",
    "secret_shapes.py": "tests/redaction/test_body.py",
}


class Import(NamedTuple):
    """One imported module, by its dotted name."""

    line: int
    name: str
    run_time: bool


def imports(source: str) -> list[Import]:
    """Everything that `source` imports, wherever it stands; `from a import b` may mean the module a.b."""
    tree = ast.parse(source)
    type_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found: list[Import] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [Import(node.lineno, name, id(node) not in type_only) for name in names]
    return found


def unit(name: str) -> str | None:
    """The name in `LAYERS` that an imported module belongs to; nothing for other people's."""
    parts = name.split(".")
    return parts[1] if parts[0] == "toolstream_core" and len(parts) > 1 else None


def ranks(layers: str) -> dict[str, int]:
    """Each name's place, counted from the left."""
    return {name: at for at, names in enumerate(layers.split(" ← ")) for name in names.split(", ")}


def shipped() -> set[str]:
    """What may be imported at run time: the standard library, and what comes with mitmproxy."""
    declared = [re.split(r"[^\w.-]", line)[0] for line in requires("mitmproxy") or () if "extra ==" not in line]
    wanted = {re.sub(r"[-_.]+", "-", name).lower() for name in declared}
    return set(sys.stdlib_module_names) | {
        module
        for module, owners in packages_distributions().items()
        if wanted & {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}
    }


SHIPPED = shipped()


def complaints(me: str, source: str) -> list[str]:
    """What a module of the unit `me` imports and may not."""
    return [
        f"line {line}: {why}"
        for line, name, run_time in imports(source)
        if (why := _forbidden(me, name, run_time=run_time))
    ]


def _forbidden(me: str, name: str, *, run_time: bool) -> str | None:
    top, target, rank = name.split(".", maxsplit=1)[0], unit(name), ranks(LAYERS)
    if not top:
        return f"{name} is relative"
    if top in CONFINED and me not in CONFINED[top]:
        return f"{top} is not for {me}"
    if not run_time:
        return None
    if target is None:
        return None if top in SHIPPED | CONFINED.keys() or me in OPTIONAL else f"{top} does not come with mitmproxy"
    if me == "pipeline" and target in {"dialects", "defects"}:
        return "the pipeline is handed its tables"
    if target not in rank:
        return f"{target} has no place in LAYERS"
    return f"{target} stands above {me}" if rank[target] > rank[me] else None


def modules() -> list[str]:
    """The core's modules, as paths within it."""
    return sorted(path.relative_to(CORE).as_posix() for path in CORE.rglob("*.py"))


def unit_of(module: str) -> str:
    """The name in `LAYERS` that one of `modules` belongs to; the package's own `__init__` is at the top."""
    return "cli" if module == "__init__.py" else module.split("/", maxsplit=1)[0].removesuffix(".py")


@pytest.mark.parametrize("module", modules())
def test_a_module_imports_only_what_stands_below_it(module: str) -> None:
    """The table of layers, mitmproxy and pytest in their places, nothing that mitmproxy does not bring."""
    assert unit_of(module) in ranks(LAYERS), "give it a place in LAYERS and in docs/architecture.md"
    assert complaints(unit_of(module), (CORE / module).read_text()) == []


def test_no_unit_imports_itself_by_way_of_another() -> None:
    """Units beside each other may use each other in one direction only."""
    graph: dict[str, set[str]] = {}
    for module in modules():
        targets = {unit(name) for _, name, run_time in imports((CORE / module).read_text()) if run_time}
        graph.setdefault(unit_of(module), set()).update(target for target in targets if target)
    for me, below in graph.items():
        below.discard(me)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(f"in a circle: {circle.args[1]}")


def test_the_page_on_architecture_says_the_same() -> None:
    """The layers as docs/architecture.md writes them stand in the same order here."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    written = re.findall(r"^`([^`\n]+ ← [^`\n]+)`$", page, re.MULTILINE)
    assert len(written) == 1
    theirs, here = ranks(written[0]), ranks(LAYERS)
    assert theirs.keys() <= here.keys()
    assert sorted(theirs, key=lambda name: theirs[name]) == sorted(theirs, key=lambda name: here[name])


def test_the_door_alone_stands_beside_the_package() -> None:
    """Whatever lies directly in addon/ becomes a top-level module inside mitmproxy."""
    there = {path.name for path in (ROOT / "addon").iterdir()} - {"__pycache__"}
    assert there == {"toolstream.py", "toolstream_core"}


def test_the_door_only_imports_the_addon_and_lists_it() -> None:
    """A `from __future__ import annotations` here would crash mitmproxy's loader on a dataclass."""
    door = (ROOT / "addon" / "toolstream.py").read_text()
    docstring, *rest = ast.parse(door).body
    assert isinstance(docstring, ast.Expr)
    assert [type(statement) for statement in rest] == [ast.ImportFrom, ast.Assign]
    assert [name for _, name, _ in imports(door)] == ["toolstream_core.proxy.addon.ToolstreamAddon"]


def test_tests_mirror_the_core_name_by_name() -> None:
    """x/y.py is tested by tests/x/test_y.py, so everybody knows where to look."""
    untested = {
        module
        for module in modules()
        if not module.endswith("__init__.py")
        and not (ROOT / "tests" / module).with_name(f"test_{Path(module).name}").exists()
    }
    elsewhere = {module: [begin for begin in UNMIRRORED if module.startswith(begin)] for module in untested}
    assert [module for module, begins in elsewhere.items() if not begins] == [], "write its test file"
    used = {begin for begins in elsewhere.values() for begin in begins}
    assert UNMIRRORED.keys() - used == set(), "it has a test file: take it out of UNMIRRORED"
    assert all((ROOT / test).is_file() for test in UNMIRRORED.values())


@pytest.mark.parametrize(
    ("me", "source", "complaint"),
    [
        ("wire", "from toolstream_core.record import Record", "record stands above wire"),
        ("calls", "def f():\n    import toolstream_core.cli.demo", "cli stands above calls"),
        ("calls", "from toolstream_core import dialects", "dialects stands above calls"),
        ("pipeline", "from toolstream_core.dialects import PROTOCOLS", "the pipeline is handed its tables"),
        ("record", "from toolstream_core.helpers import f", "helpers has no place in LAYERS"),
        ("calls", "from ..wire import frame", "..wire.frame is relative"),
        ("cli", "from mitmproxy import io", "mitmproxy is not for cli"),
        (
            "record",
            "if TYPE_CHECKING:\n    from mitmproxy.http import HTTPFlow",
            "mitmproxy is not for record",
        ),
        ("fixtures", "import pytest", "pytest is not for fixtures"),
        ("report", "import openai.types", "openai does not come with mitmproxy"),
        (
            "proxy",
            "try:\n    import jsonschema\nexcept ImportError:\n    pass",
            "jsonschema does not come with mitmproxy",
        ),
    ],
)
def test_a_forbidden_import_is_told(me: str, source: str, complaint: str) -> None:
    """Each rule catches what it is for, also inside a function or a `try`."""
    [told] = complaints(me, source)
    assert told.endswith(complaint)


@pytest.mark.parametrize(
    ("me", "source"),
    [
        ("model", "if TYPE_CHECKING:\n    from toolstream_core.wire.frame import Frame"),
        ("pipeline", "if typing.TYPE_CHECKING:\n    from toolstream_core.dialects.dialect import WireProtocol"),
        ("wire", "import zlib, brotli, zstandard\nfrom toolstream_core.model import ABSENT"),
        ("proxy", "from mitmproxy import http\nfrom toolstream_core.record import Record"),
        ("cli", "from toolstream_core.proxy import provider\n\ndef f():\n    import openai"),
        ("pytest_plugin", "import pytest"),
    ],
)
def test_a_lawful_import_is_not_told(me: str, source: str) -> None:
    """What only a type checker reads may point upwards; what mitmproxy brings may be used."""
    assert complaints(me, source) == []
