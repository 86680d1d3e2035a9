#!/usr/bin/env python3
"""Takes docs/session-view-light.png and -dark.png: pictures of the page that `toolstream view` writes.

    scripts/make_pictures.py           take both, if the page is another one than they show
    scripts/make_pictures.py --check   take none; exit 1 if they show another page

A picture holds the hash of its page, because pixels depend on the fonts of a machine. Taking one needs Node.js, and
Chromium (scripts/browser).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "addon")]

from tests.browser.chromium import program  # noqa: E402
from tests.browser.sessions import written  # noqa: E402
from toolstream_core.cli.main import main as toolstream  # noqa: E402
from toolstream_core.version import __version__  # noqa: E402

SESSION: Final = "loop"
PICTURES: Final = {scheme: ROOT / "docs" / f"session-view-{scheme}.png" for scheme in ("light", "dark")}
_HEAD: Final = 33
"""Bytes of a PNG up to the end of its first chunk."""
_KEY: Final = b"page\0"


def page(folder: Path) -> Path:
    """Write the page of the session into a folder."""
    written(SESSION, folder)
    before = Path.cwd()
    os.chdir(folder)  # the page names its files as they were given
    try:
        toolstream(["view", f"{SESSION}.flow", "-o", f"{SESSION}.html"])
    finally:
        os.chdir(before)
    return folder / f"{SESSION}.html"


def hashed(path: Path) -> bytes:
    """The hash of a page, whatever the version of toolstream."""
    return hashlib.sha256(path.read_bytes().replace(__version__.encode(), b"")).hexdigest().encode()


def noted(picture: bytes) -> bytes:
    """The hash that a picture holds."""
    return picture[_HEAD + 8 :].removeprefix(_KEY)[:64] if picture[_HEAD + 4 : _HEAD + 8] == b"tEXt" else b""


def with_note(picture: bytes, note: bytes) -> bytes:
    """A picture that holds the hash of its page."""
    chunk = b"tEXt" + _KEY + note
    return b"".join(
        [
            picture[:_HEAD],
            struct.pack(">I", len(chunk) - 4),
            chunk,
            struct.pack(">I", zlib.crc32(chunk)),
            picture[_HEAD:],
        ]
    )


def take(path: Path, scheme: str) -> bytes:
    """A picture of the page."""
    node, chromium = shutil.which("node"), program()
    if node is None or chromium is None:
        sys.exit("make_pictures: needs Node.js and Chromium; see scripts/browser")
    out = path.with_suffix(".png")
    environment = os.environ | {"TOOLSTREAM_CHROMIUM": chromium}
    subprocess.run([node, ROOT / "scripts" / "picture.mjs", path, out, scheme], env=environment, check=True)
    return out.read_bytes()


def main() -> int:
    """Take, or check."""
    with tempfile.TemporaryDirectory() as folder:
        path = page(Path(folder))
        wanted = hashed(path)
        old = [one for one, file in PICTURES.items() if not file.exists() or noted(file.read_bytes()) != wanted]
        if "--check" not in sys.argv[1:]:
            for scheme in old:
                PICTURES[scheme].write_bytes(with_note(take(path, scheme), wanted))
            return 0
    for scheme in old:
        print(f"{PICTURES[scheme].relative_to(ROOT)} shows another page: run scripts/make_pictures.py")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
