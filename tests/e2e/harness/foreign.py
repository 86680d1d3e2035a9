"""Clients in other languages: `scripts/clients` builds them, and a test lets them read one response at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tests.e2e.harness.script import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BUILDING = 600.0
"""Seconds that a build may take while others run, including the download of packages."""
FOLDER = Path(__file__).parents[1] / "foreign"
ENVIRONMENT = Path(__file__).parents[3] / ".clients"
"""The virtual environment of the Python clients."""

SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Java options that shorten the start: the process ends before the second compiler would pay off."""


class Toolchain(NamedTuple):
    """The clients of a language: a program that reads requests and writes results as JSON lines (see clients.mjs)."""

    name: str
    """Also the name of its folder."""
    needs: tuple[str, ...]
    """The commands that it needs to be built and run."""
    build: tuple[str, ...]
    run: tuple[str, ...]
    sources: tuple[str, ...]
    """Patterns of the files that it is built from."""

    @property
    def folder(self) -> Path:
        """The working directory of its build and its program."""
        return FOLDER / self.name

    @property
    def unavailable(self) -> str | None:
        """Why the clients cannot run, or `None`."""
        missing = [command for command in self.needs if shutil.which(command) is None]
        if missing:
            return f"there is no {missing[0]}"
        return None if self.is_built else f"the {self.name} clients are not built: run scripts/clients"

    @property
    def is_built(self) -> bool:
        """Whether the build is of the current sources."""
        return self._stamp.is_file() and self._stamp.read_text() == self._state()

    def make(self) -> str:
        """Build the clients if necessary and possible. Returns the outcome in a few words."""
        reason = self.unavailable
        if reason is None:
            return "built already"
        if any(shutil.which(command) is None for command in self.needs):
            return f"left out: {reason}"
        try:
            done = subprocess.run(
                self.build, cwd=self.folder, capture_output=True, text=True, check=False, timeout=BUILDING
            )
        except subprocess.TimeoutExpired:
            return f"left out: {' '.join(self.build[:2])} took longer than {BUILDING:g} s"
        if done.returncode:
            errors = [line.strip() for line in (done.stdout + done.stderr).splitlines() if "error" in line.lower()]
            return f"left out: {' '.join(self.build[:2])} failed: {errors[0] if errors else done.returncode}"
        self._stamp.write_text(self._state())
        return "built"

    @property
    def _stamp(self) -> Path:
        return self.folder / ".built"

    def _state(self) -> str:
        files = sorted({path for pattern in self.sources for path in self.folder.glob(pattern)})
        return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


TOOLCHAINS = (
    Toolchain(
        "javascript",
        ("node", "npm"),
        ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"),
        ("node", "clients.mjs"),
        ("package-lock.json",),
    ),
    Toolchain(
        "java",
        ("java", "mvn"),
        ("mvn", "-q", "-B", "package"),
        ("java", *SHORT_LIVED, "-jar", "target/clients.jar"),
        ("pom.xml", "src/**/*.java"),
    ),
    Toolchain(
        "rust",
        ("cargo", "cc"),
        ("cargo", "build", "--locked", "--quiet"),
        ("target/debug/clients",),
        ("Cargo.toml", "Cargo.lock", "src/*.rs"),
    ),
    Toolchain(
        "python",
        ("sh",),
        ("sh", "build", sys.executable, str(ENVIRONMENT)),
        (str(ENVIRONMENT / "bin" / "python"), "clients.py"),
        ("build", "../../../clients/locks/openai-agents.txt"),
    ),
)


class Client(NamedTuple):
    """One way to use a library of another language."""

    toolchain: str
    name: str
    protocol: str
    finish: str
    """The finish reason that it returns for a turn with tool calls."""

    def __str__(self) -> str:
        """The id of its test."""
        return f"{self.toolchain} {self.name}"


