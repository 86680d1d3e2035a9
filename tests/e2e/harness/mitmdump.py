"""Starts and stops a real mitmdump on a free port. Knows its command line and its output only."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from toolstream_core.packaged import addon_script

type Wanted = str | Callable[[str], object]
"""A line to wait for: a regular expression, or a predicate."""


class Output:
    """The lines that a process has printed, read by a thread."""

    def __init__(self, stream: IO[str]) -> None:
        """Read `stream` to its end and close it."""
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines so far."""
        with self._changed:
            return tuple(self._lines)

    @property
    def ended(self) -> bool:
        """Whether the output has ended."""
        return self._ended

    def wait_for(self, wanted: Wanted, timeout: float, after: int = 0) -> str | None:
        """The first matching line from number `after` on, or `None` when the time or the output ends."""
        is_wanted = re.compile(wanted).search if isinstance(wanted, str) else wanted
        deadline = time.monotonic() + timeout
        at = after
        with self._changed:
            while True:
                for line in self._lines[at:]:
                    if is_wanted(line):
                        return line
                at = max(at, len(self._lines))
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    return None
                self._changed.wait(left)

    def join(self, timeout: float) -> None:
        """Wait until all output has been read."""
        self._thread.join(timeout)

    def _read(self, stream: IO[str]) -> None:
        # A pseudo-terminal returns an error, not an end of file, once the other side is closed.
        with contextlib.suppress(OSError), stream:
            for line in stream:
                self._add(line.rstrip("\r\n"))
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _add(self, line: str) -> None:
        with self._changed:
            self._lines.append(line)
            self._changed.notify_all()


type Options = Mapping[str, str | Sequence[str]]
"""Values for `--set`; a sequence becomes one `--set` for each value."""


_LISTENING = re.compile(r"listening at 127\.0\.0\.1:(\d+)\.")
# mitmdump opens its port even if it cannot load or configure a script, and then exits.
# https://github.com/mitmproxy/mitmproxy/blob/v12.2.3/mitmproxy/master.py#L60
_GIVES_UP = re.compile(r"error in script|Addon error|Errors? logged during startup")
_PROXY_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy"})
_STOP_SECONDS = 10.0


class MitmdumpError(RuntimeError):
    """An expected line or event did not occur; the message has mitmdump's output."""


def mitmdump_path() -> Path:
    """The mitmdump of this Python's environment, else the one on the search path."""
    found = shutil.which("mitmdump", path=str(Path(sys.executable).parent)) or shutil.which("mitmdump")
    if found is None:
        raise MitmdumpError("there is no mitmdump beside this Python or on the search path")
    return Path(found)


class Mitmdump:
    """A running mitmdump, as a context manager. The user's mitmproxy settings are not used.

    `scripts` is toolstream's addon script by default. `confdir` holds the certificate authority: a temporary folder
    by default. With `terminal` it prints to a pseudo-terminal. `termlog_verbosity` must stay at `info`: the port is
    read from the output. A mitmdump that is not stopped ends with this object, at the latest with this Python.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        mode: str = "regular",
        scripts: Sequence[Path] | None = None,
        confdir: Path | None = None,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        terminal: bool = False,
        timeout: float = 60.0,
    ) -> None:
        """Prepare it; `start` or `with` starts it. `env` is added to the environment."""
        self.options = dict(options or {})
        self.mode = mode
        self.scripts = (addon_script(),) if scripts is None else tuple(scripts)
        self.arguments = tuple(arguments)
        self.env = dict(env or {})
        self.terminal = terminal
        self.timeout = timeout
        self.program: Path | None = None
        """The mitmdump to start, if not that of this Python's environment."""
        self.port = 0
        self._temporary = tempfile.TemporaryDirectory(prefix="mitmdump-") if confdir is None else None
        self.confdir = Path(self._temporary.name) if self._temporary else Path(confdir or "")
        self._process: subprocess.Popen[str] | None = None
        self._output: Output | None = None

    @property
    def url(self) -> str:
        """The URL of the proxy."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ca(self) -> Path:
        """The certificate authority for clients."""
        return self.confdir / "mitmproxy-ca-cert.pem"

    @property
    def pid(self) -> int | None:
        """The process id, once it was started."""
        return self._process.pid if self._process else None

    @property
    def output(self) -> tuple[str, ...]:
        """The lines that mitmdump has printed so far, on stdout and stderr."""
        return self._output.lines if self._output else ()

    def wait_for(self, wanted: Wanted, timeout: float = 60.0, *, after: int = 0) -> str:
        """Wait for the first matching line from number `after` on."""
        line = self._output.wait_for(wanted, timeout, after) if self._output else None
        if line is None:
            raise self._failure(f"no line matched {wanted!r}")
        return line

    def start(self) -> Self:
        """Start it and wait until it listens. If it exits instead, the error has its output."""
        self._process, stream = self._spawn()
        weakref.finalize(self, _end, self._process)
        self._output = Output(stream)
        try:
            self.port = self._listen()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> int | None:
        """End it and read the rest of its output. Returns the exit code, or `None` if it never ran."""
        code = _end(self._process) if self._process else None
        if self._output:
            self._output.join(_STOP_SECONDS)
        if self._temporary:
            self._temporary.cleanup()
        return code

    def __enter__(self) -> Self:
        """Start it."""
        return self.start()

    def __exit__(self, *raised: object) -> None:
        """Stop it."""
        self.stop()

    def _listen(self) -> int:
        found = _LISTENING.search(self.wait_for(_LISTENING.pattern, self.timeout))
        port = int(found[1]) if found else 0
        if self._output and any(_GIVES_UP.search(line) for line in self.output):
            self._output.join(self.timeout)
            raise self._failure("it exited while starting")
        return port

    def _failure(self, what: str) -> MitmdumpError:
        how = "is still running"
        if self._process and self._output and self._output.ended:
            how = f"ended with code {self._process.wait(_STOP_SECONDS)}"
        printed = "\n".join(self.output) or "(it printed nothing)"
        return MitmdumpError(f"{what}; mitmdump {how}:\n{printed}")

    def _command(self) -> list[str]:
        listen = ["--mode", self.mode, "--listen-host", "127.0.0.1", "--listen-port", "0"]
        command = [str(self.program or mitmdump_path()), *listen, "--set", f"confdir={self.confdir}"]
        for name, value in self.options.items():
            for item in (value,) if isinstance(value, str) else value:
                command += ["--set", f"{name}={item}"]
        for script in self.scripts:
            command += ["-s", str(script)]
        return [*command, *self.arguments]

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.lower() not in _PROXY_VARIABLES}
        return {**kept, "PYTHONUNBUFFERED": "1", **self.env}

    def _spawn(self) -> tuple[subprocess.Popen[str], IO[str]]:
        reading, writing = os.openpty() if self.terminal else os.pipe()
        try:
            process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                env=self._environment(),
                text=True,
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return process, os.fdopen(reading, encoding="utf-8", errors="replace")


def _end(process: subprocess.Popen[str]) -> int:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(_STOP_SECONDS)
    process.kill()
    return process.wait()
