#!/usr/bin/env python3
"""Writes docs/reports.md: five real reports, each raw, explained, and with the advice. All output is real.

    scripts/make_reports.py                write what has changed
    scripts/make_reports.py --check        write nothing; print the difference, if any, and exit 1
    scripts/make_reports.py --real         run the available real clients too, and keep their output

Models of the clients (tests/e2e/clients) are run each time. The output of real clients is kept in reportslib/real.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "addon"), str(ROOT / "scripts")]

from generated import write_or_check  # noqa: E402
from reportslib import real  # noqa: E402
from reportslib.models import inspected, proxy  # noqa: E402
from tests.clients.streams import echoed  # noqa: E402
from tests.e2e.clients.reports import REPORTS  # noqa: E402
from tests.e2e.clients.streams import saved  # noqa: E402
from toolstream_core.clients.received import Answer, Received  # noqa: E402
from toolstream_core.clients.stepping import reads  # noqa: E402
from toolstream_core.model import StreamFacts  # noqa: E402
from toolstream_core.report.judging import Explaining  # noqa: E402
from toolstream_core.report.verdict import as_flags  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reportslib.models import Proxy, Talk
    from tests.e2e.clients.reports import Reported

TARGET: Final = ROOT / "docs" / "reports.md"
HEAD: Final = """\
# Five reports

Five clients failed on streams of real providers. Each section shows the stream, the failure, toolstream's explanation
and the run with the advised option.

`scripts/make_reports.py` writes this page from real runs; only flow ids are removed from the output. The streams are in
`flows/`. Each section names its client. A model in `tests/e2e/clients` reproduces the observed behavior of the real
client, including its errors. `tests/clients/test_reports.py` checks that each client fails with the explanation and
advice shown, works with the advice, and fails in the same way if the fault is injected into another stream.
"""


def page() -> str:
    """The complete page."""
    with proxy() as running:
        return "\n".join([HEAD, *(line for report in REPORTS for line in _section(report, running))])


def _section(report: Reported, running: Proxy) -> Iterator[str]:
    raw, advised = running.talk(report, advised=False), running.talk(report, advised=True)
    name, value = report.words
    yield f"## {report.key}. {report.title}\n"
    yield f"{report.story} [Source]({report.source}). To inject it into any stream: `--fault {report.fault}`.\n"
    yield from _console(f"toolstream inspect --chunks flows/{report.flow}.flow", inspected(report.flow))
    yield f"### {report.key}: raw\n"
    yield f"Client: a model of {report.client.name}.\n"
    yield from _console(f"toolstream run flows/{report.flow}.flow --speed 0 -- CLIENT", _told(raw))
    yield from _why(report, raw)
    yield f"### {report.key}: with `--{name} {value}`\n"
    yield from _console(f"toolstream run flows/{report.flow}.flow --speed 0 --{name} {value} -- CLIENT", _told(advised))
    yield from real.section(report.key)


def _console(command: str, lines: list[str]) -> Iterator[str]:
    yield "```console"
    yield f"$ {command}"
    yield from lines
    yield "```\n"


def _told(talk: Talk) -> list[str]:
    """The proxy's log, then what the client did."""
    made = talk.conversation
    did = [
        f"the client runs {call.name or '(no name)'} with {call.arguments or 'nothing'}: {result}"
        for call, result in zip(made.calls, made.results, strict=True)
    ]
    if made.crash is not None:
        did = [f"the client gives up: {made.crash}"]
    said = [f"the client says: {made.text}"] if made.text else []
    return [*talk.log, *(did or ["the client runs nothing"]), *said]


def _why(report: Reported, raw: Talk) -> Iterator[str]:
    """The explanation that is missing in the log because the client sent no further request."""
    if raw.conversation.following is not None:
        return
    if report.model is None:
        yield "The client sent no further request. The stream itself is malformed, and the finding names the repair.\n"
        return
    first = saved(report.flow)[0]
    answer = Answer(StreamFacts(path=first.path, content_type="text/event-stream", request=first.request), first.body)
    got = Received(answer)
    assert got.protocol is not None
    read = reads(report.model, got.protocol.call_form, got.entries)
    why = Explaining()(answer, echoed(*(one[:3] for one in read)))
    yield (
        "The client sent no further request, so the log has no explanation. From the calls that the client had read "
        f"before it failed, toolstream reports: {why.text}. It advises `{as_flags(why.advice[0])}`.\n"
    )


def main() -> int:
    """Write or check."""
    if "--real" in sys.argv:
        sys.argv.remove("--real")
        real.run_all()
    return write_or_check((__doc__ or "").partition(": ")[0], {TARGET: page().encode()})


if __name__ == "__main__":
    sys.exit(main())
