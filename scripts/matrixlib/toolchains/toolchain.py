"""What every toolchain offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path


class Toolchain(Protocol):
    """How the packages of one language are pinned and installed, and how its drivers are run."""

    @property
    def needs(self) -> Sequence[str]:
        """The programs that have to be here."""

    @property
    def requires(self) -> str:
        """What has to be here, in words; empty where toolstream's Python suffices."""

    @property
    def drivers(self) -> str:
        """The folder of its drivers in `tests/clients/drivers`."""

    @property
    def suffix(self) -> str:
        """How the name of a driver ends."""

    def lock(self, group: str) -> Path | None:
        """The file that pins a group; `None` where nothing does."""

    def version(self, lock: Path | None, package: str) -> str | None:
        """The version of a package that is run; `None` where nothing pins it."""

    def pin(self, lock: Path, folder: Path, tools: Path) -> None:
        """Write a lock of the newest versions, in an empty folder. Raises `InstallError`."""

    def install(self, lock: Path | None, folder: Path, tools: Path) -> None:
        """Install what a lock pins, in an empty folder. Raises `InstallError`."""

    def command(self, driver: str, folder: Path) -> list[str]:
        """What runs a driver, compiled first where it has to be. Raises `InstallError`."""

    def serving(self, driver: str, folder: Path) -> AbstractContextManager[None]:
        """What makes a driver start sooner while its cases are run."""
