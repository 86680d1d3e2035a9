"""The parts of a bug report on answers that faults broke, and on what clients made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.report.markdown_text import code, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.report.reported import ReportedAnswer


def caused_lines(answers: Sequence[ReportedAnswer]) -> Iterator[str]:
    """What was broken on purpose, a paragraph for each answer."""
    for number, answer in enumerate(answers):
        if not answer.caused:
            continue
        which = "this stream" if len(answers) == 1 else f"answer {number}"
        faults = " and ".join(map(code, answer.caused))
        yield f"toolstream broke {which} on purpose, by fault {faults}, to test a client."
        if answer.provider is not None:
            names = ", ".join(answer.provider)
            yield f"What the provider sent {f'had {names} by itself' if names else 'was healthy'}."
        yield "All that is shown here is what the client got.\n"
        if answer.record.broken:
            yield f"Its connection broke: {escaped(answer.record.broken)}.\n"


def client_lines(answers: Sequence[ReportedAnswer]) -> Iterator[str]:
    """What the clients made of answers that were broken, or that they misread."""
    told = [(number, answer) for number, answer in enumerate(answers) if answer.caused or not answer.understood]
    if told:
        yield "## What the client made of it\n"
    for number, answer in told:
        where = "" if len(answers) == 1 else f"Answer {number}: "
        yield f"- {where}{escaped(answer.client) or 'nothing that was saved tells: no request follows it'}"
    if told:
        yield ""


def faults_of(answers: Sequence[ReportedAnswer]) -> list[str]:
    """The faults that broke any of them."""
    return list(dict.fromkeys(spec for answer in answers for spec in answer.caused))
