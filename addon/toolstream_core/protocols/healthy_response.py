"""A healthy provider's response before it is written in any protocol: calls, or a text."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from toolstream_core.model import Json

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_DELTA_LENGTH: Final = re.compile(r'\{\}|\{"|":"|","|"\}| ?\w{1,7}|.', re.DOTALL)
"""About what one token is."""
CREATED: Final = 1_767_225_600
"""The time of every such response, in seconds since 1970: the same request has the same response."""
CREATED_TEXT: Final = "2026-01-01T00:00:00.000000Z"


class HealthyCall(NamedTuple):
    """A call of the response."""

    name: str
    arguments: str
    """JSON text; text of any form for a tool that takes that."""
    custom: bool = False
    """Whether the tool takes text of any form."""
    namespace: str = ""
    """The namespace in which the tool is offered (Responses); `""` outside of any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthyResponse:
    """One response."""

    model: str
    request: Json
    """The request's JSON body."""
    calls: tuple[HealthyCall, ...] = ()
    text: str = ""
    token: str = ""
    """The seed of ids: another one gives other ids."""

    def letters(self, use: str, length: int) -> str:
        """Letters and digits, always the same for the same token and use; fewer are the start of more."""
        digest = hashlib.sha512(f"{self.token}|{use}".encode()).digest()
        return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:length])

    def hexadecimal(self, use: str, length: int) -> str:
        """Hexadecimal digits, as `letters`."""
        return hashlib.sha512(f"{self.token}|{use}".encode()).hexdigest()[:length]

    def call_letters(self, place: int, length: int) -> str:
        """What distinguishes the ids of calls."""
        return self.letters(f"call {place}", length)

    @property
    def tokens(self) -> tuple[int, int]:
        """About how many tokens the request and the response have."""
        text = self.text + "".join(call.name + call.arguments for call in self.calls)
        return len(str(self.request)) // 4 + 1, len(text) // 4 + 1


def deltas_after_empty(text: str) -> list[str]:
    """The same, with an empty delta before arguments, as Anthropic and Bedrock have it."""
    return ["", *deltas(text)] if text.startswith("{") else deltas(text)


def deltas(text: str) -> list[str]:
    """A text as providers cut it into deltas; one empty delta for an empty text."""
    return _DELTA_LENGTH.findall(text) or [text]
