"""Conversations of modelled clients with a real proxy, and what the proxy logs of them."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.e2e.clients.conversation import converse
from tests.e2e.clients.streams import FLOWS, saved
from toolstream_core.cli.main import main
from toolstream_core.testing import ProxySession, Setup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.clients.conversation import Conversation, Json
    from tests.e2e.clients.reports import Reported

_FLOW_ID: Final = re.compile(r"  flow [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


class Talk(NamedTuple):
    """One conversation."""

    conversation: Conversation
    log: list[str]


class Proxy:
    """A proxy for one conversation after the other."""

    def __init__(self, session: ProxySession, log: Path) -> None:
        """`log` is the file that the proxy prints to."""
        self._session = session
        self._log = log

    def talk(self, report: Reported, *, advised: bool) -> Talk:
        """The report's client asks what was asked, raw or with what is advised."""
        name, value = report.words
        options = {f"toolstream_{name}": value} if advised else {}
        self._session.reset(Setup(flows=(FLOWS / f"{report.flow}.flow",), log="calls", options=options))
        begun = self._log.stat().st_size
        first = saved(report.flow)[0]

        def post(request: Json) -> bytes:
            url = f"http://127.0.0.1:{self._session.port}{first.path}"
            headers = {"content-type": "application/json", "host": first.record.host}
            asked = urllib.request.Request(url, json.dumps(request).encode(), headers)
            direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with direct.open(asked) as answer:
                return bytes(answer.read())

        conversation = converse(report.client, first.request, post)
        self._session.exchanges()  # waits until all is told
        self._session.reset(Setup())
        lines = self._log.read_bytes()[begun:].decode().splitlines()
        return Talk(conversation, [clean(line) for line in lines if line.strip()])


@contextlib.contextmanager
def proxy() -> Iterator[Proxy]:
    """A proxy, as long as it is wanted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        with path.open("wb") as log, ProxySession(log=log) as session:
            yield Proxy(session, path)


def inspected(flow: str) -> list[str]:
    """What `inspect` prints of a saved flow's first answer, event by event."""
    printed = io.StringIO()
    with contextlib.chdir(FLOWS.parent), contextlib.redirect_stdout(printed):
        main(["inspect", "--chunks", "--exit-zero", f"flows/{flow}.flow"])
    return [line for line in printed.getvalue().splitlines() if line.startswith("#1") and " verdict " not in line]


def clean(line: str) -> str:
    """A line of the log without what differs from run to run."""
    return _FLOW_ID.sub("", line).replace(f"{FLOWS.parent}/", "")
