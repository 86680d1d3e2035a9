"""Certificate authorities that the user trusts stay trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.testing.environment import authorities

if TYPE_CHECKING:
    from pathlib import Path

CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nmine\n-----END CERTIFICATE-----\n"


def test_the_users_authorities_are_added_once(tmp_path: Path) -> None:
    """Files without a certificate and missing files are skipped."""
    (tmp_path / "mine.pem").write_bytes(CERTIFICATE)
    (tmp_path / "empty.pem").write_bytes(b"no certificate")
    environment = {
        "SSL_CERT_FILE": str(tmp_path / "mine.pem"),
        "NODE_EXTRA_CA_CERTS": str(tmp_path / "mine.pem"),
        "CURL_CA_BUNDLE": str(tmp_path / "empty.pem"),
        "REQUESTS_CA_BUNDLE": str(tmp_path / "nowhere.pem"),
        "AWS_CA_BUNDLE": "",
    }
    public = authorities({})
    assert b"BEGIN CERTIFICATE" in public
    assert authorities(environment) == public + b"\n" + CERTIFICATE
