"""One input and what the commands showed of it, in one file. Knows how that is written.

Each file holds its input too, so that comparing needs nothing but the commands.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from typing import TYPE_CHECKING, NamedTuple, Self

from outputslib.inputs import Input

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from outputslib.commands import Argv

SUFFIX = ".json.xz"
VERSION = 1


class UnreadableError(Exception):
    """A file that `keep` did not write."""


class Kept(NamedTuple):
    """An input, and by their commands the digests of its outputs; equal outputs are kept once."""

    given: Input
    digests: dict[Argv, str]
    texts: dict[str, bytes]

    @classmethod
    def of(cls, given: Input, outputs: Iterable[tuple[Argv, bytes]]) -> Self:
        """What the commands showed."""
        kept = cls(given, {}, {})
        for argv, text in outputs:
            kept.digests[argv] = key = digest(text)
            kept.texts[key] = text
        return kept

    def write(self, folder: Path) -> Path:
        """Write it below `folder`; the input's name is the file's."""
        path = folder / (self.given.name + SUFFIX)
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "version": VERSION,
            "input": [self.given.name, _text(self.given.content)],
            "digests": [[list(argv), key] for argv, key in self.digests.items()],
            "texts": {key: _text(text) for key, text in self.texts.items()},
        }
        path.write_bytes(lzma.compress(json.dumps(document).encode(), preset=1))
        return path

    @classmethod
    def read(cls, path: Path) -> Self:
        """What was written. Raises `UnreadableError`."""
        try:
            document = json.loads(lzma.decompress(path.read_bytes()))
            name, content = document["input"]
            digests = {tuple(argv): key for argv, key in document["digests"]}
            texts = {key: _bytes(text) for key, text in document["texts"].items()}
        except (OSError, ValueError, LookupError, TypeError, lzma.LZMAError) as error:
            raise UnreadableError(f"{path} was not written by keep: {error}") from error
        return cls(Input(name, _bytes(content)), digests, texts)


def kept_in(folder: Path) -> Iterator[Kept]:
    """All that was kept in a folder. Raises `UnreadableError`."""
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        yield Kept.read(path)


def digest(text: bytes) -> str:
    """Stands for an output."""
    return hashlib.sha256(text).hexdigest()


def _text(data: bytes) -> str:
    """Bytes as JSON can hold them, losing nothing."""
    return data.decode("latin-1")


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")
