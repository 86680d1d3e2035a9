"""A client under check: its command, its runs through a proxy, and copies of its working directory."""

from __future__ import annotations

import contextlib
import io
import os
import queue
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Self

from toolstream_core.agents import Upstream, launch
from toolstream_core.errors import ToolstreamError
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.redact import redacted
from toolstream_core.saved.exchange import UnreadableError
from toolstream_core.saved.flowfile import responses_in
from toolstream_core.synthetic.responses import MODEL
from toolstream_core.testing import ProxySession, ProxySessionError, Setup
from toolstream_core.testing.exchanges import ProxiedExchange, to_llms
from toolstream_core.view.assemble import document_text
from toolstream_core.view.document import ViewBuilder

_MOST_CAPTURED: Final = 8 * 1024 * 1024
"""Bytes of the flow files of a run that are kept."""
_SHARED: Final = ("models", "projects", "defects")
"""Keys of documents whose values mean the same in all of them."""
_MOST: Final = 32 * 1024 * 1024
"""Characters of all documents."""


def captured_files(folder: Path) -> tuple[bytes, ...]:
    """The flow files in a folder, the oldest first; none if they are too long."""
    paths = sorted(folder.rglob("*.flow"))
    if sum(path.stat().st_size for path in paths) > _MOST_CAPTURED:
        return ()
    return tuple(path.read_bytes() for path in paths)


class Sessions:
    """The session view's documents of a client's failed cases, up to a limit."""

    def __init__(self) -> None:
        self._cases: dict[str, dict[str, Any]] = {}
        self._shared: dict[str, dict[str, Any]] = {key: {} for key in _SHARED}
        self._left = _MOST

    @property
    def object(self) -> dict[str, Any]:
        """In the form of the page: the shared parts of documents, and `cases`, the rest of each by case id."""
        return {**self._shared, "cases": self._cases}

    def add(self, identity: str, captured: Iterable[bytes]) -> None:
        """Keep the document of a case if it has a response and is not too long."""
        builder = ViewBuilder()
        try:
            responses = (one for data in captured for one in responses_in(io.BytesIO(data), identity))
            for number, saved in enumerate(responses):
                builder.take(replace(saved, facts=replace(saved.facts, source=f"{identity}#{number}")))
        except UnreadableError:
            return
        if builder.empty:
            return
        document = builder.document([identity])
        shared = {key: document.pop(key) for key in _SHARED}
        size = len(document_text(document))
        if size <= self._left:
            self._left -= size
            self._cases[identity] = document
            for key, values in shared.items():
                self._shared[key] |= values


MAX_BYTES: Final = 200_000_000


class Workdir(NamedTuple):
    """A working directory, and the files of it that are copied."""

    root: Path
    files: tuple[str, ...]
    """Relative to the root: regular files, and relative links to files or folders of it."""

    @classmethod
    def of(cls, root: Path) -> Workdir:
        """List the files of a folder. Raises `ToolstreamError` for one that is too large."""
        files = tuple(name for name in _names(root) if _is_copied(root, name))
        size = sum((root / name).lstat().st_size for name in files)
        if size > MAX_BYTES:
            raise ToolstreamError(
                f"--workdir copy: {root} has {size / 1e6:.0f} MB of files that .gitignore does not name; at most "
                f"{MAX_BYTES / 1e6:.0f} MB are copied. Run toolstream check in a smaller directory"
            )
        return cls(root, files)

    @contextlib.contextmanager
    def copied(self) -> Iterator[Path]:
        """A copy, which is removed afterwards. Raises `OSError`."""
        with tempfile.TemporaryDirectory(prefix="toolstream-", ignore_cleanup_errors=True) as made:
            target = Path(made, self.root.name or "workdir")
            target.mkdir()
            for name in self.files:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileNotFoundError):  # removed since
                    shutil.copy2(self.root / name, target / name, follow_symlinks=False)
            yield target


