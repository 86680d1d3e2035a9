"""A bug report as Markdown, for a maintainer who knows nothing of toolstream. Knows records, reads no file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.table import ROWS
from toolstream_core.protocols.registry import named
from toolstream_core.report import prose, reproduce
from toolstream_core.report.folding import folded, lines
from toolstream_core.report.grouped import numbered, together
from toolstream_core.report.layout import counted
from toolstream_core.report.markdown_text import code, escaped, fenced
from toolstream_core.report.on_purpose import caused_lines, client_lines, faults_of
from toolstream_core.report.readings import wrong_readings
from toolstream_core.report.reported import understanding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.defects.row import Row
    from toolstream_core.model import Call, Finding
    from toolstream_core.report.readings import ReadCall
    from toolstream_core.report.reported import ReportedAnswer

LONGEST: Final = 65_536
"""Characters of an issue or comment on GitHub."""
_RESERVE = 2_000
_MOST_FINDINGS = 20
_MOST_EVENTS = 12
_MOST_LINKS = 5
_READING: Final = {
    True: "the client read it correctly",
    False: "the client misread it",
    None: "whether the client read it correctly is unknown, because no later request was saved",
}
_TITLES: Final = {
    True: "A stream that the client read correctly",
    False: "A stream that the client misread",
    None: "A stream without findings",
}
_SEVERITIES: Final = {
    "error": "no client can reconstruct the calls",
    "warning": "outside the protocol; clients have to guess",
    "note": "valid or tolerated, but known to break clients",
}


def bug_report(answers: Sequence[ReportedAnswer], flow: str, version: str) -> str:
    """The report on answers with which anything went wrong, or on all. `flow` is the name of their file."""
    shown = [answer for answer in answers if answer.is_telling] or list(answers)
    parts = (_head(shown, version), _wrong(shown), _events(shown), _calls(shown), client_lines(shown), _protocol(shown))
    head = "\n".join(line for part in parts for line in part)
    tail = "\n".join([*_clients(shown), *_reproduction(shown, flow)])
    left = LONGEST - _RESERVE - len(head) - len(tail)
    whole = "\n".join(_whole(shown, left))
    return f"{head}\n{tail}\n{whole}"[: LONGEST - 1].rstrip("\n") + "\n"


def _head(answers: Sequence[ReportedAnswer], version: str) -> Iterator[str]:
    first = answers[0]
    names = list(dict.fromkeys(finding.name for answer in answers for finding in answer.record.findings))
    what = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")  # noqa: PLR2004
    faults = " and ".join(map(escaped, faults_of(answers)))
    if faults:
        what += f"{', injected' if names else 'Injected'} by fault {faults}"
    elif not names:
        what = _TITLES[understanding(answers)]
    yield f"# {what}: {first.record.dialect} from {escaped(first.record.host or 'an unknown host')}\n"
    yield "| | |\n|---|---|"
    yield f"| provider | {code(first.record.host or '(unknown)')} |"
    yield f"| model | {code(first.record.model or '(unknown)')} |"
    yield f"| protocol | {first.record.dialect}, {'streamed' if first.record.streamed else 'not streamed'} |"
    yield f"| response | HTTP {first.status}, {counted(first.record.events, 'event')}, {first.record.bytes} bytes |"
    if faults:
        yield f"| injected by | toolstream, to test a client: fault {' and '.join(map(code, faults_of(answers)))} |"
    yield f"| recorded | {first.recorded}; secrets are overwritten with `*` |"
    yield f"| found by | toolstream {version} |\n"


def _wrong(answers: Sequence[ReportedAnswer]) -> Iterator[str]:
    yield "## What is wrong\n"
    told = [(number, finding) for number, answer in enumerate(answers) for finding in answer.record.findings]
    caused = [*caused_lines(answers)]
    yield from caused
    if not told:
        if not caused:
            yield f"toolstream found nothing wrong in the stream; {_READING[understanding(answers)]}.\n"
        return
    for number, finding in told[:_MOST_FINDINGS]:
        where = f"event {finding.event}" + ("" if len(answers) == 1 else f" of response {number}")
        row = _row(finding)
        yield (
            f"- **{finding.name}** ({finding.code}, {finding.severity}: {_SEVERITIES[finding.severity]}), {where}: "
            f"{escaped(finding.message)}. In general: {row.meaning}."
        )
    if len(told) > _MOST_FINDINGS:
        yield f"- … and {len(told) - _MOST_FINDINGS} more"
    yield ""


def _events(answers: Sequence[ReportedAnswer]) -> Iterator[str]:
    yield "## Events\n"
    yield "Unchanged; other events are folded:\n"
    shown = {number: tuple(folded(answer.frames, _of_interest(answer))) for number, answer in enumerate(answers)}
    for events, numbers in together(shown).items():
        if len(answers) > 1:
            yield f"{numbered(numbers).capitalize()}:\n"
        yield from fenced(events)


def _of_interest(answer: ReportedAnswer) -> set[int]:
    """The events of the findings, and where their calls begin; the first events where nothing was found."""
    numbers: dict[int, None] = {}
    calls = answer.record.calls
    for finding in answer.record.findings:
        if finding.call is not None and finding.call < len(calls):
            numbers.update(dict.fromkeys([*calls[finding.call].events][:1]))
        numbers[finding.event] = None
    return set([*numbers][:_MOST_EVENTS]) or set(range(_MOST_EVENTS))


def _calls(answers: Sequence[ReportedAnswer]) -> Iterator[str]:
    calls = [call for answer in answers for call in answer.record.calls]
    if not calls:
        return
    yield "## The tool calls\n"
    yield "Intended:\n"
    yield from (f"{number}. {_call(call.name, call.arguments, call)}" for number, call in enumerate(calls, 1))
    for answer in answers:
        repeats_ids = named(answer.record.dialect).repeats_ids
        for does, read in wrong_readings(answer.fragments, answer.record.calls, repeats_ids=repeats_ids):
            yield f"\nA client that {does} reads:\n"
            yield from _read(read)
    yield ""


def _read(calls: Sequence[ReadCall]) -> Iterator[str]:
    for number, call in enumerate(calls[:_MOST_EVENTS], 1):
        yield f"{number}. {_call(call.name, call.arguments)}"
    if len(calls) > _MOST_EVENTS:
        yield f"\n… and {len(calls) - _MOST_EVENTS} more"


def _call(name: str, arguments: str, call: Call | None = None) -> str:
    half = " (incomplete)" if call is not None and not call.complete else ""
    return f"{code(name) if name else '(no name)'} with {code(arguments) if arguments else 'no arguments'}{half}"


def _protocol(answers: Sequence[ReportedAnswer]) -> Iterator[str]:
    yield "## Protocol\n"
    dialect = answers[0].record.dialect
    rows = _rows(answers)
    links = dict.fromkeys(prose.specification(row, dialect) for row in rows)
    for title, address in links or [prose.described(dialect)]:
        yield f"- [{title}]({address})"
    for row in rows:
        yield f"- With **{row.name}**, a correct client {row.must}."
    yield ""


def _clients(answers: Sequence[ReportedAnswer]) -> Iterator[str]:
    rows = _rows(answers)
    if not rows:
        return
    yield "## Affected clients\n"
    for row in rows:
        page = prose.sections(row)
        seen = [line for line in page["Seen with"].splitlines() if line.startswith("* ")]
        yield f"**{row.name}**: {page['Why it hurts']}\n"
        yield from (f"- {line[2:]}" for line in seen[:_MOST_LINKS])
        if len(seen) > _MOST_LINKS:
            yield f"- … and {len(seen) - _MOST_LINKS} more: `toolstream explain {row.name}`"
        yield ""


def _reproduction(answers: Sequence[ReportedAnswer], flow: str) -> Iterator[str]:
    first = answers[0]
    shown = {finding.name for finding in first.record.findings}
    found = sorted(shown if first.left is None else first.left)
    faults = [reproduce.fault_here(spec) for spec in first.caused]
    yield "## Reproduce\n"
    yield f"With the attached `{flow}` and toolstream from its repository (`pip install .` in a clone of it), without a"
    yield "key or network:\n"
    yield from fenced(reproduce.server_lines(flow, first.path, first.request, faults).splitlines(), "sh")
    yield f"As a test in your repository (with `{flow}` in the same folder):\n"
    yield from fenced(reproduce.as_test(flow, first.path, first.request, found, faults).splitlines(), "python")


def _whole(answers: Sequence[ReportedAnswer], room: int) -> Iterator[str]:
    for number, answer in enumerate(answers):
        share = room // len(answers) - 300
        taken: list[str] = []
        for frame in answer.frames:
            event = [*lines(frame), ""]
            share -= sum(len(line) + 1 for line in event)
            if share < 0:
                taken.append("… the rest is in the attached file")
                break
            taken += event
        name = "Complete stream" if len(answers) == 1 else f"Complete response {number}"
        size = f"{counted(answer.record.events, 'event')}, {answer.record.bytes} bytes"
        yield f"<details>\n<summary>{name} ({size})</summary>\n"
        yield from fenced(taken)
        yield "</details>\n"


def _rows(answers: Sequence[ReportedAnswer]) -> list[Row]:
    names = {finding.name for answer in answers for finding in answer.record.findings}
    return [row for row in ROWS if row.name in names]


def _row(finding: Finding) -> Row:
    return next(row for row in ROWS if row.code == finding.code)
