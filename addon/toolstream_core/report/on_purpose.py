"""The parts of a bug report on answers that faults broke, and on what clients made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.report.grouped import numbered, together
from toolstream_core.report.markdown_text import code, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.report.reported import ReportedAnswer


def caused_lines(answers: Sequence[ReportedAnswer]) -> Iterator[str]:
    """What was broken on purpose, a paragraph for those of which the same is to be said."""
    broken = {number: tuple(_caused(answer)) for number, answer in enumerate(answers) if answer.caused}
    for (faults, *more), numbers in together(broken).items():
        which = "this stream" if len(answers) == 1 else numbered(numbers)
        yield f"toolstream injected fault {faults} into {which} to test a client."
        yield from more


def client_lines(answers: Sequence[ReportedAnswer]) -> Iterator[str]:
    """What the clients made of answers that were broken, or that they misread."""
    told = {
        number: _made(answer, answers[number + 1 :])
        for number, answer in enumerate(answers)
        if answer.caused or not answer.understood
    }
    if told:
        yield "## How the client interpreted it\n"
    for made, numbers in together(told).items():
        where = "" if len(answers) == 1 else f"{numbered(numbers).capitalize()}: "
        yield f"- {where}{made}"
    if told:
        yield ""


def _caused(answer: ReportedAnswer) -> Iterator[str]:
    yield " and ".join(map(code, answer.caused))
    if answer.provider is not None:
        names = ", ".join(answer.provider)
        yield f"The provider's own response {f'had {names}' if names else 'was healthy'}."
    yield "The response is shown as the client received it.\n"
    if answer.record.broken:
        yield f"It was truncated: {escaped(answer.record.broken)}.\n"


def _made(answer: ReportedAnswer, later: Sequence[ReportedAnswer]) -> str:
    if answer.client:
        return escaped(answer.client)
    again = any(one.request == answer.request for one in later)
    return "it repeated the request" if again else "unknown: no later request was saved"


def faults_of(answers: Sequence[ReportedAnswer]) -> list[str]:
    """The faults that broke any of them."""
    return list(dict.fromkeys(spec for answer in answers for spec in answer.caused))
