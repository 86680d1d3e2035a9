"""Every protocol package: its exports, the defects that it implements, and its lazy modules."""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.conftest import ROOT
from toolstream_core.defects import arguments, finish, framing, identity, leak
from toolstream_core.defects.defect import Defect
from toolstream_core.defects.table import DEFECTS
from toolstream_core.protocols.api import Api
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.repair.shapes import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator

ADDON: Final = ROOT / "addon"
STAGES: Final = ("REPAIRS", "AT_END", "INJECTORS", "SHAPES", "promoted")
"""The names that `WireProtocol` reads from a package's `stages`."""
FUNCTIONS: Final = {
    "streamed": ["response", "request"],
    "assembled": ["payloads", "calls"],
    "healthy_stream": ["response"],
    "healthy_unstreamed": ["response"],
    "error_body": ["kind", "status", "message"],
    "error_event": ["kind", "number"],
}
"""The functions that `WireProtocol` calls in a package's `responses`, and their arguments."""
EVERYWHERE: Final = ("stages/stream_checks.py", "stages/repair/leaked_calls.py", "engine/*.py")
"""Files that report defects of every protocol."""
BORROWING: Final = {
    "realtime": (
        "responses",
        {"custom-as-function", "missing-event-type", "missing-head", "missing-namespace", "sequence-numbers"},
    )
}
"""Packages that use the repairs of another package, and the defects that cannot occur in their own streams."""
LAZY: Final = ("repair", "inject", "stages", "responses")
"""The modules of a package that are not needed to read a stream."""
CONSTANTS: Final = {
    name: defect
    for family in (arguments, finish, framing, identity, leak)
    for name, defect in vars(family).items()
    if isinstance(defect, Defect)
}

SHARED_STAGES: Final = ("toolstream_core.repair.complete_stage", "toolstream_core.repair.blocks.stage")
"""The stages that repair several protocols, with defects that not all of these protocols have."""
SHARED: Final = ("toolstream_core.stages.", "toolstream_core.repair.")
READER: Final = ("toolstream_core.repair.arguments_reader", "toolstream_core.calls.arguments")
"""A module of the shared stages, and the module that names the defects of arguments for it."""
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=[one.name for one in PROTOCOLS])


@each_protocol
def test_a_package_exports_stages(protocol: WireProtocol) -> None:
    """The repairs, injectors, shapes and API of a package have the expected types."""
    assert bool(protocol.repairs) is not protocol.read_only
    assert all(callable(one) for one in protocol.repairs)
    assert protocol.at_end is None or callable(protocol.at_end)
    assert all(isinstance(one, Policy) or callable(one) for one in protocol.shapes.values())
    assert all(callable(one) for one in protocol.injectors.values())
    assert isinstance(protocol.api, Api)


@each_protocol
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_package_exports_functions(protocol: WireProtocol, function: str) -> None:
    """Each function accepts the positional arguments of `WireProtocol`."""
    responses = import_module(f"{protocol.package}.responses")
    inspect.signature(getattr(responses, function)).bind(*FUNCTIONS[function])


def test_the_tables_list_the_names_that_the_protocol_uses() -> None:
    """The tables above list the names in `_stages(...)` and `_responses(...)` of protocol.py."""
    tree = ast.parse(Path(inspect.getfile(WireProtocol)).read_text())
    used = {
        (node.func.attr, ast.literal_eval(node.args[0]))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"_stages", "_responses"}
    }
    assert used == {("_stages", name) for name in STAGES} | {("_responses", name) for name in FUNCTIONS}


@each_protocol
@pytest.mark.parametrize("kind", ErrorKind, ids=lambda kind: kind.name.lower())
def test_a_package_writes_every_error(protocol: WireProtocol, kind: ErrorKind) -> None:
    """A package writes every error as a response body and as an event."""
    assert kind.message in json.dumps(protocol.error_body(kind, kind.status))
    assert kind.message.encode() in protocol.error_event(kind)
    assert "nothing fits" in json.dumps(protocol.error_body(kind, kind.status, "nothing fits"))


@each_protocol
def test_an_unknown_body_is_not_streamed(protocol: WireProtocol) -> None:
    """A body of another kind gives no events."""
    assert protocol.streamed({"hello": 1}, {}) == []


@each_protocol
def test_the_table_matches_the_defects_of_the_package(protocol: WireProtocol) -> None:
    """A defect names a protocol exactly if the protocol's package can report it."""
    named = {defect.name for defect in DEFECTS if protocol.name in defect.protocols}
    own = defects_of_package(protocol.package) | borrowed_defects(protocol.package)
    files = [path for pattern in EVERYWHERE for path in (ADDON / "toolstream_core").glob(pattern)]
    in_all_protocols = {defect for path in files for defect in defects_of_module(_dotted(path))}
    assert named - own - in_all_protocols == set(), "the table names the protocol, but nothing reports these"
    stages = {stage for stage in SHARED_STAGES if stage in modules_of_package(protocol.package)}
    shared = {defect for stage in stages for defect in defects_of_module(stage)}
    assert own - shared - named == set(), "the protocol reports these, but the table does not name it"


