"""What the standard library reads and writes JSON with, and its documents do not name: the one seam."""

from __future__ import annotations

import json
from json import encoder
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolstream_core.wire.json_value import Json

__all__ = ["compact_parts", "encode_basestring", "encode_basestring_ascii", "scan_of", "scanstring"]


def scan_of(decoder: json.JSONDecoder) -> Callable[[str, int], tuple[Json, int]]:
    """What `decoder.raw_decode` asks: the value at a place, and where it ends. Raises `StopIteration` where none is."""
    scan: Callable[[str, int], tuple[Json, int]] = decoder.scan_once  # type: ignore[attr-defined]  # not in the stubs
    return scan


def _compact_parts() -> Callable[[Json, int], Iterable[str]]:
    usual = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    make = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _: usual.encode(value)
    parts: Callable[[Json, int], Iterable[str]] = make(
        None, usual.default, encode_basestring, None, ":", ",", *(False, False, True)
    )
    return parts


compact_parts: Final = _compact_parts()
"""The parts of compact JSON, for a value and 0; made once, where `JSONEncoder.encode` makes such a writer each time."""
