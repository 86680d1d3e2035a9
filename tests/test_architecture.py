"""The import rules of docs/architecture.md."""

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

# A package imports only packages to its left.
LAYERS = (
    "errors, packaged, version, wire, printable, redact, redaction ← model ← defects ← calls ←"
    " faults ← stages ← repair ← protocols ← transit, sockets, synthetic, verdict ← settings ←"
    " engine ← clients ← delivery, state_file ← shrinking ← saved ← report ← view ← probing ← proxy ←"
    " script, testing, agents ← checking ← cli, pytest_plugin"
)
# The only packages that may import these modules.
CONFINED = {"mitmproxy": {"proxy", "saved"}, "pytest": {"pytest_plugin"}}
# The only packages that may import optional dependencies.
OPTIONAL = {"cli", "pytest_plugin"}
# The only module that may use undocumented names of the standard library.
UNDOCUMENTED_USER = "wire/json_value.py"
# Protocol packages that may import another: protocols with calls in the form of another protocol.
NEIGHBOURS = {"ollama": {"chat"}, "realtime": {"responses"}, "gemini_live": {"gemini"}}
# Modules that may contain names of protocols; an agent may have the same name as a protocol.
NAMING = ("protocols/", "defects/", "agents/table.py")


class Import(NamedTuple):
    """An imported module by its dotted name."""

    line: int
    name: str
    run_time: bool


@cache
def imports(source: str) -> tuple[Import, ...]:
    """Return all imports of `source`; `from a import b` may mean the module a.b."""
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
    """Return the name in `LAYERS` of an imported module; `None` for foreign modules."""
    parts = name.split(".")
    return parts[1] if parts[0] == "toolstream_core" and len(parts) > 1 else None


@cache
def ranks(layers: str) -> dict[str, int]:
    """Return each name's layer, counted from the left."""
    return {name: at for at, names in enumerate(layers.split(" ← ")) for name in names.split(", ")}


@cache
def shipped() -> frozenset[str]:
    """Return the modules of the standard library and of mitmproxy's dependencies."""
    declared = [re.split(r"[^\w.-]", line)[0] for line in requires("mitmproxy") or () if "extra ==" not in line]
    distributions = {re.sub(r"[-_.]+", "-", name).lower() for name in declared}
    return frozenset(sys.stdlib_module_names) | {
        module
        for module, owners in packages_distributions().items()
        if distributions & {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}
    }


def violations(module: str, source: str) -> list[str]:
    """Return the forbidden imports of a module."""
    return [
        f"line {one.line}: {why}"
        for one in imports(source)
        if (why := _forbidden(module, one.name, run_time=one.run_time))
    ]


def _forbidden(module: str, name: str, *, run_time: bool) -> str | None:
    importer, top, target, rank = unit_of(module), name.split(".", maxsplit=1)[0], unit(name), ranks(LAYERS)
    if not top:
        return f"{name} is relative"
    if top in CONFINED and importer not in CONFINED[top]:
        return f"{top} is not for {importer}"
    if target is None:
        if module != UNDOCUMENTED_USER and _is_private(name):
            return f"{name} is not documented: only {UNDOCUMENTED_USER} may use it"
        known = not run_time or top in shipped() | CONFINED.keys() or importer in OPTIONAL
        return None if known else f"{top} is not installed with mitmproxy"
    if target not in rank:
        return f"{target} is not in LAYERS"
    return _other_protocol(module, name) or (f"{target} is above {importer}" if rank[target] > rank[importer] else None)


def _is_private(name: str) -> bool:
    """Return whether a name of the standard library is undocumented."""
    parts = name.split(".")
    if parts[0] not in sys.stdlib_module_names or parts[0] == "__future__":
        return False
    return any(part.startswith("_") for part in parts) or name in {
        "json.decoder.scanstring",
        "json.encoder.encode_basestring",
        "json.encoder.encode_basestring_ascii",
    }


def _other_protocol(module: str, name: str) -> str | None:
    importing, imported = protocol_of(module), protocol_of(name.removeprefix("toolstream_core.").replace(".", "/"))
    if importing is None or imported is None or imported in {importing, *NEIGHBOURS.get(importing, ())}:
        return None
    return f"{importing} imports the package of {imported}"


def protocol_of(module: str) -> str | None:
    """Return the protocol package of a module, if any."""
    parts = module.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "protocols" and parts[1] in PROTOCOL_PACKAGES else None


PROTOCOL_PACKAGES = {protocol.package.rpartition(".")[2] for protocol in PROTOCOLS}


@cache
def modules() -> tuple[str, ...]:
    """Return the paths of the core's modules."""
    return tuple(sorted(path.relative_to(CORE).as_posix() for path in CORE.rglob("*.py")))


