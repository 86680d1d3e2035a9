"""The rules for imports in docs/architecture.md, checked in the source."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import NamedTuple

import pytest

from toolstream_core.protocols.registry import PROTOCOLS

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "addon" / "toolstream_core"

# Who may import whom: a name reaches what stands to its left, and nothing beside it but where the names are in order.
LAYERS = (
    "errors, packaged, version, wire, printable, redact, redaction ← model ← calls ←"
    " defects, faults ← stages ← repair ← protocols ← transit, sockets, synthetic, verdict ← settings ←"
    " engine ← clients ← delivery, state_file ← shrinking ← saved ← report ← view ← probing ← proxy ←"
    " script, testing, agents ← checking ← cli, pytest_plugin"
)
# Who alone may import these at all.
CONFINED = {"mitmproxy": {"proxy", "saved"}, "pytest": {"pytest_plugin"}}
# What a user may lack is imported by these alone, and where it is used.
OPTIONAL = {"cli", "pytest_plugin"}
# The one module that may use what the standard library does not document.
SEAM = "wire/json_value.py"
# Rooms that may read another one: a protocol whose calls are said as another's are.
NEIGHBOURS = {"ollama": {"chat"}, "realtime": {"responses"}, "gemini_live": {"gemini"}}
# Where a protocol may be named: in its package, and in the table of defects; an agent may have the name of one.
NAMING = ("protocols/", "defects/", "agents/table.py")


class Import(NamedTuple):
    """One imported module, by its dotted name."""

    line: int
    name: str
    run_time: bool


@cache
def imports(source: str) -> tuple[Import, ...]:
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
    return tuple(found)


def unit(name: str) -> str | None:
    """The name in `LAYERS` that an imported module belongs to; nothing for other people's."""
    parts = name.split(".")
    return parts[1] if parts[0] == "toolstream_core" and len(parts) > 1 else None


@cache
def ranks(layers: str) -> dict[str, int]:
    """Each name's place, counted from the left."""
    return {name: at for at, names in enumerate(layers.split(" ← ")) for name in names.split(", ")}


@cache
def shipped() -> frozenset[str]:
    """What may be imported at run time: the standard library, and what comes with mitmproxy."""
    declared = [re.split(r"[^\w.-]", line)[0] for line in requires("mitmproxy") or () if "extra ==" not in line]
    wanted = {re.sub(r"[-_.]+", "-", name).lower() for name in declared}
    return frozenset(sys.stdlib_module_names) | {
        module
        for module, owners in packages_distributions().items()
        if wanted & {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}
    }


def complaints(module: str, source: str) -> list[str]:
    """What a module imports and may not."""
    return [
        f"line {one.line}: {why}"
        for one in imports(source)
        if (why := _forbidden(module, one.name, run_time=one.run_time))
    ]


def _forbidden(module: str, name: str, *, run_time: bool) -> str | None:
    me, top, target, rank = unit_of(module), name.split(".", maxsplit=1)[0], unit(name), ranks(LAYERS)
    if not top:
        return f"{name} is relative"
    if top in CONFINED and me not in CONFINED[top]:
        return f"{top} is not for {me}"
    if target is None:
        if module != SEAM and _is_private(name):
            return f"{name} is not documented: {SEAM} alone may use it"
        known = not run_time or top in shipped() | CONFINED.keys() or me in OPTIONAL
        return None if known else f"{top} does not come with mitmproxy"
    if target not in rank:
        return f"{target} has no place in LAYERS"
    return _other_room(module, name) or (f"{target} stands above {me}" if rank[target] > rank[me] else None)


def _is_private(name: str) -> bool:
    """Whether a name of the standard library is one that its documents do not have."""
    parts = name.split(".")
    if parts[0] not in sys.stdlib_module_names or parts[0] == "__future__":
        return False
    return any(part.startswith("_") for part in parts) or name in {
        "json.decoder.scanstring",
        "json.encoder.encode_basestring",
        "json.encoder.encode_basestring_ascii",
    }


def _other_room(module: str, name: str) -> str | None:
    mine, theirs = room_of(module), room_of(name.removeprefix("toolstream_core.").replace(".", "/"))
    if mine is None or theirs is None or theirs in {mine, *NEIGHBOURS.get(mine, ())}:
        return None
    return f"{mine} reads the package of {theirs}"


def room_of(module: str) -> str | None:
    """The protocol's folder that a module lies in, if it lies in one."""
    parts = module.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "protocols" and parts[1] in ROOMS else None


ROOMS = {protocol.package.rpartition(".")[2] for protocol in PROTOCOLS}


