"""Configures a proxy for Java programs with system properties, because they do not read proxy variables."""

from __future__ import annotations

import contextlib
import hashlib
import re
import ssl
import struct
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final
from urllib.parse import urlsplit

JAVA_OPTIONS: Final = "JAVA_TOOL_OPTIONS"
"""Every virtual machine adds these options to its own. Its command line takes precedence."""

_PASSWORD: Final = "changeit"  # noqa: S105
"""Java's own default; it protects nothing, as certificates are public."""
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_HEADER: Final = (0xFEEDFEED, 2)
"""The magic number and the version of the format JKS."""
_TRUSTED: Final = 2
"""The tag of an entry that is a trusted certificate."""


def java_options(url: str, store: PurePath, own: str) -> str:
    """The value of the variable: `own`, the user's value, and the options for the proxy at `url`.

    `store` is the file of a `trust_store`.
    """
    proxy = urlsplit(url)
    properties = {
        "http.proxyHost": proxy.hostname,
        "http.proxyPort": proxy.port,
        "https.proxyHost": proxy.hostname,
        "https.proxyPort": proxy.port,
        "http.nonProxyHosts": "",
        "javax.net.ssl.trustStore": f'"{store}"',
        "javax.net.ssl.trustStoreType": "JKS",
        "javax.net.ssl.trustStorePassword": _PASSWORD,
    }
    return " ".join([*filter(None, [own]), *(f"-D{name}={value}" for name, value in properties.items())])


def trust_store(pem: str) -> bytes:
    """The certificates of a PEM text as a key store of the format JKS, which every version of Java reads.

    The format is that of `sun.security.provider.JavaKeyStore` of OpenJDK.
    """
    entries = [
        struct.pack(">I", _TRUSTED) + _utf(str(number)) + struct.pack(">q", 0) + _utf("X.509") + _sized(certificate)
        for number, certificate in enumerate(_certificates(pem))
    ]
    store = struct.pack(">3I", *_HEADER, len(entries)) + b"".join(entries)
    return store + hashlib.sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + store).digest()  # noqa: S324


def _certificates(pem: str) -> Iterator[bytes]:
    for one in _CERTIFICATE.findall(pem):
        with contextlib.suppress(ValueError):  # not base64
            yield ssl.PEM_cert_to_DER_cert(one)


def _utf(text: str) -> bytes:
    """A text as `DataOutput.writeUTF` writes it."""
    return struct.pack(">H", len(text)) + text.encode("ascii")


def _sized(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content
