"""JSON values of foreign bytes: absent or there, and strings as they are written."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, Final, Never

type Json = Any
"""Foreign JSON, read only through `wire.json_access`."""


type Payload = dict[str, Json]
"""The JSON object of an event."""


class Absent(frozenset[Never], enum.Enum):
    """The type of `ABSENT`: `Seen` narrows under `is`.

    Absent is as false as null and empty: `if fragment.id` means "there is an id".
    """

    ABSENT = ()

    def __repr__(self) -> str:
        """Read as the bare name in reports and assertion diffs."""
        return "ABSENT"


ABSENT: Final = Absent.ABSENT

type Seen[T] = T | Absent | None
"""A value as the wire has it: absent, JSON null, or there. The three are never collapsed here."""


def may_hide_letters(raw: bytes) -> bool:
    r"""Whether JSON text may have an ASCII letter as an escape: a search of its bytes would miss a key.

    That is `\u004x` to `\u007x`; other escapes, which are frequent, do not count.
    """
    if b"\\" not in raw:
        return False
    return any(rest[:3] == b"u00" and rest[3:4] in {b"4", b"5", b"6", b"7"} for rest in raw.split(b"\\")[1:])


__all__ = ["encode_basestring", "encode_basestring_ascii", "scan_of", "scanstring"]


def scan_of(decoder: json.JSONDecoder) -> Callable[[str, int], tuple[Json, int]]:
    """The scanner of `decoder.raw_decode`: the value at a place, and its end, else `StopIteration`."""
    scan: Callable[[str, int], tuple[Json, int]] = decoder.scan_once  # type: ignore[attr-defined]  # not in the stubs
    return scan