@cache
def modules() -> tuple[str, ...]:
    """The core's modules, as paths within it."""
    return tuple(sorted(path.relative_to(CORE).as_posix() for path in CORE.rglob("*.py")))


def unit_of(module: str) -> str:
    """The name in `LAYERS` that one of `modules` belongs to; the package's own `__init__` is at the top."""
    return "cli" if module == "__init__.py" else module.split("/", maxsplit=1)[0].removesuffix(".py")


def test_a_module_imports_only_what_stands_below_it() -> None:
    """The table of layers, type checking included; mitmproxy and pytest in their places; protocol packages apart."""
    assert {*map(unit_of, modules())} <= ranks(LAYERS).keys(), "give each a place in LAYERS"
    found = {module: complaints(module, (CORE / module).read_text()) for module in modules()}
    assert {module: wrong for module, wrong in found.items() if wrong} == {}


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Not even what only a type checker reads."""
    try:
        TopologicalSorter(_graph()).prepare()
    except CycleError as circle:
        pytest.fail(f"in a circle: {circle.args[1]}")


def _graph() -> dict[str, set[str]]:
    """Each module by its dotted name, and the modules that it imports."""
    there = {_dotted(module): (CORE / module).read_text() for module in modules()}
    return {
        me: {target for one in imports(source) if (target := _module(one.name, there.keys())) not in {None, me}}
        for me, source in there.items()
    }


def _dotted(module: str) -> str:
    return f"toolstream_core.{module.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")


def _module(name: str, there: set[str] | object) -> str | None:
    """The module that an imported name is, or lies in."""
    assert hasattr(there, "__contains__")
    return next((one for one in (name, name.rpartition(".")[0]) if one in there), None)


def test_no_protocol_is_looked_up_by_its_name() -> None:
    """What one protocol has and others have not is asked of its row in the registry."""
    names = {protocol.name for protocol in PROTOCOLS}
    found = [
        f"{module}:{node.lineno} {node.value}"
        for module in modules()
        if not module.startswith(NAMING)
        for node in ast.walk(ast.parse((CORE / module).read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


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


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("wire/x.py", "from toolstream_core.model import Record", "model stands above wire"),
        ("calls/x.py", "def f():\n    import toolstream_core.cli.demo", "cli stands above calls"),
        ("calls/x.py", "from toolstream_core import protocols", "protocols stands above calls"),
        ("stages/x.py", "from toolstream_core.protocols.registry import PROTOCOLS", "protocols stands above stages"),
        ("engine/x.py", "from toolstream_core.helpers import f", "helpers has no place in LAYERS"),
        ("calls/x.py", "from ..wire import frame", "..wire.frame is relative"),
        ("cli/x.py", "from mitmproxy import io", "mitmproxy is not for cli"),
        ("engine/x.py", "if TYPE_CHECKING:\n    from mitmproxy.http import HTTPFlow", "mitmproxy is not for engine"),
        (
            "model/x.py",
            "if TYPE_CHECKING:\n    from toolstream_core.calls import OpenCall",
            "calls stands above model",
        ),
        ("saved/x.py", "import pytest", "pytest is not for saved"),
        ("report/x.py", "import openai.types", "openai does not come with mitmproxy"),
        ("engine/x.py", "from json.decoder import scanstring", "alone may use it"),
        ("engine/x.py", "import _json", "alone may use it"),
        (
            "protocols/chat/x.py",
            "from toolstream_core.protocols.gemini.reader import calls",
            "chat reads the package of gemini",
        ),
        (
            "proxy/x.py",
            "try:\n    import jsonschema\nexcept ImportError:\n    pass",
            "jsonschema does not come with mitmproxy",
        ),
    ],
)
def test_a_forbidden_import_is_reported(module: str, source: str, complaint: str) -> None:
    """Each rule catches what it is for, also inside a function or a `try`."""
    [found] = complaints(module, source)
    assert found.endswith(complaint)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("model/x.py", "if TYPE_CHECKING:\n    from toolstream_core.wire.frame import Frame"),
        ("wire/x.py", "import zlib, brotli, zstandard"),
        ("wire/json_value.py", "from json.decoder import scanstring"),
        ("protocols/ollama/x.py", "from toolstream_core.protocols.chat.edit import Piece"),
        ("proxy/x.py", "from mitmproxy import http\nfrom toolstream_core.model import Record"),
        ("cli/x.py", "from toolstream_core.proxy import provider\n\ndef f():\n    import openai"),
        ("pytest_plugin/x.py", "import pytest"),
    ],
)
def test_a_valid_import_is_not_reported(module: str, source: str) -> None:
    """What only a type checker reads is held to the same order; what mitmproxy brings may be used."""
    assert complaints(module, source) == []
