"""What a protocol is to everything else: one row. Knows no protocol by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from toolstream_core.calls import Calls
    from toolstream_core.model import Json, Said
    from toolstream_core.wire.frame import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A protocol: how to know it, how to read it, how its fragments become calls.

    Readers report what is there. They never judge and never raise on foreign bytes.
    """

    name: str
    paths: re.Pattern[str]
    """Request paths of this API, anywhere in the path: gateways put prefixes before them."""
    calls: type[Calls]
    recognise: Callable[[str, Json], bool]
    """Whether a frame of this SSE event name and JSON payload can only be this protocol's."""
    read: Callable[[Frame], Said]
    """What a frame of the stream says."""
    answer: Callable[[Json], Said]
    """What a whole, non-streamed answer says; every call in it is a fragment of phase `WHOLE`."""
    quiet: Callable[[bytes, int], bool]
    """A cheap test on the raw bytes of so many frames: surely no tool call, finish, error or end in any of them.

    It may say no too often, never yes too often: a quiet frame is counted, not parsed.
    """

    def claims(self, path: str) -> bool:
        """Whether `path` (with or without query) is one of this API's."""
        return self.paths.search(path.partition("?")[0]) is not None


def may_hide_letters(raw: bytes) -> bool:
    r"""Whether JSON text may say an ASCII letter by an escape, so that a search of its bytes would miss a key.

    That is `\u004x` to `\u007x`; other escapes, which are frequent, do not count.
    """
    if b"\\" not in raw:
        return False
    return any(rest[:3] == b"u00" and rest[3:4] in {b"4", b"5", b"6", b"7"} for rest in raw.split(b"\\")[1:])
