"""Programs of the Java virtual machine use the proxy and trust its certificate."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import ssl
import struct
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from toolstream_core.testing import ProxySession, Setup
from toolstream_core.testing.environment import JAVA_OPTIONS, authorities, java_options, trust_store

CLIENT = """
import java.net.URI;
import java.net.http.*;

class Client {
  public static void main(String[] arguments) throws Exception {
    String body = "{\\"model\\":\\"m\\",\\"stream\\":true,\\"messages\\":[]}";
    for (String url : arguments) {
      HttpRequest request = HttpRequest.newBuilder(URI.create(url)).header("content-type", "application/json")
          .POST(HttpRequest.BodyPublishers.ofString(body)).build();
      System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
    }
  }
}
"""
URLS = [f"{server}/v1/chat/completions" for server in ("https://api.openai.com", "http://localhost:8123")]


def certificates(store: bytes) -> list[bytes]:
    """Return the certificates of a key store, as described in `sun.security.provider.JavaKeyStore`."""
    data = io.BytesIO(store)

    def number(size: str) -> int:
        value: int = struct.unpack(f">{size}", data.read(struct.calcsize(size)))[0]
        return value

    assert (number("I"), number("I")) == (0xFEEDFEED, 2)
    found = []
    for _ in range(number("I")):
        assert number("I") == 2
        data.read(number("H"))  # its alias
        number("q")  # its date
        assert data.read(number("H")) == b"X.509"
        found.append(data.read(number("I")))
    assert len(data.read()) == 20  # a digest
    return found


def test_every_authority_is_in_the_trust_store() -> None:
    """Certificates are stored in their order in DER, and other texts are skipped."""
    pem = authorities({}).decode()
    found = certificates(trust_store("-----BEGIN CERTIFICATE-----\na\n-----END CERTIFICATE-----\n" + pem))
    assert len(found) == pem.count("BEGIN CERTIFICATE") > 100
    assert ssl.DER_cert_to_PEM_cert(found[0]).strip() in pem


def test_the_users_options_precede() -> None:
    """Later options take precedence, and a path may contain spaces."""
    options = shlex.split(java_options("http://127.0.0.1:4711", PurePosixPath("/a b/ca.jks"), "-Xmx1g"))
    assert options[0] == "-Xmx1g"
    assert "-Dhttps.proxyPort=4711" in options
    assert "-Djavax.net.ssl.trustStore=/a b/ca.jks" in options


@pytest.mark.skipif(shutil.which("java") is None, reason="no java")
@pytest.mark.parametrize("network", ["none", "all"])
def test_a_java_program_uses_the_proxy(network: str, tmp_path: Path) -> None:
    """It reaches a provider and a server on this machine without any settings."""
    (tmp_path / "Client.java").write_text(CLIENT)
    with ProxySession(Setup(calls=(), network=network)) as session:
        options = session.environment()[JAVA_OPTIONS]
        result = subprocess.run(
            ["java", str(tmp_path / "Client.java"), *URLS],
            env={**os.environ, JAVA_OPTIONS: options},
            capture_output=True,
            text=True,
            check=True,
        )
        assert result.stdout.split() == ["200", "200"]
        assert len(session.exchanges()) == 2
