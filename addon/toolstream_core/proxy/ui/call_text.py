"""The view *Tool calls*: what the client did with a response, why, and how to fix it; then its calls and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_equality import same
from toolstream_core.model import Kind
from toolstream_core.printable import printable, quoted_text, word
from toolstream_core.proxy.ui.layout import numbers
from toolstream_core.report.lines import finding_line, help_with, notes, overview
from toolstream_core.report.verdict import headline, option_values, without_verdict
from toolstream_core.verdict.compare import paired

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from toolstream_core.model import Call, Record
    from toolstream_core.protocols.requests.conversation import EchoedCall
    from toolstream_core.proxy.ui.facts import Facts
    from toolstream_core.proxy.ui.known import Seen
    from toolstream_core.report.verdict import ReportedVerdict

_ARGUMENTS: Final = 4000
"""Characters of arguments that are shown; the body has them all."""


def response_lines(facts: Facts, seen: Seen) -> Iterator[str]:
    """Of a response: the verdict first."""
    record, judged = facts.record, seen.judged
    if judged is None:
        error, broken = record.error is not None, record.broken is not None
        yield f"verdict: {without_verdict(record.calls, error=error, broken=broken)}"
    else:
        yield from _verdict(judged)
    yield f"response: {record.dialect}, {overview(seen.record or record, None).text}"
    if record.error:
        yield f"error: {printable(record.error)}"
    for marked in notes(seen.record or record, seen.hide):
        yield marked.text
    yield from _calls(facts, judged)
    yield from _findings(seen.record or record, seen.hide)


def returned_lines(verdicts: Sequence[ReportedVerdict]) -> Iterator[str]:
    """Of a request: what it shows that the client made of earlier responses."""
    for judged in verdicts:
        yield from _verdict(judged)
        yield f"response: flow {judged.source}"
        pairs = {pair.place: pair.echoed for pair in paired(judged.calls, judged.verdict.sent)}
        for place, call in enumerate(judged.calls):
            yield from _call(place, call, judged.hide)
            yield f"  returned: {_returned(call, pairs.get(place), judged.hide)}"
        yield from _unsent(judged, pairs.values())


def _verdict(judged: ReportedVerdict) -> Iterator[str]:
    verdict, explained = judged.verdict, judged.explained
    yield f"verdict: {printable(judged.hide(headline(verdict, judged.calls)))} ({verdict.outcome})"
    if verdict.count > 1:
        yield f"  {verdict.count} times"
    problems = [f"call {one.call}: {one.text}" if one.call is not None else one.text for one in verdict.problems]
    for text in dict.fromkeys(problems):
        yield f"  {printable(judged.hide(text))}"
    known = explained.explanation
    if why := explained.text or ("" if known is not None else explained.fix):
        yield f"cause: {printable(judged.hide(why))}"
    if known is not None and known.fix:
        yield f"fix: {known.fix.removeprefix('fix the client: ')}"
    for options in explained.advice:
        yield f"try: {as_set(options)}"


def as_set(options: str) -> str:
    """Options of mitmdump as commands of mitmproxy."""
    return " and ".join(f"set toolstream_{name}={value}" for name, value in option_values(options).items())


def _calls(facts: Facts, judged: ReportedVerdict | None) -> Iterator[str]:
    calls = facts.record.calls
    received = None if facts.received is None else facts.received.calls
    pairs = {} if judged is None else {pair.place: pair.echoed for pair in paired(judged.calls, judged.verdict.sent)}
    for place, call in enumerate(calls):
        yield from _call(place, call, str)
        if received is not None:
            yield f"  received: {_received(call, received, place)}"
        if judged is not None and judged.request is not None and call.kind is not Kind.SERVER:
            yield f"  returned: {_returned(call, pairs.get(place), judged.hide)}"
    if judged is not None:
        yield from _unsent(judged, pairs.values())


def _call(place: int, call: Call, hide: Callable[[str], str]) -> Iterator[str]:
    choice = f" of choice {call.choice}" if call.choice else ""
    kind = "" if call.kind is Kind.FUNCTION else f" ({call.kind})"
    state = "" if call.complete else ", incomplete"
    yield f"call {place}{choice}: {word(hide(call.name)) or '(no name)'}{kind}{state}"
    yield f"  id: {quoted_text(hide(call.id)) if call.id else '(none)'}"
    if call.events:
        yield f"  events: {numbers(call.events.ranges())}"
    yield f"  intended: {_text(hide(call.arguments))}"


def _received(call: Call, received: Sequence[Call], place: int) -> str:
    got = next((one for one in received if one.id == call.id), received[place] if place < len(received) else None)
    if got is None:
        return "nothing"
    return "as intended" if (got.name, got.arguments) == (call.name, call.arguments) else _text(got.arguments)


def _returned(call: Call, echoed: EchoedCall | None, hide: Callable[[str], str]) -> str:
    if echoed is None:
        return "nothing"
    name = "" if echoed.name == call.name else f" under the name {word(hide(echoed.name)) or '(no name)'}"
    if same(hide(call.arguments), hide(echoed.arguments)):
        return f"as intended{name}"
    return f"{_text(hide(echoed.arguments))}{name}"


def _unsent(judged: ReportedVerdict, matched: Collection[EchoedCall]) -> Iterator[str]:
    """The calls that came back and belong to none that was sent."""
    taken = {id(one) for one in matched}
    for one in judged.verdict.sent:
        if id(one) not in taken:
            name = word(judged.hide(one.name)) or "(no name)"
            yield f"returned too: {name}"
            yield f"  id: {quoted_text(judged.hide(one.id)) if one.id else '(none)'}"
            yield f"  arguments: {_text(judged.hide(one.arguments))}"


def _findings(record: Record, hide: Callable[[str], str]) -> Iterator[str]:
    if record.findings:
        yield "findings:"
    for finding in record.findings:
        yield f"  - {finding_line(finding, hide).text}"
        if option := help_with(finding):
            guesses = " (a guess)" if finding.repair == "unsafe" else ""
            yield f"    repair: {as_set(option)}{guesses}"


def _text(arguments: str) -> str:
    if not arguments:
        return "(empty)"
    shown = printable(arguments[:_ARGUMENTS])
    more = len(arguments) - _ARGUMENTS
    return shown if more <= 0 else f"{shown}… ({more} more characters)"
