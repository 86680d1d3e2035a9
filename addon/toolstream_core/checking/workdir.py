"""A copy of the working directory in which a client runs: without `.git` and without what `.gitignore` names."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.errors import ToolstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES: Final = 200_000_000


class Workdir(NamedTuple):
    """A working directory, and the files of it that are copied."""

    root: Path
    files: tuple[str, ...]
    """Relative to the root: regular files, and relative links to files or folders of it."""

    @classmethod
    def of(cls, root: Path) -> Workdir:
        """Look at a folder. Raises `ToolstreamError` for one that is too large."""
        files = tuple(name for name in _names(root) if _is_copied(root, name))
        size = sum((root / name).lstat().st_size for name in files)
        if size > MAX_BYTES:
            raise ToolstreamError(
                f"--workdir copy: {root} has {size / 1e6:.0f} MB of files that .gitignore does not name; at most "
                f"{MAX_BYTES / 1e6:.0f} MB are copied. Run toolstream check in a smaller directory"
            )
        return cls(root, files)

    @contextlib.contextmanager
    def copied(self) -> Iterator[Path]:
        """A copy, which is removed afterwards. Raises `OSError`."""
        with tempfile.TemporaryDirectory(prefix="toolstream-", ignore_cleanup_errors=True) as made:
            target = Path(made, self.root.name or "workdir")
            target.mkdir()
            for name in self.files:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileNotFoundError):  # removed since
                    shutil.copy2(self.root / name, target / name, follow_symlinks=False)
            yield target


def _names(root: Path) -> Iterator[str]:
    """Names of files and links, as Git knows them; without Git, all that `.gitignore` does not name."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(words, cwd=root, capture_output=True, check=False)
    except OSError:
        listed = None
    if listed is None or listed.returncode:
        yield from _walked(root, _ignored(root))
        return
    for name in dict.fromkeys(map(os.fsdecode, listed.stdout.split(b"\0"))):
        inside = root / name
        if name and inside.is_dir() and not inside.is_symlink():  # a repository inside this one
            yield from (f"{name.rstrip('/')}/{one}" for one in _walked(inside, _ignored(inside)))
        elif name:
            yield name


def _walked(root: Path, ignored: tuple[str, ...]) -> Iterator[str]:
    for folder, folders, files in root.walk():
        inside = folder.relative_to(root)
        folders[:] = [name for name in folders if not _is_ignored(inside / name, ignored)]
        yield from (str(inside / name) for name in files if not _is_ignored(inside / name, ignored))


def _ignored(root: Path) -> tuple[str, ...]:
    """The patterns of `.gitignore`, without those that take others back."""
    try:
        lines = (root / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return (".git", *(line.strip().strip("/") for line in lines if line.strip() and line[0] not in "#!"))


def _is_ignored(path: Path, ignored: tuple[str, ...]) -> bool:
    return any(fnmatchcase(str(path), one) or fnmatchcase(path.name, one) for one in ignored)


def _is_copied(root: Path, name: str) -> bool:
    """Whether it is a regular file, or a link that stays inside when it is copied."""
    path = root / name
    if ".git" in Path(name).parts or any((root / parent).is_symlink() for parent in Path(name).parents[:-1]):
        return False
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    if not stat.S_ISLNK(mode):
        return stat.S_ISREG(mode)
    target = path.readlink()
    stays = not os.path.normpath(Path(name).parent / target).startswith("..")
    return not target.is_absolute() and stays and path.resolve().is_relative_to(root.resolve())