def _names(root: Path) -> Iterator[str]:
    """Names of files and links according to Git; without Git, all except the patterns of `.gitignore`."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(words, cwd=root, capture_output=True, check=False)
    except OSError:
        listed = None
    if listed is None or listed.returncode:
        yield from _walked(root, _ignored(root))
        return
    for name in dict.fromkeys(map(os.fsdecode, listed.stdout.split(b"\0"))):
        inside = root / name
        if name and inside.is_dir() and not inside.is_symlink():  # a repository inside this one
            yield from (f"{name.rstrip('/')}/{one}" for one in _walked(inside, _ignored(inside)))
        elif name:
            yield name


def _walked(root: Path, ignored: tuple[str, ...]) -> Iterator[str]:
    for folder, folders, files in root.walk():
        inside = folder.relative_to(root)
        folders[:] = [name for name in folders if not _is_ignored(inside / name, ignored)]
        yield from (str(inside / name) for name in files if not _is_ignored(inside / name, ignored))


def _ignored(root: Path) -> tuple[str, ...]:
    """The patterns of `.gitignore`, without the negated ones."""
    try:
        lines = (root / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return (".git", *(line.strip().strip("/") for line in lines if line.strip() and line[0] not in "#!"))


def _is_ignored(path: Path, ignored: tuple[str, ...]) -> bool:
    return any(fnmatchcase(str(path), one) or fnmatchcase(path.name, one) for one in ignored)


def _is_copied(root: Path, name: str) -> bool:
    """Whether it is a regular file, or a link that stays inside when it is copied."""
    path = root / name
    if ".git" in Path(name).parts or any((root / parent).is_symlink() for parent in Path(name).parents[:-1]):
        return False
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    if not stat.S_ISLNK(mode):
        return stat.S_ISREG(mode)
    target = path.readlink()
    stays = not os.path.normpath(Path(name).parent / target).startswith("..")
    return not target.is_absolute() and stays and path.resolve().is_relative_to(root.resolve())


_NOT_STARTED: Final = (126, 127)
"""Exit codes of a shell that cannot start a command."""
_OUTPUT: Final = 8000
"""Characters of the end of the command's output that are kept."""
_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_LEAST_SECRET: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The result of one run."""

    exchanges: Sequence[ProxiedExchange] = ()
    exit_code: int | None = None
    """Negative if a signal ended it; `None` if it was stopped, or was not started."""
    timed_out: bool = False
    seconds: float = 0.0
    output: str = ""
    """The end of its output, without secrets."""
    failure: str | None = None
    """The error if the run failed, else `None`."""
    timeout: float = 0.0
    distrust: Mapping[str, bool] = field(default_factory=dict)
    """The servers whose certificate the client rejected, if it sent no request; `False`: it may have."""
    captured: Sequence[bytes] = ()
    """The flow files of its responses in order, redacted; empty if they are not kept."""

    @property
    def llm_exchanges(self) -> list[ProxiedExchange]:
        return to_llms(self.exchanges)

    @property
    def ending(self) -> str:
        """How the command ended: a predicate."""
        if self.timed_out:
            return f"did not end within {self.timeout:g} s"
        if self.exit_code is not None and self.exit_code < 0:
            return f"was ended by signal {-self.exit_code}"
        return f"exited with code {self.exit_code}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A command and its environment."""

    name: str
    command: tuple[str, ...]
    """`{prompt}`, `{base_url}` and `{model}` in its words are filled in."""
    protocol: str | None = None
    """The client's protocol, if it is known."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to those that direct it to the proxy."""
    prompt: str = ""
    timeout: float = 60.0
    """Seconds after which it is stopped."""
    output: int = _OUTPUT
    """Characters of the end of its output that are kept."""
    workdir: Workdir | None = None
    """Run it in a copy of this directory."""

    @property
    def shown(self) -> list[str]:
        """The words of the command without secrets; an option names the word after it: `--api-key X`."""
        shown = []
        for option, word in pairwise(("", *self.command)):
            head = f"{option} " if option.startswith("-") else ""
            both = redacted(f"{head}{word}")
            shown.append(both.removeprefix(head) if both.startswith(head) else redacted(word))
        return shown


