"""Generated ids, and the provider's ids that they stand for. Knows no protocol."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.calls import nonblank
from toolstream_core.stages.converted_items import Functions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.stages.converted_items import Custom

MAX_IDS = 100_000
"""The most generated ids that are remembered; the oldest are forgotten first."""
DIGITS = 24
"""Hexadecimal digits of a generated id, after its prefix."""


class Own(NamedTuple):
    """The provider's id of a call that the client has under a generated id."""

    id: str
    """Never empty."""
    name: str
    """The name of the tool as the client has it; `""` if it has none."""
    upstream: str
    """The provider that sent it."""


class Ids:
    """The generated ids of one run of the proxy that stand for ids of the provider."""

    def __init__(self) -> None:
        """No response arrived."""
        self._run = secrets.token_hex(16)
        self._answers = 0
        self._own: dict[str, Own] = {}
        self.functions = Functions()
        """Function calls that clients have as calls of custom tools."""

    def __len__(self) -> int:
        """The number of remembered ids."""
        return len(self._own)

    def answer(self, upstream: str) -> AnswerIds:
        """The generator of ids for the next response of `upstream`: no other response of any run has them."""
        self._answers += 1
        return AnswerIds(f"{self._run}|{self._answers}", self, upstream)

    def remember(self, made: str, own: Own) -> None:
        """From now on `made` stands for a call of the provider."""
        self._own.pop(made, None)
        self._own[made] = own
        if len(self._own) > MAX_IDS:
            del self._own[next(iter(self._own))]

    def forget(self, identities: Iterable[str]) -> None:
        """The provider uses these ids itself, so they stand for its own calls."""
        for identity in identities:
            self._own.pop(identity, None)

    def own(self, made: str, upstream: str) -> Own | None:
        """The id that `upstream`, or an endpoint below it, has for the call, if it is remembered."""
        own = self._own.get(made)
        theirs = own is not None and (upstream == own.upstream or upstream.startswith(f"{own.upstream}/"))
        return own if theirs else None


class AnswerIds:
    """Generates the ids of one response; the same seed gives the same ids in the same order."""

    def __init__(self, seed: str = "", ids: Ids | None = None, upstream: str = "") -> None:
        """`ids` remembers what the generated ids stand for."""
        self._seed = seed
        self._ids = ids
        self._upstream = upstream
        self._made: dict[str, Own | None] = {}

    def make(self, prefix: str, length: int = 0) -> str:
        """A new id of at least `length` characters."""
        text = f"{self._seed}|{len(self._made)}"
        made = (prefix + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:DIGITS]).ljust(length, "_")
        self._made[made] = None
        return made

    def made(self, identity: str) -> bool:
        """Whether it is one of them."""
        return identity in self._made

    def note_given(self, identities: Iterable[str]) -> None:
        """Note the ids that the provider sent in this response."""
        if self._ids is not None:
            self._ids.forget(identities)

    def stands_for(self, made: str, identity: str, name: str) -> None:
        """Note the provider's id of a call named `name`, unless it is empty or was generated."""
        if not nonblank(identity):
            return
        own = self._made.get(identity, Own(identity, name, self._upstream))
        self._made[made] = own
        if own is not None and self._ids is not None:
            self._ids.remember(made, own)

    def sent_as_custom(self, custom: Custom, arguments: str) -> None:
        """Note a function call with these arguments that the client has as a custom tool's call."""
        if self._ids is not None:
            self._ids.functions.remember(custom, arguments, self._upstream)
