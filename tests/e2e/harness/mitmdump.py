"""Starts and stops a real mitmdump on a free port. Knows its command line and what it prints, no more."""

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
"""A line that is waited for: a regular expression searched in it, or what is true of it."""


class Output:
    """The lines a process has printed so far, read by a thread, and waiting for more of them."""

    def __init__(self, stream: IO[str]) -> None:
        """Read `stream` to its end and close it."""
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    @property
    def lines(self) -> tuple[str, ...]:
        """What was printed so far."""
        with self._changed:
            return tuple(self._lines)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._ended

    def wait_for(self, wanted: Wanted, timeout: float, after: int = 0) -> str | None:
        """The first line from number `after` on that is wanted; `None` when time or the output ends first."""
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
        """Wait until all that was printed has been read."""
        self._thread.join(timeout)

    def _read(self, stream: IO[str]) -> None:
        # A pseudo-terminal answers with an error, not with the end of file, once the other side has gone.
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
"""Values for `--set`; a sequence becomes one `--set` a value."""


_LISTENING = re.compile(r"listening at 127\.0\.0\.1:(\d+)\.")
# mitmdump opens its port even with a script that it cannot load or configure, and only then gives up.
# https://github.com/mitmproxy/mitmproxy/blob/v12.2.3/mitmproxy/master.py#L60
_GIVES_UP = re.compile(r"error in script|Addon error|Errors? logged during startup")
_PROXY_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy"})
_STOP_SECONDS = 10.0


class MitmdumpError(RuntimeError):
    """mitmdump did not do what was waited for; the message carries what it printed."""


def mitmdump_path() -> Path:
    """The mitmdump of this Python's environment, else the one on the search path."""
    found = shutil.which("mitmdump", path=str(Path(sys.executable).parent)) or shutil.which("mitmdump")
    if found is None:
        raise MitmdumpError("there is no mitmdump beside this Python or on the search path")
    return Path(found)


class Mitmdump:
    """A running mitmdump, as a context manager; nothing of the user's own mitmproxy settings is touched.

    `scripts` is the toolstream door where nothing else is said. `confdir` holds the certificate authority:
    a new one each time, in a folder that goes away again, unless a folder is given. `terminal` lets it print to
    a pseudo-terminal. `termlog_verbosity` has to stay at `info`: the port is read from what mitmdump says.
    One that nobody stops ends with this object, at the latest with this Python.
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
        """Take the settings; `start` or `with` starts it. `env` is added to this process's environment."""
        self.options = dict(options or {})
        self.mode = mode
        self.scripts = (addon_script(),) if scripts is None else tuple(scripts)
        self.arguments = tuple(arguments)
        self.env = dict(env or {})
        self.terminal = terminal
        self.timeout = timeout
        self.program: Path | None = None
        """The mitmdump to start, where it is another than that of this Python's environment."""
        self.port = 0
        self._temporary = tempfile.TemporaryDirectory(prefix="mitmdump-") if confdir is None else None
        self.confdir = Path(self._temporary.name) if self._temporary else Path(confdir or "")
        self._process: subprocess.Popen[str] | None = None
        self._output: Output | None = None

    @property
    def url(self) -> str:
        """Where clients find the proxy."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ca(self) -> Path:
        """The certificate authority that clients have to trust."""
        return self.confdir / "mitmproxy-ca-cert.pem"

    @property
    def pid(self) -> int | None:
        """The process, once it was started."""
        return self._process.pid if self._process else None

    @property
    def output(self) -> tuple[str, ...]:
        """The lines that mitmdump has printed so far, errors among them."""
        return self._output.lines if self._output else ()

    def wait_for(self, wanted: Wanted, timeout: float = 60.0, *, after: int = 0) -> str:
        """The first printed line from number `after` on that is wanted, waiting for it if need be."""
        line = self._output.wait_for(wanted, timeout, after) if self._output else None
        if line is None:
            raise self._failure(f"no line matched {wanted!r}")
        return line

    def start(self) -> Self:
        """Start it and wait until it listens; where it ends instead, the error carries what it said."""
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
        """End it, read the rest of what it prints and give its exit code; `None` if it never ran."""
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
            raise self._failure("it gave up while starting")
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
            for one in (value,) if isinstance(value, str) else value:
                command += ["--set", f"{name}={one}"]
        for script in self.scripts:
            command += ["-s", str(script)]
        return [*command, *self.arguments]

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.lower() not in _PROXY_VARIABLES}
        return {**kept, "PYTHONUNBUFFERED": "1", **self.env}

    def _spawn(self) -> tuple[subprocess.Popen[str], IO[str]]:
        ours, theirs = os.openpty() if self.terminal else os.pipe()
        try:
            process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                env=self._environment(),
                text=True,
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return process, os.fdopen(ours, encoding="utf-8", errors="replace")


def _end(process: subprocess.Popen[str]) -> int:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(_STOP_SECONDS)
    process.kill()
    return process.wait()
