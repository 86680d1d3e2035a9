"""docs/reports.md: five real reports, each raw, explained, and with the advised option.

The output is of real runs. Client models (tests/e2e/clients) are run each time; the output of real clients is kept
until they are run again.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from docslib.tables import DOCS, ROOT
from matrixlib.clients import clients, command_of, installed
from matrixlib.toolchains import InstallError, cache_folder
from tests.clients.streams import echoed
from tests.e2e.clients.conversation import converse
from tests.e2e.clients.reports import REPORTS
from tests.e2e.clients.streams import FLOWS, saved
from toolstream_core.cli.main import main
from toolstream_core.clients.received import Received, ReceivedBytes
from toolstream_core.clients.stepping import reads
from toolstream_core.model import StreamFacts
from toolstream_core.report.judging import Explaining
from toolstream_core.report.verdict import as_flags
from toolstream_core.testing import ProxySession, Setup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.e2e.clients.conversation import Conversation, Json
    from tests.e2e.clients.reports import Reported


_FLOW_ID: Final = re.compile(r"  flow [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


class LoggedConversation(NamedTuple):
    """A conversation, and the proxy's log of it."""

    conversation: Conversation
    log: list[str]


class Proxy:
    """A proxy for sequential conversations."""

    def __init__(self, session: ProxySession, log: Path) -> None:
        """`log` is the output file of the proxy."""
        self._session = session
        self._log = log

    def converse(self, report: Reported, *, advised: bool) -> LoggedConversation:
        """Run the conversation of a report, raw or with the advised option."""
        name, value = report.words
        options = {f"toolstream_{name}": value} if advised else {}
        self._session.reset(Setup(flows=(FLOWS / f"{report.flow}.flow",), log="calls", options=options))
        start = self._log.stat().st_size
        first = saved(report.flow)[0]

        def post(request: Json) -> bytes:
            url = f"http://127.0.0.1:{self._session.port}{first.path}"
            headers = {"content-type": "application/json", "host": first.record.host}
            http_request = urllib.request.Request(url, json.dumps(request).encode(), headers)
            direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with direct.open(http_request) as response:
                return bytes(response.read())

        conversation = converse(report.client, first.request, post)
        self._session.exchanges()  # waits until everything is logged
        self._session.reset(Setup())
        lines = self._log.read_bytes()[start:].decode().splitlines()
        return LoggedConversation(conversation, [clean(line) for line in lines if line.strip()])


@contextlib.contextmanager
def proxy() -> Iterator[Proxy]:
    """A running proxy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        with path.open("wb") as log, ProxySession(log=log) as session:
            yield Proxy(session, path)


def inspected(flow: str) -> list[str]:
    """The lines of `inspect --chunks` for the first response of a saved flow."""
    printed = io.StringIO()
    with contextlib.chdir(FLOWS.parent), contextlib.redirect_stdout(printed):
        main(["inspect", "--chunks", "--exit-zero", f"flows/{flow}.flow"])
    return [line for line in printed.getvalue().splitlines() if line.startswith("#1") and " verdict " not in line]


def clean(line: str) -> str:
    """A log line without flow id and absolute paths."""
    return _FLOW_ID.sub("", line).replace(f"{FLOWS.parent}/", "")


PAGE: Final = DOCS / "reports.md"
QUESTION: Final = "Read the file."


class RealClient(NamedTuple):
    """A published client of the matrix with the bug of a report."""

    report: str
    """The key of the report."""
    name: str
    """The name in tests/clients/drivers/clients.toml."""
    about: str
    options: tuple[tuple[str, ...], ...]
    """The options of `toolstream run` for each run."""


REAL: Final = (
    RealClient("S4", "spring-ai-rc", "Spring AI 2.0.0-RC1, `OpenAiChatModel`", (
        ("flows/deepseek-empty-id.flow",),
        ("flows/deepseek-empty-id.flow", "--repair", "empty-id"),
        ("flows/deepseek-empty-id.flow", "--shape", "whole-calls"),
    )),
    RealClient("S5", "pi-ai-old", "`@mariozechner/pi-ai` 0.51.1", (
        ("flows/openrouter-no-deltas.flow",),
        ("flows/openrouter-no-deltas.flow", "--repair", "missing-calls"),
    )),
)  # fmt: skip


def _title(report: str) -> str:
    return f"### {report}: the real client\n"


def kept_section(report: str) -> str:
    """The current section of a report's real client; empty if it has none."""
    _, title, rest = PAGE.read_text(encoding="utf-8").partition(_title(report))
    return (title + rest.partition("\n## ")[0]).rstrip() + "\n" if title else ""


def _run_real(one: RealClient) -> str:
    """Install and run a real client. Returns its new section, or the current one if the installation fails."""
    client = next(client for client in clients() if client.name == one.name)
    try:
        driver = command_of(client, installed(client.group, cache_folder()))
    except InstallError as error:
        print(f"{one.name}: {error}; the page keeps its last output", file=sys.stderr)
        return kept_section(one.report)
    command = [word.replace("{prompt}", QUESTION) for word in driver]
    shown = f"tests/clients/drivers/{client.group.toolchain.drivers}/{client.command[0]}"
    lines = [_title(one.report), f"Client: {one.about}, run by `{shown}`.\n"]
    for options in one.options:
        words = ["run", *options, "--speed", "0"]
        run = _real_run([*words, "--", *command])
        lines += _console(f"toolstream {' '.join(words)} -- CLIENT", run)
    return "\n".join(lines)


