"""The mitmdumps that the tests share: one for each configuration, all with the same certificate authority."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.harness.client import Client, Route
from tests.e2e.harness.client1 import Http1Client
from tests.e2e.harness.client2 import Http2Client
from tests.e2e.harness.mitmdump import Mitmdump
from tests.e2e.harness.preloaded import CAN_FORK, Preloaded, PreloadedMitmdump
from tests.e2e.harness.tap import Tap
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.harness.upstream import Upstream


HERE = Path(__file__).parent


class Proxies:
    """Starts one mitmdump for each configuration."""

    def __init__(self, pem: Path, confdir: Path) -> None:
        """`pem` is the certificate of the upstreams, `confdir` the folder of the authority that clients trust."""
        self._pem = pem
        self._confdir = confdir
        self._started: dict[str, Mitmdump] = {}
        self._taps: dict[str, Tap] = {}
        self._stack = ExitStack()
        self._preloaded = self._stack.enter_context(Preloaded())

    def get(self, mode: str = "regular", **options: str | Sequence[str]) -> Mitmdump:
        """The running mitmdump of this configuration."""
        key = " ".join((mode, *(f"{name}={value}" for name, value in sorted(options.items()))))
        if key not in self._started:
            self._started[key] = self._stack.enter_context(self.make(options, mode=mode))
        return self._started[key]

    def make(
        self,
        options: Mapping[str, str | Sequence[str]] | None = None,
        *,
        mode: str = "regular",
        env: Mapping[str, str] | None = None,
        terminal: bool = False,
        scripts: Sequence[Path] | None = None,
        program: Path | None = None,
    ) -> Mitmdump:
        """A mitmdump that is not shared and not started yet.

        Without `program` it will be a fork of a process that has already imported mitmdump.
        """
        settings = self.options | dict(options or {})
        kind = PreloadedMitmdump if CAN_FORK and program is None else Mitmdump
        proxy = kind(settings, mode=mode, confdir=self._confdir, env=env, terminal=terminal, scripts=scripts)
        if isinstance(proxy, PreloadedMitmdump):
            proxy.preloaded = self._preloaded
        proxy.program = program
        return proxy

    def with_jsonl(self) -> tuple[Mitmdump, Tap]:
        """A mitmdump that writes JSON lines, and their reader."""
        tap = self.tap("lines")
        return self.get(toolstream_jsonl=str(tap.path)), tap

    def tap(self, name: str) -> Tap:
        """The reader of the JSON lines that a mitmdump writes to its path."""
        if name not in self._taps:
            self._taps[name] = Tap(self._confdir / f"{name}.jsonl")
            self._stack.callback(self._taps[name].close)
        return self._taps[name]

    def without_toolstream(self) -> Mitmdump:
        """A mitmdump that streams responses, without toolstream."""
        return self._scripted(HERE / "pass_on.py")

    def sabotaged(self) -> Mitmdump:
        """A mitmdump in which a request can make a function fail."""
        return self._scripted(addon_script(), HERE / "saboteur.py")

    def _scripted(self, *scripts: Path) -> Mitmdump:
        key = " ".join(map(str, scripts))
        if key not in self._started:
            self._started[key] = self._stack.enter_context(self.make(scripts=scripts))
        return self._started[key]

    def chained(self, **options: str | Sequence[str]) -> Mitmdump:
        """A mitmdump whose upstream is a second mitmdump, without toolstream."""
        trusted = self._confdir / "mitmproxy-ca-cert.pem"
        second = self.without_toolstream().url
        return self.get(f"upstream:{second}", ssl_verify_upstream_trusted_ca=str(trusted), **options)

    @property
    def options(self) -> dict[str, str]:
        """The options of all mitmdumps. mitmproxy's own lines about flows are off."""
        return {"ssl_verify_upstream_trusted_ca": str(self._pem), "flow_detail": "0"}

    def close(self) -> None:
        """Stop all mitmdumps at the same time: each takes a moment."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(Mitmdump.stop, self._started.values()))
        self._stack.close()


def route(proxy: Mitmdump, upstream: Upstream) -> Route:
    """The route of a client through `proxy` to `upstream`."""
    known = not proxy.mode.startswith("reverse:")
    return Route(upstream.port, proxy.port, proxy.ca, tls=upstream.tls is not None, known=known)


def client(version: str, path: Route) -> Client:
    """A client of this HTTP version."""
    return Http2Client(path) if version == "h2" else Http1Client(path)
