"""JavaScript: packages by npm, pinned in its own lock."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from matrixlib.shell import path_of, run
from matrixlib.toolchains.locks import LOCKS

if TYPE_CHECKING:
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
        """npm's lock; `package.json` stands beside it."""
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
        for name in ("package.json", "package-lock.json"):
            shutil.copy(folder / name, lock.parent)

    def install(self, lock: Path | None, folder: Path, tools: Path) -> None:
        """Exactly what the lock has."""
        assert lock is not None
        del tools
        for name in ("package.json", "package-lock.json"):
            shutil.copy(lock.with_name(name), folder)
        run([path_of("npm"), "ci", *_QUIET], folder)

    def command(self, driver: str, folder: Path) -> list[str]:
        """By node, beside its packages."""
        return ["node", str(folder / "drivers" / driver)]
