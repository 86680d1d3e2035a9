"""Rust: crates by cargo, pinned in its own lock; the drivers are the programs of one package."""

from __future__ import annotations

import shutil
import tomllib
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from matrixlib.shell import path_of, run
from matrixlib.toolchains.locks import LOCKS

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

_MANIFEST: Final = """\
[package]
name = "drivers"
version = "0.0.0"
edition = "2024"
publish = false

[profile.dev]
debug = false

[dependencies]
"""
_FILES: Final = ("Cargo.toml", "Cargo.lock")


@dataclass(frozen=True, slots=True)
class Cargo:
    """Cargo, the compiler and a linker."""

    wanted: tuple[str, ...]
    """Crates with their features, each as the arguments of `cargo add`."""
    needs: tuple[str, ...] = ("cargo", "cc")
    requires: str = "cargo, cc"
    drivers: str = "rust"
    suffix: str = ".rs"

    def lock(self, group: str) -> Path:
        """Cargo's lock; `Cargo.toml` stands beside it."""
        return LOCKS / group / "Cargo.lock"

    def version(self, lock: Path | None, package: str) -> str | None:
        """Of the first crate of that name."""
        if lock is None or not lock.exists():
            return None
        crates = tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
        return next((str(one["version"]) for one in crates if one["name"] == package), None)

    def pin(self, lock: Path, folder: Path, tools: Path) -> None:
        """Each crate's newest version, and the newest of what it needs."""
        del tools
        (folder / "Cargo.toml").write_text(_MANIFEST)
        (folder / "src").mkdir()
        (folder / "src" / "lib.rs").touch()
        for crate in self.wanted:
            run([path_of("cargo"), "add", "--quiet", *crate.split()], folder)
        run([path_of("cargo"), "generate-lockfile", "--quiet"], folder)
        for name in _FILES:
            shutil.copy(folder / name, lock.parent)

    def install(self, lock: Path | None, folder: Path, tools: Path) -> None:
        """Download what the lock has; it is compiled with the first driver."""
        assert lock is not None
        del tools
        package = folder / "drivers"
        (package / "src").mkdir(parents=True)
        (package / "src" / "lib.rs").touch()
        for name in _FILES:
            shutil.copy(lock.with_name(name), package)
        run([path_of("cargo"), "fetch", "--locked", "--quiet"], package)

    def serving(self, driver: str, folder: Path) -> AbstractContextManager[None]:
        """It starts as it stands."""
        del driver, folder
        return nullcontext()

    def command(self, driver: str, folder: Path) -> list[str]:
        """The program, compiled where it or what it needs is new."""
        package, name = folder / "drivers", PurePath(driver).stem
        run([path_of("cargo"), "build", "--locked", "--quiet", "--bin", name], package)
        return [str(package / "target" / "debug" / name)]
