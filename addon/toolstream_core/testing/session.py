"""A proxy in a separate process, for tests and commands, and the base URLs that it forwards."""

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
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

from toolstream_core.errors import ToolstreamError
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.testing.environment import (
    JAVA_OPTIONS,
    REMOVED,
    Setup,
    authorities,
    base_url,
    java_options,
    provider_variables,
    proxy_variables,
    trust_store,
)
from toolstream_core.testing.exchanges import ProxiedExchange, proxied_exchange
from toolstream_core.testing.understanding import Passed, passed_of

_LISTENING_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - replaced, not bound


class Place(NamedTuple):
    """The parts of a proxy's base URL other than its address."""

    login: str
    """`USER:PASSWORD@` if the real base URL has that; else empty."""
    path: str
    """Begins with the name of a route."""


@dataclass(frozen=True, slots=True)
class Routes:
    """The destinations of requests to the proxy itself."""

    origins: Mapping[str, str]
    """The server by the first part of a path, and the base URL by protocol."""
    places: Mapping[str, Place]
    """The place for each base-URL variable."""

    def variables(self, proxy: str) -> dict[str, str]:
        """The base-URL variables, as clients of the proxy at this URL need them."""
        scheme, _, host = proxy.partition("://")
        return {name: f"{scheme}://{place.login}{host}{place.path}" for name, place in self.places.items()}


def routes(environment: Mapping[str, str], base_url: str | None = None) -> Routes:
    """Forward each base-URL variable to its value in `environment`, else to the provider of its protocol.

    `base_url` replaces all of them. Raises `ToolstreamError` for a value that is not an HTTP address.
    Requests that are signed with their address are not forwarded: the signature would be wrong.
    """
    origins: dict[str, str] = {}
    places: dict[str, Place] = {}
    for protocol in PROTOCOLS:
        api = protocol.api
        if api.signs_address:
            continue
        for variable in api.base_url_variables:
            known = base_url or environment.get(variable) or api.server + api.base_path
            origin, login, path = _parts(known, "--base-url" if base_url else variable, api.port)
            slug = variable.lower().replace("_", "-")
            origins[slug] = origin
            origins.setdefault(protocol.name, origin + path)
            places.setdefault(variable, Place(login, f"/{slug}{path}"))
    return Routes(origins, places)


