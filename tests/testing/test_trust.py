"""Authorities that the user trusts stay trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.testing.environment import authorities

if TYPE_CHECKING:
    from pathlib import Path

MINE = b"-----BEGIN CERTIFICATE-----\nmine\n-----END CERTIFICATE-----\n"


def test_the_users_authorities_are_added_once(tmp_path: Path) -> None:
    """What is no certificate, or not there, is passed over."""
    (tmp_path / "mine.pem").write_bytes(MINE)
    (tmp_path / "empty.pem").write_bytes(b"no certificate")
    environment = {
        "SSL_CERT_FILE": str(tmp_path / "mine.pem"),
        "NODE_EXTRA_CA_CERTS": str(tmp_path / "mine.pem"),
        "CURL_CA_BUNDLE": str(tmp_path / "empty.pem"),
        "REQUESTS_CA_BUNDLE": str(tmp_path / "nowhere.pem"),
        "AWS_CA_BUNDLE": "",
    }
    everybodys = authorities({})
    assert b"BEGIN CERTIFICATE" in everybodys
    assert authorities(environment) == everybodys + b"\n" + MINE