class ProxySlot:
    """A proxy, and the command that uses it. One thread uses it, any may stop it."""

    def __init__(self) -> None:
        self._session = ProxySession()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, client: Client, setup: Setup, *, capture: bool = False) -> Run:
        """Run the command in a fresh conversation. With `capture`, the run has its flow files."""
        if not capture:
            return self._run_in(client, setup)
        with tempfile.TemporaryDirectory(prefix="toolstream-check-") as folder:
            captured = replace(setup, options={**setup.options, "toolstream_capture": folder})
            run = self._run_in(client, captured)
            try:
                self._session.reset(setup)  # writes what is not written yet
                return replace(run, captured=captured_files(Path(folder)))
            except (ProxySessionError, OSError):
                return run

    def _run_in(self, client: Client, setup: Setup) -> Run:
        began = time.monotonic()
        try:
            self._session.reset(setup)
            copied = contextlib.nullcontext() if client.workdir is None else client.workdir.copied()
            with tempfile.TemporaryFile() as output, copied as folder:
                run = self._run(client, output, folder)
        except ProxySessionError as error:
            run = Run(failure=str(error))
        except OSError as error:
            run = Run(failure=f"the working directory cannot be copied: {error}")
        return replace(run, seconds=time.monotonic() - began, timeout=client.timeout)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._process is not None:
                _end(self._process)

    def close(self) -> None:
        self.stop()
        self._session.stop()

    def _run(self, client: Client, output: IO[bytes], folder: Path | None) -> Run:
        launched = launch(
            [self._text(client, word) for word in client.command],
            self._session.child_environment(),
            own=os.environ,
            proxy=self._session.proxy_url,
            upstream=Upstream.PROXIED if self._session.setup.network == "all" else Upstream.SAVED,
        )
        own = {name: self._text(client, value) for name, value in client.environment.items()}
        environment = {**launched.environment, **own}
        words = list(launched.command)
        if folder is not None:
            environment["PWD"] = str(folder)
            words[0] = str(Path(words[0]).absolute()) if os.sep in words[0] else words[0]  # perhaps it is not copied
        try:
            process = self._started(words, environment, output, folder)
        except OSError as error:
            return Run(failure=f"{client.command[0]} cannot be run: {error.strerror}")
        if process is None:
            return Run(failure="stopped before it began")
        code: int | None = None
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(client.timeout)
        finally:
            _end(process)
            self._process = None
        exchanges = self._session.exchanges(bodies=True)
        text = _tail(output, environment, client.output)
        if code in _NOT_STARTED and not exchanges:
            why = f"the command ended with {code}: a shell did not find it, or may not run it"
            return Run(exit_code=code, output=text, failure=why)
        failure = "the check was stopped" if self._stopped else None
        distrust = {} if exchanges else self._session.distrust()
        return Run(
            exchanges=exchanges, exit_code=code, timed_out=code is None, output=text, failure=failure, distrust=distrust
        )

    def _started(
        self, words: Sequence[str], environment: Mapping[str, str], output: IO[bytes], folder: Path | None
    ) -> subprocess.Popen[bytes] | None:
        """Start the process, in its own group; `None` after `stop`."""
        with self._lock:
            if self._stopped:
                return None
            self._process = subprocess.Popen(
                words,
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            return self._process

    def _text(self, client: Client, text: str) -> str:
        """A word of the command, or a value of its environment, filled in."""
        if "{" not in text:
            return text
        base_url = self._session.base_url(client.protocol or PROTOCOLS[0].name)
        for name, value in (("base_url", base_url), ("model", MODEL), ("prompt", client.prompt)):
            text = text.replace(f"{{{name}}}", value)
        return text


class ProxySlots:
    """Proxies for as many commands as may run at once; a context manager that ends them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._slots = [ProxySlot() for _ in range(count)]
        self._free: queue.SimpleQueue[ProxySlot] = queue.SimpleQueue()
        for slot in self._slots:
            self._free.put(slot)

    @contextlib.contextmanager
    def taken(self) -> Iterator[ProxySlot]:
        """A proxy for exclusive use."""
        slot = self._free.get()
        try:
            yield slot
        finally:
            self._free.put(slot)

    def stop(self) -> None:
        for slot in self._slots:
            slot.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        for slot in self._slots:
            slot.close()


def _tail(output: IO[bytes], environment: Mapping[str, str], kept: int) -> str:
    """The last `kept` characters of a command's output, without secrets."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - 4 * kept))
    text = output.read().decode("utf-8", "replace")
    secrets = (value for name, value in environment.items() if _SECRET_NAME.search(name))
    return redacted(text, tuple(value for value in secrets if len(value) >= _LEAST_SECRET))[-kept:]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop the command and its child processes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


_KEYS: Final = ("command", "protocol", "env", "prompt", "timeout")
_EXAMPLE: Final = '[clients.agent] with command = ["python", "agent.py"]'


def clients_of(path: Path, usual: Client) -> list[Client]:
    """The clients in a file, in order; `usual` has the defaults. Raises `ToolstreamError`."""
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ToolstreamError(f"--matrix: {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ToolstreamError(f"{path} is not valid TOML: {error}") from error
    tables = read.get("clients")
    if not isinstance(tables, dict) or not tables:
        raise ToolstreamError(f"{path} has no clients; expected {_EXAMPLE}")
    return [_client(name, table, usual) for name, table in tables.items()]


def _client(name: str, table: Any, usual: Client) -> Client:
    given = table if isinstance(table, dict) else {}
    command, environment = given.get("command"), given.get("env", {})
    protocol = given.get("protocol", usual.protocol)
    if unknown := [key for key in given if key not in _KEYS]:
        raise ToolstreamError(f"clients.{name} has the unknown key {unknown[0]!r}; known are {', '.join(_KEYS)}")
    if not _are_texts(command) or not command:
        raise ToolstreamError(f"clients.{name} has no command; expected {_EXAMPLE}")
    if not isinstance(environment, dict) or not _are_texts(list(environment.values())):
        raise ToolstreamError(
            f'clients.{name}: env must be a table of strings, for example env = {{ MODEL = "small" }}'
        )
    protocols = [one.name for one in PROTOCOLS]
    if protocol is not None and protocol not in protocols:
        raise ToolstreamError(f"clients.{name}: unknown protocol {protocol!r}; known are {', '.join(protocols)}")
    seconds = given.get("timeout", usual.timeout)
    if not isinstance(seconds, int | float) or seconds <= 0:
        raise ToolstreamError(f"clients.{name}: timeout must be a number of seconds, more than 0")
    return Client(
        name=name,
        command=tuple(command),
        protocol=protocol,
        environment=environment,
        prompt=str(given.get("prompt", usual.prompt)),
        timeout=float(seconds),
        workdir=usual.workdir,
    )


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
