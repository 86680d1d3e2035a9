"""Headers, paths and short texts: redacted, and the secrets that a request carries in them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final
from urllib.parse import unquote, unquote_plus

from toolstream_core.redaction.body import redacted_body
from toolstream_core.redaction.names import Sensitivity, field_sensitivity, normal, parameter_sensitivity
from toolstream_core.redaction.settings import Redaction, TextMode

_HEADER_WORDS: Final = re.compile(
    r"(?:^|_)(?:auth|authorization|authentication|api_?key|apikey|secret|cookie2?|credentials?|password|passwd|jwt|key"
    r"|token|signature|session|assertion|hmac|dpop|appcheck|principal)(?:_|$)|^x_honeycomb_team$|^cf_access_client_id$"
)
_HEADER_IDENTITIES: Final = re.compile(
    r"(?:^|_)(?:organization|organisation|org|project|account|user|tenant|customer|workspace|team)(?:_(?:id|uuid|email|name"
    r"|project))?$|^x_forwarded_(?:user|email|for|access_token)$|(?:^|_)(?:device|machine|installation|hardware)_(?:id|uuid)$|^x_real_ip$|^cf_connecting_ip$|^from$"
)
# A WebSocket's key is a nonce: https://www.rfc-editor.org/rfc/rfc6455#section-4.1. The case of headers has no meaning.
_HARMLESS_HEADERS: Final = frozenset(
    {"idempotency_key", "x_idempotency_key", "www_authenticate", "sec_token_binding", "sec_websocket_key"}
)
_PARAMETER: Final = re.compile(r"(?<=[?&;#])([^=&;?#]+)=([^&;#]*)")
_COOKIES: Final = frozenset({"cookie", "set-cookie", "cookie2", "set-cookie2"})
_COOKIE: Final = re.compile(rb"(^|;\s*)(?:([^=;]+)(=))?([^;]+)")
_COOKIE_ATTRIBUTES: Final = frozenset({"path", "domain", "expires", "max-age", "samesite", "priority"})
_COOKIE_FLAGS: Final = frozenset({"secure", "httponly", "partitioned"})
_SCHEME: Final = re.compile(
    rb"(\s*(?:Bearer|Basic|Token|Digest|ApiKey|Key|AWS4-HMAC-SHA256)\s+)?(.*)", re.DOTALL | re.IGNORECASE
)

_SHORT: Final = 512
"""The results for texts below this length, in bytes, are remembered."""


@lru_cache(maxsize=4096)
def is_secret_header(name: str) -> bool:
    """Whether a header or a trailer of this name carries a secret, in any case."""
    plain = normal(name.lower())
    if plain in _HARMLESS_HEADERS:
        return False
    if _HEADER_WORDS.search(plain) or _HEADER_IDENTITIES.search(plain):
        return True
    return field_sensitivity(plain) is Sensitivity.STRONG


def redacted_fields(
    fields: Iterable[tuple[bytes, bytes]], redaction: Redaction, known: Sequence[str] = ()
) -> tuple[tuple[bytes, bytes], ...]:
    """Headers or trailers: a secret value keeps its scheme and its length."""
    return tuple((name, _value(name, value, redaction, known)) for name, value in fields)


def _value(name: bytes, value: bytes, redaction: Redaction, known: Sequence[str]) -> bytes:
    plain = name.decode("latin-1").lower()
    if plain in _COOKIES:
        return _COOKIE.sub(_without_cookie, value)
    named = normal(plain) in redaction.normal_names
    if named or is_secret_header(plain):
        found = _SCHEME.fullmatch(value)
        assert found is not None
        return (found[1] or b"") + b"*" * len(found[2])
    return _searched(value, redaction, known)


def _searched(text: bytes, redaction: Redaction, known: Sequence[str]) -> bytes:
    look = _remembered if len(text) < _SHORT else redacted_body
    return look(text, replace(redaction, text=TextMode.KEEP), tuple(known))  # the text mode is for bodies


@lru_cache(maxsize=1024)
def _remembered(text: bytes, redaction: Redaction, known: tuple[str, ...]) -> bytes:
    """A short text; the headers of one client are mostly the same, flow by flow."""
    return redacted_body(text, redaction, known)


def _without_cookie(found: re.Match[bytes]) -> bytes:
    name = found[2] or b""
    if _is_attribute(name.decode("latin-1"), found[4].decode("latin-1")):
        return found[0]
    return found[1] + name + (found[3] or b"") + b"*" * len(found[4])


def _is_attribute(name: str, value: str) -> bool:
    """Whether a part of a `Set-Cookie` header is about the cookie: `Path=/`, `HttpOnly`."""
    return name.strip().lower() in _COOKIE_ATTRIBUTES or (not name and value.strip().lower() in _COOKIE_FLAGS)


def redacted_path(path: str, redaction: Redaction, known: Sequence[str] = ()) -> str:
    """A path with its query."""
    names = redaction.normal_names

    def hide(found: re.Match[str]) -> str:
        name = unquote_plus(found[1])
        secret = normal(name) in names or parameter_sensitivity(name) is Sensitivity.STRONG
        return f"{found[1]}={'*' * len(found[2])}" if secret else found[0]

    return redacted_text(_PARAMETER.sub(hide, path), redaction, known)


def redacted_text(text: str, redaction: Redaction, known: Sequence[str] = ()) -> str:
    """A comment or an error message."""
    data = _searched(text.encode("utf-8", "surrogateescape"), redaction, known)
    return data.decode("utf-8", "surrogateescape")


_LONG: Final = 8
_SHORTEST: Final = 6
_USER: Final = re.compile(r"(?<=://)([^/?#@\s]*)@")


def known_secrets(headers: Iterable[tuple[str, str]], path: str) -> tuple[str, ...]:
    """The secret values in headers and the path, longest first, to be found at any other place.

    `headers` may be the request's and the response's (`Set-Cookie`).
    """
    found = {value for value in _carried(headers, path) if _is_long_enough(value)}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def _is_long_enough(value: str) -> bool:
    """Whether a value is so long that it occurs elsewhere only as the secret."""
    if len(value) >= _LONG:
        return True
    return len(value) >= _SHORTEST and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _carried(headers: Iterable[tuple[str, str]], path: str) -> Iterator[str]:
    for name, value in headers:
        if name.lower() in _COOKIES:
            yield from _cookie_values(value)
        elif is_secret_header(name):
            yield from _credentials(value)
    for user in _USER.findall(path):
        yield from (unquote(part) for part in user.split(":"))
    for name, value in _PARAMETER.findall(path):
        if parameter_sensitivity(unquote_plus(name)) is Sensitivity.STRONG:
            yield from (value, unquote(value), unquote_plus(value))


def _cookie_values(header: str) -> Iterator[str]:
    """The values in a `Cookie` or `Set-Cookie` header, without its attributes."""
    for pair in header.split(";"):
        name, value = pair.split("=", 1) if "=" in pair else ("", pair)
        if not _is_attribute(name, value):
            text = value.strip().strip('"')
            yield from {text, text.rpartition(" ")[2]}


def _credentials(value: str) -> Iterator[str]:
    """`Bearer SECRET`, `Basic base64(user:password)`, `Signature=…, Credential=…`."""
    scheme, _, rest = value.strip().partition(" ")
    if rest and not rest.strip(
        "* "
    ):  # overwritten before: everything that was redacted after a scheme begins with `Bearer ***`
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
