"""Which certificate authorities the proxy trusts upstream, and which its clients trust."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import certifi

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OWN: Final = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "AWS_CA_BUNDLE")
"""Variables by which users add authorities, such as their company's."""


def authorities(environment: Mapping[str, str]) -> bytes:
    """Those that everybody trusts, and those that the variables of `environment` name, as PEM."""
    known = Path(certifi.where()).read_bytes()
    return b"\n".join(dict.fromkeys([known, *_own(environment)]))


def _own(environment: Mapping[str, str]) -> Iterator[bytes]:
    for name in _OWN:
        path = Path(environment.get(name) or "/")
        if path.is_file() and b"BEGIN CERTIFICATE" in (content := path.read_bytes()):
            yield content
