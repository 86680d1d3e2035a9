"""Common parts for writing responses: a healthy response, independent of a protocol, and parts of all forms."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from toolstream_core.model import Json
from toolstream_core.wire.frame import parse
from toolstream_core.wire.json_value import Payload
from toolstream_core.wire.write import encoded

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_DELTA_LENGTH: Final = re.compile(r'\{\}|\{"|":"|","|"\}| ?\w{1,7}|.', re.DOTALL)
"""Characters of about one token."""
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
        """The random part of a call's id."""
        return self.letters(f"call {place}", length)

    @property
    def tokens(self) -> tuple[int, int]:
        """About how many tokens the request and the response have."""
        text = self.text + "".join(call.name + call.arguments for call in self.calls)
        return len(str(self.request)) // 4 + 1, len(text) // 4 + 1


def deltas_after_empty(text: str) -> list[str]:
    """The same, with an empty delta before arguments, as in Anthropic and Bedrock."""
    return ["", *deltas(text)] if text.startswith("{") else deltas(text)


def deltas(text: str) -> list[str]:
    """A text split into deltas; one empty delta for an empty text."""
    return _DELTA_LENGTH.findall(text) or [text]


type Payloads = Sequence[Payload]
type Cut = Callable[[str], Sequence[str]]
"""Splits the texts and arguments of a complete response into the deltas of a stream."""


def uncut(text: str) -> Sequence[str]:
    """The text in one delta."""
    return [text]


def dictionary(value: Json) -> Payload:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def data_event(payload: Json) -> bytes:
    """An SSE event without a name."""
    return b"data: " + encoded(payload) + b"\n\n"


def named_event(payload: Payload, key: str = "type") -> bytes:
    """An SSE event named by its type, which is under `key`."""
    return b"event: " + str(payload[key]).encode() + b"\n" + data_event(payload)


def add_texts(message: dict[str, Json], delta: Json) -> None:
    """`content`, and the fields that vendors add to it: `reasoning`, `reasoning_content`, `refusal`."""
    for key, value in dictionary(delta).items():
        if isinstance(value, str) and value and key != "role":
            message[key] = message.get(key, "") + value


def merged(payloads: Payloads, *, leaving: tuple[str, ...]) -> dict[str, Json]:
    """The other fields of the payloads; the last value counts, but null is none."""
    return {
        key: value for payload in payloads for key, value in payload.items() if key not in leaving and value is not None
    }


def arguments_value(arguments: str) -> Payload:
    """Argument text as an object; an empty one if it is none."""
    return dictionary(parse(arguments.encode("utf-8", "surrogatepass")))
