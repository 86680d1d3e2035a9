"""The mitmdumps that tests share: one for each configuration, all with one certificate authority."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.harness.client import Client, Edit
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
    """Starts a mitmdump where none of that configuration runs yet."""

    def __init__(self, pem: Path, confdir: Path) -> None:
        """`pem` is what the upstreams show, `confdir` the place of the authority that clients trust."""
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
        """One that is not started, for a test that wants it for itself.

        Where no program is named, it will be a fork of a process that has imported mitmdump already.
        """
        settings = self.options | dict(options or {})
        kind = PreloadedMitmdump if CAN_FORK and program is None else Mitmdump
        made = kind(settings, mode=mode, confdir=self._confdir, env=env, terminal=terminal, scripts=scripts)
        if isinstance(made, PreloadedMitmdump):
            made.preloaded = self._preloaded
        made.program = program
        return made

    def telling(self) -> tuple[Mitmdump, Tap]:
        """One that tells JSON lines, and what reads them."""
        tap = self.tap("told")
        return self.get(toolstream_jsonl=str(tap.path)), tap

    def tap(self, name: str) -> Tap:
        """What reads the JSON lines that are written to its path."""
        if name not in self._taps:
            self._taps[name] = Tap(self._confdir / f"{name}.jsonl")
            self._stack.callback(self._taps[name].close)
        return self._taps[name]

    def without_ours(self) -> Mitmdump:
        """One that only streams, without an addon of ours."""
        return self._scripted(HERE / "pass_on.py")

    def sabotaged(self) -> Mitmdump:
        """One in which the functions fail that a request names."""
        return self._scripted(addon_script(), HERE / "saboteur.py")

    def _scripted(self, *scripts: Path) -> Mitmdump:
        key = " ".join(map(str, scripts))
        if key not in self._started:
            self._started[key] = self._stack.enter_context(self.make(scripts=scripts))
        return self._started[key]

    def behind_another(self, **options: str | Sequence[str]) -> Mitmdump:
        """One whose upstream is a second mitmdump without an addon of ours."""
        trusted = self._confdir / "mitmproxy-ca-cert.pem"
        second = self.without_ours().url
        return self.get(f"upstream:{second}", ssl_verify_upstream_trusted_ca=str(trusted), **options)

    @property
    def options(self) -> dict[str, str]:
        """What all of them need. mitmproxy's own lines on flows are off, so that what is told is ours."""
        return {"ssl_verify_upstream_trusted_ca": str(self._pem), "flow_detail": "0"}

    def close(self) -> None:
        """Stop them all, at the same time: each takes its while."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(Mitmdump.stop, self._started.values()))
        self._stack.close()


def way(proxy: Mitmdump, upstream: Upstream) -> Edit:
    """How clients get through `proxy` to `upstream`."""
    known = not proxy.mode.startswith("reverse:")
    return Edit(upstream.port, proxy.port, proxy.ca, tls=upstream.tls is not None, known=known)


def client(version: str, path: Edit) -> Client:
    """A client that speaks this version of HTTP."""
    return Http2Client(path) if version == "h2" else Http1Client(path)
