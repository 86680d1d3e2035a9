"""One proxy process: started, reconfigured and reset over a private pipe, stopped with its parent."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from toolstream_core.testing.environment import REMOVED, base_url, provider_variables, proxy_variables
from toolstream_core.testing.exchanges import Exchange, exchange_of
from toolstream_core.testing.setup import Setup

if TYPE_CHECKING:
    from toolstream_core.testing.exchanges import FoundDefect, SentCall, SentRequest

_WORKER = "toolstream_core.proxy.worker"
_START_SECONDS = 30.0
_REPLY_SECONDS = 30.0
_STOP_SECONDS = 5.0


class ProxySessionError(RuntimeError):
    """The proxy does not do what it was told, or does not run; the message is one clear line."""


class ProxySession:
    """A proxy on a free port of this machine, for as many setups, one after the other, as are wanted.

    `start` (or `with`) starts it; without it, the first use does. Nothing of it is shared with other sessions.
    """

    def __init__(
        self,
        setup: Setup | None = None,
        *,
        port: int = 0,
        log: IO[Any] | int | None = subprocess.DEVNULL,
        keep: bool = True,
    ) -> None:
        """`port` 0 is any; `log` is what the proxy prints to (`None`: this process's standard error).

        With `keep`, requests and answers are kept, in memory, until the next `reset`.
        """
        self._setup = setup or Setup()
        self._wanted_port = port
        self._log = log
        self._keep = keep
        self._process: subprocess.Popen[bytes] | None = None
        self._replies: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._port: int | None = None

    def launch(self) -> None:
        """Begin to start it; `start` waits until it is ready."""
        if self._process is not None:
            return
        self._folder = tempfile.TemporaryDirectory(prefix="toolstream-")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_environment_of_the_worker(),
        )
        weakref.finalize(self, _end, self._process)
        assert self._process.stdout is not None
        threading.Thread(target=_read, args=(self._process.stdout, self._replies), daemon=True).start()
        self._send(
            port=self._wanted_port,
            confdir=self._folder.name,
            keep=self._keep,
            network=self._setup.network,
            set=self._setup.specs(),
        )

    def start(self) -> Self:
        """Start it where it does not run yet, and wait until it listens. Raises `ProxySessionError`."""
        if self._port is None:
            self.launch()
            try:
                self._port = int(self._receive(_START_SECONDS)["port"])
            except BaseException:
                self.stop()
                raise
        return self

    def stop(self) -> None:
        """End it. It can be started again."""
        process, self._process, self._port = self._process, None, None
        if process is not None:
            _end(process)
            if process.stdout is not None:
                process.stdout.close()
        self._replies = queue.SimpleQueue()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> Self:
        """Start it."""
        return self.start()

    def __exit__(self, *raised: object) -> None:
        """Stop it."""
        self.stop()

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def setup(self) -> Setup:
        """What it does now."""
        return self._setup

    def reset(self, setup: Setup) -> None:
        """As if newly started with `setup`: open connections are closed, what was kept is gone."""
        self._order("reset", set=setup.specs(), network=setup.network)
        self._setup = setup

    def configure(self, setup: Setup) -> None:
        """Do from here on what `setup` says of repairs, shapes and faults; what was kept stays."""
        self._order("configure", set=setup.changes())
        self._setup = setup

    @property
    def port(self) -> int:
        """Where it listens on 127.0.0.1."""
        self.start()
        assert self._port is not None
        return self._port

    @property
    def proxy_url(self) -> str:
        """For `HTTPS_PROXY`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ca_file(self) -> Path:
        """The certificate authority, as PEM, that clients have to trust."""
        self.start()
        assert self._folder is not None
        return Path(self._folder.name) / "mitmproxy-ca-cert.pem"

    def base_url(self, protocol: str) -> str:
        """The base URL for a client of this protocol. Raises `ValueError` for a protocol that there is not."""
        return base_url(self.proxy_url, protocol)

    def environment(self) -> dict[str, str]:
        """The variables that lead clients here, with base URLs and keys where saved flows answer."""
        through = proxy_variables(self.proxy_url, str(self.ca_file))
        return through if self._setup.network == "all" else {**through, **provider_variables(self.proxy_url)}

    def child_environment(self) -> dict[str, str]:
        """The whole environment for a child process: this one's, changed so that clients come here."""
        removed = REMOVED if self._setup.network != "all" else ()
        return {name: value for name, value in os.environ.items() if name not in removed} | self.environment()

    def exchanges(self) -> list[Exchange]:
        """What was asked and answered since the last `reset`, once nothing is on its way, or after half a second."""
        return [exchange_of(one) for one in self._order("tell")["exchanges"]]

    def log(self) -> list[str]:
        """What the proxy told of the answers since the last `reset`."""
        lines: list[str] = self._order("tell")["log"]
        return lines

    @property
    def requests(self) -> list[SentRequest]:
        """What clients asked LLMs since the last `reset`."""
        return [one.request for one in self.exchanges() if one.request.protocol is not None]

    @property
    def calls(self) -> list[SentCall]:
        """The calls that clients were sent since the last `reset`."""
        return [call for one in self.exchanges() for call in one.calls]

    @property
    def findings(self) -> list[FoundDefect]:
        """What was wrong with the answers."""
        return [finding for one in self.exchanges() for finding in one.findings]

    def _order(self, what: str, **more: object) -> Any:
        self.start()
        with self._lock:
            self._send(do=what, **more)
            return self._receive(_REPLY_SECONDS)["done"]

    def _send(self, **order: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # then there is no reply either, and that is told
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()

    def _receive(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._replies.get(timeout=seconds)
        except queue.Empty:
            raise ProxySessionError(f"the proxy said nothing for {seconds:g} s") from None
        if line is None:
            code = self._process.wait(_STOP_SECONDS) if self._process else None
            self.stop()
            raise ProxySessionError(f"the proxy ended with code {code}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise ProxySessionError(reply["error"])
        return reply


def _environment_of_the_worker() -> dict[str, str]:
    """This process's, in which the package is found as it is here."""
    here = str(Path(__file__).resolve().parents[2])
    paths = [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def _read(replies: IO[bytes], to: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in replies:
            to.put(line)
    to.put(None)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The end of its standard input ends it; force is for what hangs."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    for end in (process.terminate, process.kill):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
            return
        end()
    process.wait()
