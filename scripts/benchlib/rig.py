"""The processes of a measurement: the upstream, the client, and a mitmdump for each contender."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from benchlib.streams import Kind, Load
from benchlib.wire import Outcome, do_jobs, serve_loads
from tests.e2e.harness.mitmdump import Mitmdump
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from benchlib.wire import Job


_ADDONS: Final = Path(__file__).parent / "addons"


class Contender(NamedTuple):
    """One way to send a stream through mitmproxy."""

    letter: str
    label: str
    options: dict[str, str] = {}  # noqa: RUF012 - never changed
    """The addon's options, without their prefix; none if the addon is not toolstream."""
    script: Path = addon_script()
    capture: bool = False
    jsonl: bool = False

    @property
    def name(self) -> str:
        """The label in the tables."""
        return f"({self.letter}) {self.label}"


CONTENDERS: Final = {
    one.letter: one
    for one in (
        Contender("a", "mitmproxy stream=True", script=_ADDONS / "passthrough.py"),
        Contender("b", "naive split + json.loads", script=_ADDONS / "naive.py"),
        Contender("c", "toolstream calls", {"log": "calls"}),
        Contender("d", "toolstream chunks + jsonl", {"log": "chunks"}, jsonl=True),
        Contender("e", "toolstream calls, repair", {"log": "calls", "repair": "safe"}),
        Contender("f", "toolstream calls, fault", {"log": "calls", "fault": "empty-id"}),
        Contender("g", "toolstream chunks, repair", {"log": "chunks", "repair": "safe"}),
        Contender("h", "toolstream chunks", {"log": "chunks"}),
        Contender("i", "toolstream chunks, capture", {"log": "chunks"}, capture=True),
    )
}


@dataclass(frozen=True, slots=True)
class Running:
    """A contender with its running mitmdump."""

    contender: Contender
    proxy: Mitmdump
    jsonl: Path
    captures: Path

    @property
    def pid(self) -> int:
        """The process id of mitmdump."""
        pid = self.proxy.pid
        assert pid is not None, "mitmdump was never started"
        return pid

    def rewritten(self, load: Load) -> Load:
        """The load that it forwards: a repair restores the bytes that the fault changed."""
        kinds = {Kind.BROKEN: Kind.TOOL} if "repair" in self.contender.options else {}
        kinds |= {Kind.TOOL: Kind.BROKEN} if "fault" in self.contender.options else {}
        return Load(kinds.get(load.kind, load.kind), load.events)


class Rig:
    """The running upstream and client, for proxies between them."""

    def __init__(self, folder: Path, port: int, pipe: Connection) -> None:
        """`port` is the upstream's, `pipe` leads to the client, and `folder` is for output files."""
        self.folder = folder
        self.port = port
        self._pipe = pipe

    def fetch(self, job: Job, through: Running | None = None) -> Outcome:
        """Let the client perform `job`. Raises the client's error, with the proxy's output."""
        self._pipe.send(job)
        response = self._pipe.recv()
        if isinstance(response, BaseException):
            if through:
                response.add_note("\n".join(through.proxy.output[-40:]))
            raise response
        assert isinstance(response, Outcome)
        return response

    @contextlib.contextmanager
    def running(self, letters: Sequence[str], port: int = 0) -> Iterator[list[Running]]:
        """Start these contenders, all with the upstream, or with the server at `port`."""
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.proxy(CONTENDERS[letter], port)) for letter in letters]

    @contextlib.contextmanager
    def proxy(self, contender: Contender, port: int = 0) -> Iterator[Running]:
        """Start a contender with the upstream, or with the server at `port`."""
        jsonl = self.folder / f"{contender.letter}.jsonl"
        jsonl.unlink(missing_ok=True)
        captures = Path(tempfile.mkdtemp(prefix="captures-", dir=self.folder))
        values = contender.options | ({"jsonl": str(jsonl)} if contender.jsonl else {})
        values |= {"capture": str(captures)} if contender.capture else {}
        options = {f"toolstream_{name}": value for name, value in values.items()}
        mode = f"reverse:http://127.0.0.1:{port or self.port}"
        with Mitmdump(options, mode=mode, scripts=[contender.script], confdir=self.folder) as proxy:
            yield Running(contender, proxy, jsonl, captures)


@contextlib.contextmanager
def rig(folder: Path) -> Iterator[Rig]:
    """Start upstream and client, and stop them at the end."""
    with _process(serve_loads) as to_upstream, _process(do_jobs) as to_client:
        yield Rig(folder, to_upstream.recv(), to_client)


@contextlib.contextmanager
def _process(work: Callable[[Connection], None]) -> Iterator[Connection]:
    context = multiprocessing.get_context("spawn")
    pipe, process_end = context.Pipe()
    process = context.Process(target=work, args=(process_end,), daemon=True)
    process.start()
    try:
        yield pipe
    finally:
        process.terminate()
        process.join()


class WrongCallsError(AssertionError):
    """The reported calls are not the calls that were sent."""


def check_reported(running: Running, load: Load, streams: int) -> None:
    """Compare the log of all streams of a stopped mitmdump with the load. Raises `WrongCallsError`."""
    if not running.contender.options:
        return
    call, start = load.call, f"call 0 {load.call.name} id="
    logged = [line.partition(start)[2].partition(" ")[2] for line in running.proxy.output if start in line]
    wrong = [text for text in logged if not _matches(text, call.arguments)]
    if wrong or len(logged) != streams:
        sample = "\n".join(wrong[:1] or running.proxy.output[-20:])
        raise WrongCallsError(f"{running.contender.name}: {len(logged)} calls for {streams} streams:\n{sample[:3000]}")
    if running.contender.jsonl:
        _check_jsonl(running, load, streams)


def _matches(text: str, arguments: str) -> bool:
    """Whether `text` is `arguments`, possibly with the number of characters that were left out."""
    begin, _, rest = text.partition("…(+")
    left_out, _, end = rest.partition(")…")
    same_length = len(begin) + len(end) + int(left_out or 0) == len(arguments)
    return same_length and arguments.startswith(begin) and arguments.endswith(end)


def _check_jsonl(running: Running, load: Load, streams: int) -> None:
    events: dict[str, int] = defaultdict(int)
    arguments: dict[str, str] = defaultdict(str)
    ended = 0
    for line in map(json.loads, running.jsonl.read_text(encoding="utf-8").splitlines()):
        flow = line.get("flow")
        if line["type"] == "event":
            events[flow] += 1
            arguments[flow] += "".join(fragment.get("arguments", "") for fragment in line.get("fragments", ()))
        elif line["type"] != "verdict":
            ended += 1
            calls = [(call["id"], call["name"], call["arguments"]) for call in line["record"]["calls"]]
            if calls != [load.call] or arguments.pop(flow) != load.call.arguments or events[flow] != load.events:
                raise WrongCallsError(f"{flow}: {events[flow]} events in the JSONL, calls {str(calls)[:300]}")
    if ended != streams:
        raise WrongCallsError(f"{ended} streams ended in the JSONL, not {streams}")
