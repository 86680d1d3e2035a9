"""The mitmdumps that tests share: one for each configuration, all with one certificate authority."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.harness.client import Client, Http1Client, Http2Client, Way
from toolstream_core.cli.launch import Mitmdump

if TYPE_CHECKING:
    from tests.e2e.harness.upstream import Upstream


PASS_ON = Path(__file__).with_name("pass_on.py")
"""A script that streams all answers and does nothing else."""


class Proxies:
    """Starts a mitmdump where none of that configuration runs yet."""

    def __init__(self, pem: Path, confdir: Path) -> None:
        """`pem` is what the upstreams show, `confdir` the place of the authority that clients trust."""
        self._pem = pem
        self._confdir = confdir
        self._started: dict[str, Mitmdump] = {}
        self._stack = ExitStack()

    def get(self, mode: str = "regular", **options: str) -> Mitmdump:
        """The running mitmdump of this configuration."""
        key = " ".join((mode, *(f"{name}={value}" for name, value in sorted(options.items()))))
        if key not in self._started:
            self._started[key] = self._stack.enter_context(self.make(mode, **options))
        return self._started[key]

    def make(self, mode: str = "regular", **options: str) -> Mitmdump:
        """One that is not started, for a test that wants it for itself."""
        return Mitmdump(self.options | options, mode=mode, confdir=self._confdir)

    def behind_another(self, **options: str) -> Mitmdump:
        """One whose upstream is a second mitmdump without an addon of ours."""
        if "second" not in self._started:
            scripts = (PASS_ON,)
            second = Mitmdump(self.options, confdir=self._confdir, scripts=scripts)
            self._started["second"] = self._stack.enter_context(second)
        trusted = self._confdir / "mitmproxy-ca-cert.pem"
        second_url = self._started["second"].url
        return self.get(f"upstream:{second_url}", ssl_verify_upstream_trusted_ca=str(trusted), **options)

    @property
    def options(self) -> dict[str, str]:
        """What all of them need. mitmproxy's own lines on flows are off, so that what is told is ours."""
        return {"ssl_verify_upstream_trusted_ca": str(self._pem), "flow_detail": "0"}

    def close(self) -> None:
        """Stop them all."""
        self._stack.close()


def way(proxy: Mitmdump, upstream: Upstream) -> Way:
    """How clients get through `proxy` to `upstream`."""
    known = not proxy.mode.startswith("reverse:")
    return Way(upstream.port, proxy.port, proxy.ca, tls=upstream.tls is not None, known=known)


def client(version: str, path: Way) -> Client:
    """A client that speaks this version of HTTP."""
    return Http2Client(path) if version == "h2" else Http1Client(path)
