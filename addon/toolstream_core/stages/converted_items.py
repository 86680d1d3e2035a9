"""Calls that the client got as items of another kind than the provider's, for its next requests."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

MAX_TEXT = 32 * 1024 * 1024
"""The most characters of arguments that are remembered; the oldest are forgotten first."""
ENTRY = 500
"""Characters that each call counts besides its arguments."""


class Functions:
    """Function calls that were sent as calls of custom tools, in one run of the proxy.

    A call is known by all that its client has of it, since some providers give every conversation the same ids.
    """

    def __init__(self) -> None:
        """No call arrived."""
        self._functions: dict[bytes, _Function] = {}
        self._kept: dict[tuple[str, str], bytes] = {}
        self._size = 0

    def __len__(self) -> int:
        """The number of remembered calls."""
        return len(self._functions)

    def remember(self, custom: Custom, arguments: str, upstream: str) -> None:
        """From now on `custom` stands for a call with these arguments, which `upstream` sent."""
        key = custom.key
        self._forget(key)
        self._functions[key] = _Function(arguments, upstream, (custom.response, custom.call_id))
        self._kept[custom.response, custom.call_id] = key
        self._size += ENTRY + len(arguments)
        while self._size > MAX_TEXT:
            self._forget(next(iter(self._functions)))

    def arguments(self, custom: Custom, upstream: str) -> str | None:
        """The arguments of the call, if `upstream` sent it as a function call."""
        one = self._functions.get(custom.key)
        return one.arguments if one is not None and one.is_from(upstream) else None

    def kept(self, response: str, call_id: str, upstream: str) -> bool:
        """Whether the server has the call of a stored response as a function call."""
        one = self._functions.get(self._kept.get((response, call_id), b""))
        return bool(response) and one is not None and one.is_from(upstream)

    def _forget(self, key: bytes) -> None:
        one = self._functions.pop(key, None)
        if one is not None:
            self._kept.pop(one.place, None)
            self._size -= ENTRY + len(one.arguments)


class Custom(NamedTuple):
    """A custom tool's call as the client has it."""

    call_id: str
    name: str
    text: str
    response: str = ""
    """The id of the response that has it."""

    @property
    def key(self) -> bytes:
        """The key under which it is remembered."""
        text = f"{len(self.call_id)} {len(self.name)} {self.call_id}{self.name}{self.text}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class _Function(NamedTuple):
    """The function call that the provider sent."""

    arguments: str
    upstream: str
    place: tuple[str, str]

    def is_from(self, upstream: str) -> bool:
        return upstream == self.upstream or upstream.startswith(f"{self.upstream}/")
