#!/usr/bin/env python3
"""Takes screenshots: docs/session-view-*.png of the page of `toolstream view`, and docs/mitmweb.png.

    scripts/make_pictures.py           take the outdated screenshots again
    scripts/make_pictures.py --check   take none; exit 1 if one is outdated

A screenshot contains the hash of its page, because pixels depend on the fonts of a machine. Taking one needs Node.js,
Chromium (scripts/browser), and for mitmweb a font with emoji.
"""

from __future__ import annotations

import contextlib
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
from tests.browser.sessions import write_session  # noqa: E402
from tests.e2e.harness.mitmweb import Web  # noqa: E402
from tests.e2e.harness.versions import Version  # noqa: E402
from tests.proxy.ui.interfaces import interface  # noqa: E402
from toolstream_core.cli.main import main as toolstream  # noqa: E402
from toolstream_core.version import __version__  # noqa: E402

SESSION: Final = "loop"
PAGES: Final = {ROOT / "docs" / f"session-view-{scheme}.png": scheme for scheme in ("light", "dark")}
MITMWEB: Final = ROOT / "docs" / "mitmweb.png"
_HEAD: Final = 33
"""The number of bytes of a PNG up to the end of its first chunk."""
_KEY: Final = b"page\0"


def page(folder: Path) -> Path:
    """Write the page of the session to a folder."""
    write_session(SESSION, folder)
    with contextlib.chdir(folder):  # the page has the file names of the command line
        toolstream(["view", f"{SESSION}.flow", "-o", f"{SESSION}.html"])
    return folder / f"{SESSION}.html"


def shown(flows: Path) -> str:
    """The texts that mitmweb shows for the first flow of a file."""
    with interface() as mitmproxy:
        first, *_ = mitmproxy.load(flows)
        return f"{first.marked} {first.comment}\n{mitmproxy.text(first, first.response)}"


def hashed(data: bytes) -> bytes:
    """The hash of a page, independent of toolstream's version."""
    return hashlib.sha256(data.replace(__version__.encode(), b"")).hexdigest().encode()


def noted(picture: bytes) -> bytes:
    """The hash in a screenshot."""
    return picture[_HEAD + 8 :].removeprefix(_KEY)[:64] if picture[_HEAD + 4 : _HEAD + 8] == b"tEXt" else b""


def with_note(picture: bytes, note: bytes) -> bytes:
    """Add the hash of its page to a screenshot."""
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


def take(address: str, out: Path, scheme: str) -> bytes:
    """Take a screenshot of a page or of mitmweb."""
    node, chromium = shutil.which("node"), program()
    if node is None or chromium is None:
        sys.exit("make_pictures: needs Node.js and Chromium; see scripts/browser")
    environment = os.environ | {"TOOLSTREAM_CHROMIUM": chromium}
    subprocess.run([node, ROOT / "scripts" / "picture.mjs", address, out, scheme], env=environment, check=True)
    return out.read_bytes()


def take_mitmweb(flows: Path, out: Path) -> bytes:
    """Take a screenshot of mitmweb with the flows of a file."""
    with Web(Version("pinned"), out.parent, rfile=str(flows), toolstream_log="calls") as web:
        web.proxy.wait_for("verdict")
        return take(web.address, out, "light")


def main() -> int:
    """Take or check the screenshots."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = page(folder)
        flows = path.with_suffix(".flow")
        wanted = dict.fromkeys(PAGES, hashed(path.read_bytes())) | {MITMWEB: hashed(shown(flows).encode())}
        old = [file for file, note in wanted.items() if not file.exists() or noted(file.read_bytes()) != note]
        if "--check" not in sys.argv[1:]:
            for file in old:
                out = folder / "picture.png"
                taken = take_mitmweb(flows, out) if file == MITMWEB else take(path.as_uri(), out, PAGES[file])
                file.write_bytes(with_note(taken, wanted[file]))
            return 0
    for file in old:
        print(f"{file.relative_to(ROOT)} is outdated: run scripts/make_pictures.py")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