def _real_run(words: Sequence[str]) -> Iterator[str]:
    """Run a real client. Yields the log, then the calls that the client ran."""
    with tempfile.TemporaryDirectory() as folder:
        log, ran = Path(folder) / "log", Path(folder) / "ran"
        ran.touch()
        toolstream = [sys.executable, "-m", "toolstream_core.cli.main", words[0], "--quiet", "--log", str(log)]
        model = saved(Path(words[1]).stem)[0].request["model"]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "addon"), "DRIVER_RAN": str(ran), "DRIVER_MODEL": model}
        command = [*toolstream, *words[1:]]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        yield from (clean(line) for line in log.read_text(encoding="utf-8").splitlines() if line.strip())
        for line in ran.read_text(encoding="utf-8").splitlines():
            name, arguments = json.loads(line)
            yield f"the client runs {name} with {json.dumps(arguments)}"
        if done.returncode:
            printed = (done.stderr or done.stdout).strip().splitlines()
            why = next((line for line in printed if re.search("Error|Exception", line)), printed[-1])
            yield f"the client fails: {why}"
        yield f"exit code {done.returncode}"


HEAD: Final = """\
# Five reports

Five clients failed on streams of real providers. Each section shows the stream, the failure, toolstream's explanation
and the run with the advised option.

`scripts/docs.py` writes this page from real runs; only flow ids are removed from the output. The streams are in
`flows/`. Each section names its client. A model in `tests/e2e/clients` reproduces the observed behavior of the real
client, including its errors. `tests/clients/test_reports.py` checks that each client fails with the explanation and
advice shown, works with the advice, and fails in the same way if the fault is injected into another stream.
"""


def files(*, real: bool = False) -> dict[Path, bytes | None]:
    """The page. With `real`, run the real clients that can be installed; else keep their last output."""
    sections = {one.report: _run_real(one) for one in REAL if real}
    with proxy() as running:
        lines = [line for report in REPORTS for line in _section(report, running, sections.get(report.key))]
    return {PAGE: "\n".join([HEAD, *lines]).encode()}


def _section(report: Reported, running: Proxy, real: str | None) -> Iterator[str]:
    raw, advised = running.converse(report, advised=False), running.converse(report, advised=True)
    name, value = report.words
    yield f"## {report.key}. {report.title}\n"
    yield f"{report.story} [Source]({report.source}). To inject it into any stream: `--fault {report.fault}`.\n"
    yield from _console(f"toolstream inspect --chunks flows/{report.flow}.flow", inspected(report.flow))
    yield f"### {report.key}: raw\n"
    yield f"Client: a model of {report.client.name}.\n"
    yield from _console(f"toolstream run flows/{report.flow}.flow --speed 0 -- CLIENT", _shown(raw))
    yield from _why(report, raw)
    yield f"### {report.key}: with `--{name} {value}`\n"
    yield from _console(
        f"toolstream run flows/{report.flow}.flow --speed 0 --{name} {value} -- CLIENT", _shown(advised)
    )
    if section := real or kept_section(report.key):
        yield section


def _console(command: str, lines: Iterable[str]) -> Iterator[str]:
    yield "```console"
    yield f"$ {command}"
    yield from lines
    yield "```\n"


def _shown(logged: LoggedConversation) -> list[str]:
    """The proxy's log, then the actions of the client."""
    conversation = logged.conversation
    actions = [
        f"the client runs {call.name or '(no name)'} with {call.arguments or 'nothing'}: {result}"
        for call, result in zip(conversation.calls, conversation.results, strict=True)
    ]
    if conversation.crash is not None:
        actions = [f"the client crashes: {conversation.crash}"]
    text = [f"the client prints: {conversation.text}"] if conversation.text else []
    return [*logged.log, *(actions or ["the client runs no tool"]), *text]


def _why(report: Reported, raw: LoggedConversation) -> Iterator[str]:
    """The explanation that the log lacks if the client sent no further request."""
    if raw.conversation.following is not None:
        return
    if report.model is None:
        yield "The client sent no further request. The stream itself is malformed, and the finding names the repair.\n"
        return
    first = saved(report.flow)[0]
    response = ReceivedBytes(
        StreamFacts(path=first.path, content_type="text/event-stream", request=first.request), first.body
    )
    received = Received(response)
    assert received.protocol is not None
    read = reads(report.model, received.protocol.call_form, received.entries)
    why = Explaining()(response, echoed(*(one[:3] for one in read)))
    yield (
        "The client sent no further request, so the log has no explanation. From the calls that the client had read "
        f"before it failed, toolstream reports: {why.text}. It advises `{as_flags(why.advice[0])}`.\n"
    )
