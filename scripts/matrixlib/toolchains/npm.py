"""JavaScript: packages by npm, pinned in its own lock."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from matrixlib.shell import path_of, run
from matrixlib.toolchains.locks import LOCKS

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

_PACKAGE: Final = {"private": True, "type": "module"}
_QUIET: Final = ("--ignore-scripts=false", "--no-audit", "--no-fund", "--loglevel=error")


@dataclass(frozen=True, slots=True)
class Npm:
    """Node, and npm beside it."""

    wanted: tuple[str, ...]
    """Packages, as npm reads them."""
    needs: tuple[str, ...] = ("node", "npm")
    requires: str = "node, npm"
    drivers: str = "javascript"
    suffix: str = ".mjs"

    def lock(self, group: str) -> Path:
        """Its own; `package.json` stands beside it."""
        return LOCKS / group / "package-lock.json"

    def version(self, lock: Path | None, package: str) -> str | None:
        """Of the package at the top."""
        if lock is None or not lock.exists():
            return None
        packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
        found = packages.get(f"node_modules/{package}", {}).get("version")
        return None if found is None else str(found)

    def pin(self, lock: Path, folder: Path, tools: Path) -> None:
        """Without the addresses of a registry."""
        del tools
        (folder / "package.json").write_text(json.dumps(_PACKAGE))
        only = ("--package-lock-only", "--save-exact", "--omit-lockfile-registry-resolved=true")
        run([path_of("npm"), "install", *only, *_QUIET, *self.wanted], folder)
        shutil.copy(folder / "package.json", lock.parent)
        pinned = without_missing(json.loads((folder / lock.name).read_text(encoding="utf-8")))
        lock.write_text(json.dumps(pinned, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def install(self, lock: Path | None, folder: Path, tools: Path) -> None:
        """Exactly what the lock has."""
        assert lock is not None
        del tools
        for name in ("package.json", "package-lock.json"):
            shutil.copy(lock.with_name(name), folder)
        run([path_of("npm"), "ci", *_QUIET], folder)

    def serving(self, driver: str, folder: Path) -> AbstractContextManager[None]:
        """It starts as it stands."""
        del driver, folder
        return nullcontext()

    def command(self, driver: str, folder: Path) -> list[str]:
        """By node, beside its packages."""
        return ["node", str(folder / "drivers" / driver)]


def without_missing(lock: dict[str, Any]) -> dict[str, Any]:
    """A lock that asks for no optional package that the registry does not have.

    npm leaves such a package out of the lock, but not out of what others ask for, and `npm ci` then refuses the lock.
    """
    names = {path.rpartition("node_modules/")[2] for path in lock["packages"]}
    return {**lock, "packages": {path: _without_missing(one, names) for path, one in lock["packages"].items()}}


def _without_missing(package: dict[str, Any], names: set[str]) -> dict[str, Any]:
    if "optionalDependencies" not in package:
        return package
    wanted = {name: version for name, version in package["optionalDependencies"].items() if name in names}
    return {**package, "optionalDependencies": wanted}
