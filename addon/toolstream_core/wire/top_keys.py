"""The top-level keys of a JSON object, read from its first bytes alone."""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(rb'"((?:[^"\\]|\\.)*+)(?:"(\s*+:)?|\\?\Z)|[{\[]|[}\]]', re.DOTALL)
"""A string, with the colon after a key, or a bracket. A string that is cut off goes to the end."""


def top_keys(head: bytes) -> frozenset[bytes]:
    """The keys of the object that begins with `head`, as far as that shows them; none where it is no object."""
    if not head.lstrip().startswith(b"{"):
        return frozenset()
    found: set[bytes] = set()
    depth = 0
    for token in _TOKEN.finditer(head):
        if token[0] in {b"{", b"["}:
            depth += 1
        elif token[0] in {b"}", b"]"}:
            depth -= 1
        elif depth == 1 and token[2] is not None:
            found.add(token[1])
    return frozenset(found)
