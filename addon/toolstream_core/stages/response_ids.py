"""Maps generated ids and converted calls to the provider's own, for the client's next requests. Knows no protocol."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from typing import NamedTuple

from toolstream_core.calls import nonblank

MAX_TEXT = 32 * 1024 * 1024
"""The most characters of arguments that are remembered; the oldest are forgotten first."""
ENTRY = 500
"""Characters that each call counts in addition to its arguments."""


class Functions:
    """Function calls that were sent as calls of custom tools, in one run of the proxy.

    A call is identified by everything that its client has, since some providers use the same ids in all conversations.
    """

    def __init__(self) -> None:
        self._functions: dict[bytes, _Function] = {}
        self._kept: dict[tuple[str, str], bytes] = {}
        self._size = 0

    def __len__(self) -> int:
        """The number of remembered calls."""
        return len(self._functions)

    def remember(self, custom: Custom, arguments: str, upstream: str) -> None:
        """Map `custom` to a function call of `upstream` with these arguments."""
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
        """Whether a call of a response that the provider stores was converted."""
        one = self._functions.get(self._kept.get((response, call_id), b""))
        return bool(response) and one is not None and one.is_from(upstream)

    def _forget(self, key: bytes) -> None:
        one = self._functions.pop(key, None)
        if one is not None:
            self._kept.pop(one.place, None)
            self._size -= ENTRY + len(one.arguments)


class Custom(NamedTuple):
    """A custom tool call at the client."""

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


MAX_IDS = 100_000
"""The most generated ids that are remembered; the oldest are forgotten first."""
DIGITS = 24
"""Hexadecimal digits of a generated id, after its prefix."""


class ProviderId(NamedTuple):
    """The provider's id of a call with a generated id."""

    id: str
    """Never empty."""
    name: str
    """The name of the tool at the client, or `""`."""
    upstream: str
    """The provider that sent it."""


class Ids:
    """The generated ids of one run of the proxy that replace ids of the provider."""

    def __init__(self) -> None:
        self._run = secrets.token_hex(16)
        self._responses = 0
        self._own: dict[str, ProviderId] = {}
        self.functions = Functions()
        """Function calls that were converted to custom tool calls."""

    def __len__(self) -> int:
        """The number of remembered ids."""
        return len(self._own)

    def for_response(self, upstream: str) -> ResponseIds:
        """A generator of ids for the next response of `upstream`, unique over all runs."""
        self._responses += 1
        return ResponseIds(f"{self._run}|{self._responses}", self, upstream)

    def remember(self, generated: str, own: ProviderId) -> None:
        """Map a generated id to the provider's id."""
        self._own.pop(generated, None)
        self._own[generated] = own
        if len(self._own) > MAX_IDS:
            del self._own[next(iter(self._own))]

    def forget(self, identities: Iterable[str]) -> None:
        """Forget generated ids that the provider uses itself."""
        for identity in identities:
            self._own.pop(identity, None)

    def own(self, generated: str, upstream: str) -> ProviderId | None:
        """The id that `upstream`, or an endpoint below it, sent for the call, if it is remembered."""
        own = self._own.get(generated)
        is_from = own is not None and (upstream == own.upstream or upstream.startswith(f"{own.upstream}/"))
        return own if is_from else None


class ResponseIds:
    """Generates the ids of one response; the same seed gives the same ids in the same order."""

    def __init__(self, seed: str = "", ids: Ids | None = None, upstream: str = "") -> None:
        """`ids`: remembers the provider's id of each generated id."""
        self._seed = seed
        self._ids = ids
        self._upstream = upstream
        self._generated: dict[str, ProviderId | None] = {}

    def make(self, prefix: str, length: int = 0) -> str:
        """A new id of at least `length` characters."""
        text = f"{self._seed}|{len(self._generated)}"
        identity = (prefix + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:DIGITS]).ljust(length, "_")
        self._generated[identity] = None
        return identity

    def is_generated(self, identity: str) -> bool:
        """Whether an id was generated here."""
        return identity in self._generated

    def note_given(self, identities: Iterable[str]) -> None:
        """Note the ids that the provider sent in this response."""
        if self._ids is not None:
            self._ids.forget(identities)

    def map_to(self, generated: str, identity: str, name: str) -> None:
        """Map a generated id to the provider's id of a call named `name`, unless that is empty or was generated."""
        if not nonblank(identity):
            return
        own = self._generated.get(identity, ProviderId(identity, name, self._upstream))
        self._generated[generated] = own
        if own is not None and self._ids is not None:
            self._ids.remember(generated, own)

    def sent_as_custom(self, custom: Custom, arguments: str) -> None:
        """Note a function call with these arguments that is sent as a custom tool call."""
        if self._ids is not None:
            self._ids.functions.remember(custom, arguments, self._upstream)