def _parts(url: str, what: str, port: int | None) -> tuple[str, str, str]:
    """Origin, login and path of a base URL, which may lack its scheme, like `OLLAMA_HOST`."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        given = parts.port
    except ValueError:
        given = 0
    if parts.scheme not in {"http", "https"} or not parts.hostname or given == 0:
        raise ToolstreamError(f"{what} is not an http or https URL")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    host = _LISTENING_ANYWHERE.get(host, host)
    if given is None and "://" not in url:
        given = port
    login, at, _ = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{host}{'' if given is None else f':{given}'}", login + at, parts.path.rstrip("/")


_MODULE = "toolstream_core.proxy.worker"
_ERRORS = "errors.txt"
_REPLY_SECONDS = 30.0
_STOP_SECONDS = 5.0


class ProxySessionError(ToolstreamError):
    """The proxy does not run, or does not follow its options; the message is one clear line."""


class WorkerProcess:
    """One process, from its start to its end, and the folder that it may write to."""

    def __init__(self, log: IO[Any] | int | None, folder: str | None = None) -> None:
        """Start it, with a new folder if none is given; the process removes it at its end.

        `log` receives its output; with `DEVNULL`, the output is kept for the error about its end.
        """
        self._made = tempfile.TemporaryDirectory(prefix="toolstream-") if folder is None else None
        self.folder = Path(self._made.name if self._made is not None else str(folder))
        self._errors = self.folder / _ERRORS
        errors = self._errors.open("wb") if log == subprocess.DEVNULL else log
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=_environment(),
            start_new_session=True,  # a terminal's signals (Ctrl-C, Ctrl-Z, a hang-up) are for the foreground command
        )
        if isinstance(errors, BufferedWriter):
            errors.close()
        weakref.finalize(self, _end, self._process)
        self._replies: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        assert self._process.stdout is not None
        threading.Thread(target=_read, args=(self._process.stdout, self._replies), daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def send(self, **order: object) -> None:
        """Send an order; each has one reply."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # the missing reply is reported
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next reply. Raises `ProxySessionError` for an error, or without a reply."""
        try:
            line = self._replies.get(timeout=_REPLY_SECONDS)
        except queue.Empty:
            raise ProxySessionError(f"the proxy did not respond for {_REPLY_SECONDS:g} s") from None
        if line is None:
            code = self._process.wait(_STOP_SECONDS)
            raise ProxySessionError(f"the proxy exited with code {code}{self._last_words()}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise ProxySessionError(reply["error"])
        return reply

    def end(self) -> None:
        _end(self._process)
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._made is not None:
            self._made.cleanup()

    def _last_words(self) -> str:
        """The last printed line of the process, if its output was kept."""
        lines = self._errors.read_text(errors="replace").split("\n") if self._errors.exists() else []
        return next((f": {line.strip()}" for line in reversed(lines) if line.strip()), "")


def _environment() -> dict[str, str]:
    """The environment of this process, with the same import path for the package."""
    here = str(Path(__file__).resolve().parents[2])
    paths = [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def _read(replies: IO[bytes], to: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in replies:
            to.put(line)
    to.put(None)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Closing its standard input ends it; if it hangs, it is killed."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    for end in (process.terminate, process.kill):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
            return
        end()
    process.wait()


class ProxySession:
    """A proxy on a free port of this machine, for any number of setups, one after the other.

    `start` (or `with`) starts it; otherwise the first use does. It shares nothing with other sessions.
    """

    def __init__(
        self,
        setup: Setup | None = None,
        *,
        port: int = 0,
        log: IO[Any] | int | None = subprocess.DEVNULL,
        keep: bool = True,
        routes: Routes | None = None,
        folder: str | None = None,
    ) -> None:
        """`port` 0 is any; `log` receives the proxy's output (`None`: this process's standard error).

        With `DEVNULL`, the output is kept until its end, for the error about it.

        With `keep`, requests and responses are kept, in memory, until the next `reset`; else they are counted.

        With `routes`, base URLs name the proxy, which forwards. `folder` is the proxy's own while it runs, and it
        removes it when it ends; one is made if none is given.
        """
        self._setup = setup or Setup()
        self._wanted_port = port
        self._log = log
        self._keep = keep
        self._routes = routes
        self._folder = folder
        self._worker: WorkerProcess | None = None
        self._lock = threading.Lock()
        self._port: int | None = None
        self.view_address: str | None = None
        """The address of the live view, if it is on."""

    def launch(self) -> None:
        """Begin to start it; `start` waits until it is ready."""
        if self._worker is None:
            self._worker = WorkerProcess(self._log, self._folder)
            self._worker.send(
                port=self._wanted_port,
                confdir=str(self._worker.folder),
                keep=self._keep,
                network=self._setup.network,
                routes={} if self._routes is None else dict(self._routes.origins),
                set=self._specs(),
            )

    def start(self) -> Self:
        """Start it if it does not run yet, and wait until it listens. Raises `ProxySessionError`."""
        if self._port is None:
            self.launch()
            assert self._worker is not None
            try:
                started = self._worker.receive()
                self._port, self.view_address = int(started["port"]), started["view"]
            except BaseException:
                self.stop()
                raise
        return self

    def stop(self) -> None:
        """End it. It can be started again."""
        worker, self._worker, self._port = self._worker, None, None
        if worker is not None:
            worker.end()

    def accompany(self, pid: int | None) -> None:
        """Make the proxy end this process if the starter of the proxy is killed; `None`: no process.

        Does nothing if the proxy has ended.
        """
        if self.running:
            with contextlib.suppress(ProxySessionError):
                self._order("accompany", pid=pid)

    def finish(self) -> Passed:
        """Close all connections for good, and return the counts since the start.

        For a session with `keep=False`: one that keeps requests and responses does not count them.
        """
        if self._worker is None:
            raise ProxySessionError("the proxy ended before the command did")
        return passed_of(self._order("finish"))

    def view_page(self) -> str:
        """The live view as a page, after `finish`."""
        page: str = self._order("view", idle=None)
        return page

    def keep_view(self, idle: float) -> None:
        """Serve the live view, after `finish`, until no viewer has been connected for `idle` seconds."""
        self._order("view", idle=idle)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        return self._worker is not None and self._worker.running

    @property
    def setup(self) -> Setup:
        return self._setup

    def reset(self, setup: Setup) -> None:
        """Start over with `setup`: open connections are closed, kept requests and responses are discarded."""
        self._order("reset", set=setup.specs(), network=setup.network, understood=setup.understood)
        self._setup = setup

    def configure(self, setup: Setup) -> None:
        """Use the repairs, shapes and faults of `setup` from now on; earlier exchanges stay."""
        self._order("configure", set=setup.changes())
        self._setup = setup

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        self.start()
        assert self._port is not None
        return self._port

    @property
    def proxy_url(self) -> str:
        """The value of `HTTPS_PROXY`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ca_file(self) -> Path:
        """The certificate authority, as PEM, that clients have to trust."""
        self.start()
        assert self._worker is not None
        return self._worker.folder / "mitmproxy-ca-cert.pem"

    def base_url(self, protocol: str) -> str:
        """The base URL for a client of this protocol. Raises `ValueError` for an unknown protocol."""
        return base_url(self.proxy_url, protocol)

    def environment(self) -> dict[str, str]:
        """The variables that direct clients to this proxy, with base URLs and keys if saved flows respond."""
        if self._setup.network == "all":
            ca_file = _bundle(self.ca_file)
            addresses = {} if self._routes is None else self._routes.variables(self.proxy_url)
        else:
            ca_file = self.ca_file
            addresses = provider_variables(self.proxy_url)
        options = java_options(self.proxy_url, _java_store(ca_file), os.environ.get(JAVA_OPTIONS, ""))
        return {**proxy_variables(self.proxy_url, str(ca_file)), JAVA_OPTIONS: options, **addresses}

    def child_environment(self) -> dict[str, str]:
        """The environment for a child process: this one's, changed to direct clients to the proxy."""
        removed = REMOVED if self._setup.network != "all" else ()
        return {name: value for name, value in os.environ.items() if name not in removed} | self.environment()

    def exchanges(self, *, bodies: bool = False) -> list[ProxiedExchange]:
        """The exchanges since the last `reset`, when no response is open, or after 0.5 s.

        With `bodies`, they also have the events that the client received.
        """
        return [proxied_exchange(one) for one in self._order("exchanges", bodies=bodies)["exchanges"]]

    def log(self) -> list[str]:
        """The proxy's report on the responses since the last `reset`."""
        lines: list[str] = self._order("exchanges")["log"]
        return lines

    def distrust(self) -> dict[str, bool]:
        """The servers whose certificate clients rejected since the last `reset`; `False`: they may have."""
        found: dict[str, bool] = self._order("distrust")
        return found

    def _specs(self) -> list[str]:
        """The options at its start."""
        assert self._worker is not None
        more = {}
        if self._setup.network == "all":
            trusted = self._worker.folder / "upstream-ca.pem"
            trusted.write_bytes(authorities(os.environ))
            more["ssl_verify_upstream_trusted_ca"] = str(trusted)
        if self._routes is not None:
            more["connection_strategy"] = "lazy"  # clients may ask the proxy to connect to itself
        return [
            *self._setup.specs(),
            *(f"{name}={value}" for name, value in more.items() if name not in self._setup.options),
        ]

    def _order(self, what: str, **more: object) -> Any:
        self.start()
        assert self._worker is not None
        with self._lock:
            self._worker.send(do=what, **more)
            try:
                return self._worker.receive()["done"]
            finally:
                if not self._worker.running:
                    self.stop()


def _bundle(ca_file: Path) -> Path:
    """The authority together with the trusted ones, for clients that also connect without the proxy."""
    bundle = ca_file.with_name("ca-bundle.pem")
    if not bundle.exists():
        bundle.write_bytes(authorities(os.environ) + b"\n" + ca_file.read_bytes())
    return bundle


def _java_store(ca_file: Path) -> Path:
    """The same authorities, in Java's format."""
    store = ca_file.with_suffix(".jks")
    if not store.exists():
        store.write_bytes(trust_store(ca_file.read_text("utf-8", "replace")))
    return store
