"""The processes around the proxies: the upstream, the client, and mitmdump with each contender."""

from __future__ import annotations

import contextlib
import multiprocessing
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchlib import client, upstream
from tests.e2e.harness.mitmdump import Mitmdump
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from benchlib.client import Job, Outcome
    from benchlib.security import Security

_ADDONS = Path(__file__).parent / "addons"


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to let a stream through mitmproxy."""

    letter: str
    label: str
    script: Path
    log: str = ""
    """The value of `toolstream_log`; empty where it is not toolstream."""
    jsonl: bool = False
    repair: str = ""
    """The value of `toolstream_repair`."""
    fault: str = ""
    """The value of `toolstream_fault`."""
    capture: bool = False

    @property
    def name(self) -> str:
        """As the tables say it."""
        return f"({self.letter}) {self.label}"


CONTENDERS = {
    "a": Contender("a", "mitmproxy stream=True", _ADDONS / "passthrough.py"),
    "b": Contender("b", "naive split + json.loads", _ADDONS / "naive.py"),
    "c": Contender("c", "toolstream calls", addon_script(), "calls"),
    "d": Contender("d", "toolstream chunks + jsonl", addon_script(), "chunks", jsonl=True),
    "e": Contender("e", "toolstream calls, repair", addon_script(), "calls", repair="safe"),
    "f": Contender("f", "toolstream calls, fault", addon_script(), "calls", fault="empty-id"),
    "g": Contender("g", "toolstream chunks, repair", addon_script(), "chunks", repair="safe"),
    "h": Contender("h", "toolstream chunks", addon_script(), "chunks"),
    "i": Contender("i", "toolstream chunks, capture", addon_script(), "chunks", capture=True),
}


@dataclass(frozen=True, slots=True)
class Running:
    """A contender in its mitmdump."""

    contender: Contender
    proxy: Mitmdump
    jsonl: Path
    captures: Path

    @property
    def pid(self) -> int:
        """Of mitmdump."""
        pid = self.proxy.pid
        assert pid is not None, "mitmdump was never started"
        return pid


class Rig:
    """Upstream and client, both running, and what proxies between them need to know."""

    def __init__(self, folder: Path, security: Security, port: int, pipe: Connection) -> None:
        """`port` is the upstream's, `pipe` leads to the client; `folder` is for whatever is written."""
        self.folder = folder
        self.security = security
        self.port = port
        self._pipe = pipe

    def fetch(self, job: Job, through: Running | None = None) -> Outcome:
        """Let the client do `job`; raises what went wrong there, with what the proxy said."""
        self._pipe.send(job)
        answer = self._pipe.recv()
        if isinstance(answer, BaseException):
            if through:
                answer.add_note("\n".join(through.proxy.output[-40:]))
            raise answer
        assert isinstance(answer, client.Outcome)
        return answer

    @contextlib.contextmanager
    def running(self, letters: Sequence[str], port: int = 0) -> Iterator[list[Running]]:
        """Those contenders, started anew, all before the upstream (or before `port`)."""
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.proxy(CONTENDERS[letter], port)) for letter in letters]

    @contextlib.contextmanager
    def proxy(self, contender: Contender, port: int = 0) -> Iterator[Running]:
        """One contender before the upstream, or before `port`."""
        jsonl = self.folder / f"{contender.letter}.jsonl"
        jsonl.unlink(missing_ok=True)
        options = {"ssl_insecure": "true"}
        if contender.log:
            options["toolstream_log"] = contender.log
        if contender.repair:
            options["toolstream_repair"] = contender.repair
        if contender.fault:
            options["toolstream_fault"] = contender.fault
        if contender.jsonl:
            options["toolstream_jsonl"] = str(jsonl)
        captures = Path(tempfile.mkdtemp(prefix="captures-", dir=self.folder))
        if contender.capture:
            options["toolstream_capture"] = str(captures)
        mode = f"reverse:{self.security.scheme}://127.0.0.1:{port or self.port}"
        with Mitmdump(options, mode=mode, scripts=[contender.script], confdir=self.folder) as proxy:
            yield Running(contender, proxy, jsonl, captures)


@contextlib.contextmanager
def rig(folder: Path, security: Security) -> Iterator[Rig]:
    """Start upstream and client, and end them afterwards."""
    with _process(upstream.serve, security) as to_upstream, _process(client.work, security) as to_client:
        yield Rig(folder, security, to_upstream.recv(), to_client)


@contextlib.contextmanager
def _process(work: Callable[[Connection, Security], None], security: Security) -> Iterator[Connection]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs, security), daemon=True)
    process.start()
    try:
        yield ours
    finally:
        process.terminate()
        process.join()