def unit_of(module: str) -> str:
    """Return the name in `LAYERS` of one of `modules`; the package's `__init__` is in the top layer."""
    return "cli" if module == "__init__.py" else module.split("/", maxsplit=1)[0].removesuffix(".py")


def test_a_module_imports_only_lower_layers() -> None:
    """A module imports only lower layers, also for type checking, and its own protocol package."""
    assert {*map(unit_of, modules())} <= ranks(LAYERS).keys(), "add each to LAYERS"
    found = {module: violations(module, (CORE / module).read_text()) for module in modules()}
    assert {module: lines for module, lines in found.items() if lines} == {}


def test_there_are_no_import_cycles() -> None:
    """There are no import cycles, also in imports for type checking."""
    try:
        TopologicalSorter(_graph()).prepare()
    except CycleError as cycle:
        pytest.fail(f"import cycle: {cycle.args[1]}")


def _graph() -> dict[str, set[str]]:
    """Return the imported modules of each module, by dotted name."""
    sources = {_dotted(module): (CORE / module).read_text() for module in modules()}
    return {
        importer: {
            target for one in imports(source) if (target := _module(one.name, sources.keys())) not in {None, importer}
        }
        for importer, source in sources.items()
    }


def _dotted(module: str) -> str:
    return f"toolstream_core.{module.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")


def _module(name: str, modules_: set[str] | object) -> str | None:
    """Return the module that an imported name is, or is defined in."""
    assert hasattr(modules_, "__contains__")
    return next((one for one in (name, name.rpartition(".")[0]) if one in modules_), None)


def test_no_module_contains_the_name_of_a_protocol() -> None:
    """Other modules do not contain names of protocols: differences are properties of the registry's entries."""
    names = {protocol.name for protocol in PROTOCOLS}
    found = [
        f"{module}:{node.lineno} {node.value}"
        for module in modules()
        if not module.startswith(NAMING)
        for node in ast.walk(ast.parse((CORE / module).read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


def test_only_the_entry_point_is_next_to_the_package() -> None:
    """addon/ contains only the package and the entry point: files there become top-level modules in mitmproxy."""
    names = {path.name for path in (ROOT / "addon").iterdir()} - {"__pycache__"}
    assert names == {"toolstream.py", "toolstream_core"}


def test_the_entry_point_only_imports_and_lists_the_addon() -> None:
    """The entry point has no other statement: `from __future__ import annotations` would crash mitmproxy's loader."""
    entry_point = (ROOT / "addon" / "toolstream.py").read_text()
    docstring, *rest = ast.parse(entry_point).body
    assert isinstance(docstring, ast.Expr)
    assert [type(statement) for statement in rest] == [ast.ImportFrom, ast.Assign]
    assert [name for _, name, _ in imports(entry_point)] == ["toolstream_core.proxy.addon.ToolstreamAddon"]


@pytest.mark.parametrize(
    ("module", "source", "violation"),
    [
        ("wire/x.py", "from toolstream_core.model import Record", "model is above wire"),
        ("calls/x.py", "def f():\n    import toolstream_core.cli.demo", "cli is above calls"),
        ("calls/x.py", "from toolstream_core import protocols", "protocols is above calls"),
        ("stages/x.py", "from toolstream_core.protocols.registry import PROTOCOLS", "protocols is above stages"),
        ("engine/x.py", "from toolstream_core.helpers import f", "helpers is not in LAYERS"),
        ("calls/x.py", "from ..wire import frame", "..wire.frame is relative"),
        ("cli/x.py", "from mitmproxy import io", "mitmproxy is not for cli"),
        ("engine/x.py", "if TYPE_CHECKING:\n    from mitmproxy.http import HTTPFlow", "mitmproxy is not for engine"),
        (
            "model/x.py",
            "if TYPE_CHECKING:\n    from toolstream_core.calls import OpenCall",
            "calls is above model",
        ),
        ("saved/x.py", "import pytest", "pytest is not for saved"),
        ("report/x.py", "import openai.types", "openai is not installed with mitmproxy"),
        ("engine/x.py", "from json.decoder import scanstring", "may use it"),
        ("engine/x.py", "import _json", "may use it"),
        (
            "protocols/chat/x.py",
            "from toolstream_core.protocols.gemini.reader import calls",
            "chat imports the package of gemini",
        ),
        (
            "proxy/x.py",
            "try:\n    import jsonschema\nexcept ImportError:\n    pass",
            "jsonschema is not installed with mitmproxy",
        ),
    ],
)
def test_a_forbidden_import_is_reported(module: str, source: str, violation: str) -> None:
    """A forbidden import is reported, also inside a function or a `try`."""
    [found] = violations(module, source)
    assert found.endswith(violation)


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
    """Imports of lower layers, mitmproxy's dependencies and optional packages in their places are not reported."""
    assert violations(module, source) == []
