"""Secrets that are known because the request itself carried them, and the forms in which they show again."""

from __future__ import annotations

import base64
import binascii
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from toolstream_core.redaction.names import Sensitivity, header_sensitivity, parameter_sensitivity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LONG: Final = 8
_SHORT: Final = 6
_BASE64_PART: Final = 9
_PARAMETER: Final = re.compile(r"(?<=[?&;#])([^=&;?#]+)=([^&;#]*)")
_USER: Final = re.compile(r"(?<=://)([^/?#@\s]*)@")
_COOKIE_ATTRIBUTES: Final = frozenset(
    {"path", "domain", "expires", "max-age", "samesite", "priority", "version", "comment"}
)


def known_secrets(headers: Iterable[tuple[str, str]], path: str) -> tuple[str, ...]:
    """The values that headers and the path carry as secrets, longest first, to be found wherever else they show.

    `headers` may be the request's and the response's (`Set-Cookie`).
    """
    found = {value for value in _carried(headers, path) if _tells(value)}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def _tells(value: str) -> bool:
    """Whether a value is long enough that it shows elsewhere only as the secret."""
    if len(value) >= _LONG:
        return True
    return len(value) >= _SHORT and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _carried(headers: Iterable[tuple[str, str]], path: str) -> Iterator[str]:
    for name, value in headers:
        if name.lower() in {"cookie", "set-cookie"}:
            yield from cookie_values(value)
        elif header_sensitivity(name) is Sensitivity.STRONG:
            yield from _credentials(value)
    for user in _USER.findall(path):
        yield from (unquote(part) for part in user.split(":"))
    for name, value in _PARAMETER.findall(path):
        if parameter_sensitivity(unquote_plus(name)) is Sensitivity.STRONG:
            yield from (value, unquote(value), unquote_plus(value))


def cookie_values(header: str) -> Iterator[str]:
    """The values in a `Cookie` or `Set-Cookie` header, without its attributes."""
    for pair in header.split(";"):
        name, sign, value = pair.partition("=")
        if name.strip().lower() not in _COOKIE_ATTRIBUTES:
            whole = (value if sign else name).strip().strip('"')
            yield from {whole, whole.rpartition(" ")[2]}


def _credentials(value: str) -> Iterator[str]:
    """`Bearer SECRET`, `Basic base64(user:password)`, `Signature=…, Credential=…`."""
    scheme, _, rest = value.strip().partition(" ")
    if rest and not rest.strip("* "):  # overwritten before: `Bearer ***` begins whatever was redacted behind a scheme
        return
    yield value.strip()
    if not rest:
        return
    yield rest.strip()
    if scheme.lower() == "basic":
        yield from _of_basic(rest.strip())
    for part in re.split(r"[,;\s]+", rest):
        yield part.partition("=")[2].strip('"') if "=" in part.rstrip("=") else part


def _of_basic(coded: str) -> Iterator[str]:
    try:
        plain = base64.b64decode(coded, validate=True).decode()
    except (binascii.Error, ValueError):
        return
    yield plain
    yield plain.partition(":")[2]


@lru_cache(maxsize=64)
def forms(values: tuple[str, ...]) -> tuple[bytes, ...]:
    """Each value as it may be written: plain, in a URL, in JSON, in base64 at any place of a longer text, in hex."""
    found: dict[bytes, None] = {}
    for value in values:
        plain = value.encode("utf-8", "surrogateescape")
        texts = {value, quote(plain, safe=""), quote(plain), quote_plus(plain), json.dumps(value)[1:-1]}
        coded = {text.encode("utf-8", "surrogateescape") for text in texts}
        coded |= {re.sub(rb"%[0-9A-F]{2}", lambda found: found[0].lower(), text) for text in coded}
        coded |= {plain.hex().encode(), plain.hex().upper().encode()}
        if len(plain) >= _BASE64_PART:
            coded |= set(_base64_forms(plain))
        found.update(dict.fromkeys(sorted(coded, key=lambda form: (-len(form), form))))
    return tuple(found)


def _base64_forms(plain: bytes) -> Iterator[bytes]:
    """The characters that this value alone decides, for each of the three places where it may begin."""
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + plain)
        own = text[(0, 2, 3)[shift] : (len(plain) + shift) * 8 // 6]
        yield own
        yield own.translate(bytes.maketrans(b"+/", b"-_"))