CLIENTS = (
    Client("javascript", "openai chat.stream", "openai-chat", "tool_calls"),
    Client("javascript", "ai openai-compatible", "openai-chat", "tool-calls"),
    Client("javascript", "ai openai.chat", "openai-chat", "tool-calls"),
    Client("javascript", "ai openrouter", "openai-chat", "tool-calls"),
    Client("javascript", "langchain chat", "openai-chat", "tool_calls"),
    Client("javascript", "openai responses.stream", "openai-responses", "completed"),
    Client("javascript", "ai openai.responses", "openai-responses", "tool-calls"),
    Client("javascript", "langchain responses", "openai-responses", "completed"),
    Client("javascript", "anthropic messages.stream", "anthropic", "tool_use"),
    Client("javascript", "ai anthropic", "anthropic", "tool-calls"),
    Client("javascript", "google-genai", "gemini", "STOP"),
    Client("javascript", "ai google", "gemini", "tool-calls"),
    Client("javascript", "ollama", "ollama", "stop"),
    Client("java", "openai chat", "openai-chat", "tool_calls"),
    Client("java", "langchain4j chat", "openai-chat", "TOOL_EXECUTION"),
    Client("java", "openai responses", "openai-responses", "completed"),
    Client("java", "anthropic", "anthropic", "tool_use"),
    Client("java", "google-genai", "gemini", "STOP"),
    Client("rust", "async-openai chat", "openai-chat", "tool_calls"),
    Client("rust", "genai chat", "openai-chat", "tool_calls"),
    Client("rust", "async-openai responses", "openai-responses", "completed"),
    Client("rust", "genai anthropic", "anthropic", "tool_use"),
)


class SocketClient(NamedTuple):
    """One way to send requests over a WebSocket with a library of another language or another Python environment."""

    toolchain: str
    name: str
    protocol: str
    lanes: int = 1
    """The number of concurrent responses on one socket."""
    compressions: tuple[bool, ...] = (True, False)
    """The settings to test: with and without an offer of permessage-deflate."""

    def __str__(self) -> str:
        """The id of its test."""
        return f"{self.toolchain} {self.name}"


SOCKET_CLIENTS = (
    SocketClient("javascript", "openai responses.connect", "openai-responses", lanes=2),
    SocketClient("javascript", "openai realtime", "openai-realtime", lanes=2),
    SocketClient("javascript", "agents responses", "openai-responses"),
    SocketClient("python", "agents responses", "openai-responses", compressions=(True,)),
)


class Program:
    """The running program of a toolchain."""

    def __init__(self, toolchain: Toolchain, ca: Path) -> None:
        """`ca` is the certificate authority that it trusts."""
        env = os.environ | {"CLIENTS_CA": str(ca), "NODE_EXTRA_CA_CERTS": str(ca), "NO_PROXY": "*"}
        self._process = subprocess.Popen(
            toolchain.run,
            cwd=toolchain.folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def request(
        self, client: str, url: str, model: str, headers: Mapping[str, str], tools: Sequence[Any], **more: Any
    ) -> dict[str, Any]:
        """Let the client read a response. Returns its `calls` (name, arguments, id) and `finish`, or an `error`.

        Over a WebSocket, `more` has the number of `responses` to request, the number of concurrent `lanes`, and
        whether to use `compressed` messages. The calls (name, arguments) of each response are in `responses`.
        """
        assert self._process.stdin is not None
        request = {"client": client, "url": url, "model": model, "headers": dict(headers), "tools": tools, **more}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._lines.get(timeout=PATIENCE)
        assert line, f"the program ended with {self._process.wait(PATIENCE)}"
        result: dict[str, Any] = json.loads(line)
        return result

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def __enter__(self) -> Self:
        """The program already runs."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close its input and wait for its end."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(PATIENCE)
        self._thread.join(PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()


class Programs:
    """The programs of all toolchains. Each starts at its first use."""

    def __init__(self, ca: Path) -> None:
        """`ca` is the certificate authority that they trust."""
        self._ca = ca
        self._started: dict[str, Program] = {}
        self._stack = contextlib.ExitStack()

    def request(self, toolchain: str, *request: Any, **more: Any) -> dict[str, Any]:
        """`Program.request` of this toolchain."""
        if toolchain not in self._started:
            found = next(one for one in TOOLCHAINS if one.name == toolchain)
            self._started[toolchain] = self._stack.enter_context(Program(found, self._ca))
        return self._started[toolchain].request(*request, **more)

    def __enter__(self) -> Self:
        """The programs start later."""
        return self

    def __exit__(self, *raised: object) -> None:
        """End all programs."""
        self._stack.close()


@cache
def unavailable(toolchain: str) -> str | None:
    """Why the clients of a toolchain cannot run, or `None`."""
    return next(one.unavailable for one in TOOLCHAINS if one.name == toolchain)


def make_all() -> None:
    """Build all at the same time: each waits for the network or for one processor most of the time."""
    with ThreadPoolExecutor() as pool:
        for one, outcome in zip(TOOLCHAINS, pool.map(Toolchain.make, TOOLCHAINS), strict=True):
            print(f"clients: {one.name}: {outcome}")  # noqa: T201 - a program


if __name__ == "__main__":
    make_all()
