"""`demo:NAME`, a packaged flow, and `demo:`, all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from toolstream_core import errors
from toolstream_core.packaged import packaged

PREFIX: Final = "demo:"
_SUFFIX: Final = ".flow"


def names() -> list[str]:
    """The flows by name, sorted."""
    return sorted(path.stem for path in packaged("flows").glob(f"*{_SUFFIX}"))


def is_demo(path: str | Path) -> bool:
    """Whether a path means packaged flows."""
    return str(path).startswith(PREFIX)


def located(path: str | Path) -> Path:
    """The path of a file or folder that a user named; it need not exist."""
    if not is_demo(path):
        return Path(path)
    name = _name(path)
    return packaged("flows") / f"{name}{_SUFFIX}" if name else packaged("flows")


def beside(path: str | Path) -> Path:
    """The path next to which a result goes if the user names none: packaged flows count as in the working directory."""
    return Path(f"{_name(path) or 'demo'}{_SUFFIX}") if is_demo(path) else Path(path)


def unknown(path: str | Path) -> str | None:
    """The error for an unknown `demo:NAME`; empty if it is known."""
    if not is_demo(path) or located(path).exists():
        return None
    known = [f"{PREFIX}{name}" for name in names()]
    return errors.unknown("packaged flow", f"{PREFIX}{_name(path)}", known, "`toolstream inspect demo:`")


def _name(path: str | Path) -> str:
    return str(path).removeprefix(PREFIX).removesuffix(_SUFFIX)
