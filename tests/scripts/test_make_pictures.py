"""The pictures of the page contain the hash of the page."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import make_pictures

if TYPE_CHECKING:
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + bytes(13 + 4) + b"rest"


def test_a_picture_contains_its_hash() -> None:
    """The hash is in a valid text chunk after the first chunk, and the rest does not change."""
    note = b"0123456789abcdef" * 4
    picture = make_pictures.with_note(PNG, note)
    assert make_pictures.noted(picture) == note
    assert make_pictures.noted(PNG) == b""
    start = len(PNG) - len(b"rest")
    size = int.from_bytes(picture[start : start + 4])
    chunk = picture[start + 4 : start + 8 + size]
    assert picture[start + 8 + size :] == struct.pack(">I", zlib.crc32(chunk)) + b"rest"


def test_the_hash_of_a_page_is_reproducible(tmp_path: Path) -> None:
    """The same session gives the same page in any folder."""
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    first_page, second_page = make_pictures.page(first), make_pictures.page(second)
    assert make_pictures.hashed(first_page.read_bytes()) == make_pictures.hashed(second_page.read_bytes())
    shown = make_pictures.shown(first_page.with_suffix(".flow"))
    assert shown == make_pictures.shown(second_page.with_suffix(".flow"))
    assert "verdict: The client returned call 0 read_file" in shown


def test_pictures_are_used_in_the_documentation() -> None:
    """The pages about the views show them; the dark one is for dark systems."""
    pages = {
        name: (make_pictures.ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("view.md", "mitmproxy.md")
    }
    assert all(path.name in pages["view.md"] for path in make_pictures.PAGES)
    assert make_pictures.MITMWEB.name in pages["mitmproxy.md"]
