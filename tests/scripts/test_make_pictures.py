"""Pictures of the page hold the hash of the page that they show."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import make_pictures

if TYPE_CHECKING:
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + bytes(13 + 4) + b"rest"


def test_a_picture_holds_its_hash() -> None:
    """In a chunk of text behind the first chunk, with a valid checksum; the rest is unchanged."""
    note = b"0123456789abcdef" * 4
    made = make_pictures.with_note(PNG, note)
    assert make_pictures.noted(made) == note
    assert make_pictures.noted(PNG) == b""
    begin = len(PNG) - len(b"rest")
    size = int.from_bytes(made[begin : begin + 4])
    chunk = made[begin + 4 : begin + 8 + size]
    assert made[begin + 8 + size :] == struct.pack(">I", zlib.crc32(chunk)) + b"rest"


def test_the_hash_of_a_page_is_the_same_everywhere(tmp_path: Path) -> None:
    """The same session gives the same page, in any folder."""
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    one, other = make_pictures.page(first), make_pictures.page(second)
    assert make_pictures.hashed(one.read_bytes()) == make_pictures.hashed(other.read_bytes())
    shown = make_pictures.shown(one.with_suffix(".flow"))
    assert shown == make_pictures.shown(other.with_suffix(".flow"))
    assert "verdict: The client returned call 0 read_file" in shown


def test_pictures_are_shown() -> None:
    """In the pages about what they show, the dark one to readers with a dark system."""
    pages = {
        name: (make_pictures.ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("view.md", "mitmproxy.md")
    }
    assert all(path.name in pages["view.md"] for path in make_pictures.PAGES)
    assert make_pictures.MITMWEB.name in pages["mitmproxy.md"]