@pytest.mark.parametrize("stage", SHARED_STAGES)
def test_the_table_names_each_defect_of_a_shared_stage(stage: str) -> None:
    """Each defect of a shared stage names at least one of the protocols that use the stage."""
    names = {one.name for one in PROTOCOLS if stage in modules_of_package(one.package)}
    assert defects_of_module(stage) <= {defect.name for defect in DEFECTS if names.intersection(defect.protocols)}


@each_protocol
def test_injectors_are_named_as_defects_of_the_protocol(protocol: WireProtocol) -> None:
    """Each injector has the name of a defect of its protocol."""
    assert protocol.injectors.keys() <= {defect.name for defect in DEFECTS if protocol.name in defect.protocols}


def test_defects_of_shared_stages_are_found() -> None:
    """The defects of a package include those of the shared stages that it uses."""
    chat = defects_of_package("toolstream_core.protocols.chat")
    assert {"empty-id", "cumulative-arguments", "comment-as-data"} <= chat
    assert "foreign-delta" not in chat
    assert "cumulative-arguments" not in defects_of_package("toolstream_core.protocols.gemini")


def modules_of_package(package: str) -> frozenset[str]:
    """Return the modules that a package imports."""
    files = _path(package).parent.rglob("*.py")
    return frozenset(target for path in files for _, target in _imports(_dotted(path)))


def borrowed_defects(package: str) -> frozenset[str]:
    """Return the defects that a package reports with the repairs of another package, without those of the framing."""
    parent, _, name = package.rpartition(".")
    if name not in BORROWING:
        return frozenset()
    lender, left_out = BORROWING[name]
    repairer = f"{parent}.{lender}.repair.stage"
    assert repairer in {target for _, target in _imports(f"{package}.stages")}
    defects = defects_of_module(repairer, f"{parent}.{lender}.")
    assert left_out <= defects
    return defects - left_out


@cache
def defects_of_package(package: str) -> frozenset[str]:
    """Return the names of the defects that a package's repairs use, with those of the shared stages."""
    repairs = [path for path in sorted(_path(package).parent.rglob("*.py")) if _is_in_repair(path, package)]
    return frozenset(defect for path in repairs for defect in defects_of_module(_dotted(path), f"{package}."))


def _is_in_repair(path: Path, package: str) -> bool:
    return path.relative_to(_path(package).parent).parts[0].removesuffix(".py") in {"repair", "stages"}


def defects_of_module(module: str, *own: str) -> frozenset[str]:
    """Return the names of the defects that a module imports, directly or through shared stages and modules of `own`."""
    waiting, seen, found = [module], {module}, set[str]()
    while waiting:
        importer = waiting.pop()
        for name, target in _imports(importer):
            if target.startswith("toolstream_core.defects."):
                found |= {CONSTANTS[name].name} if name in CONSTANTS else set()
            elif target not in seen and (target.startswith((*SHARED, *own)) or (importer, target) == READER):
                seen.add(target)
                waiting.append(target)
    return frozenset(found)


@cache
def _imports(module: str) -> tuple[tuple[str, str], ...]:
    """Return what a module of toolstream imports at run time: each name with its module."""
    return tuple(_named_imports(ast.parse(_path(module).read_text()).body))


def _named_imports(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolstream_core"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield alias.name, inner if _path(inner).exists() else node.module or ""


def _path(module: str) -> Path:
    """Return the file of a module or package."""
    path = ADDON.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ADDON).with_suffix("").parts).removesuffix(".__init__")


def test_inspect_loads_the_stages_of_the_protocol_that_it_reads(tmp_path: Path) -> None:
    """To inspect a Chat Completions stream, no lazy module of another protocol is loaded."""
    (tmp_path / "chat.txt").write_text('data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n')
    code = (
        "import json, sys; from toolstream_core.cli.main import main; "
        "main(['inspect', sys.argv[1]]); "
        "print(json.dumps([name for name in sys.modules if name.startswith('toolstream_core.protocols.')]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ADDON)}
    command = [sys.executable, "-c", code, str(tmp_path / "chat.txt")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    lazy = {tuple(name.split(".")[2:4]) for name in loaded if name.split(".")[3:4] and name.split(".")[3] in LAZY}
    names = {protocol.package.rpartition(".")[2] for protocol in PROTOCOLS}
    assert {name for name, _ in lazy if name in names} == {"chat"}
