"""The text of the content views *Tool calls* and *Events*, in lines that mitmweb and the console do not wrap."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from toolstream_core.calls import ResolvedFragment
from toolstream_core.calls.json_text import same
from toolstream_core.clients.model import ResolvedEvent
from toolstream_core.model import ABSENT, Call, Kind, Record
from toolstream_core.printable import printable, quoted, quoted_text, word
from toolstream_core.protocols.requests.conversation import ReturnedCall
from toolstream_core.proxy.ui.facts import Facts
from toolstream_core.proxy.ui.known import Seen
from toolstream_core.report.columns import seen
from toolstream_core.report.lines import finding_line, help_with, notes, overview
from toolstream_core.report.verdict import ReportedVerdict, headline, option_values, without_verdict
from toolstream_core.verdict.compare import paired
from toolstream_core.view.response import TimedEvent

_ARGUMENTS: Final = 4000
"""Characters of arguments that are shown; the body has them all."""


def response_lines(facts: Facts, seen: Seen) -> Iterator[str]:
    """The lines of a response: the verdict first."""
    record, judged = facts.record, seen.judged
    if judged is None:
        yield f"verdict: {without_verdict(record)}"
    else:
        yield from _verdict(judged)
    yield f"response: {record.protocol}, {overview(seen.record or record, None).text}"
    if record.error:
        yield f"error: {printable(record.error)}"
    for marked in notes(seen.record or record, seen.hide):
        yield marked.text
    yield from _calls(facts, judged)
    yield from _findings(seen.record or record, seen.hide)


def returned_lines(verdicts: Sequence[ReportedVerdict]) -> Iterator[str]:
    """The lines of a request: how the client interpreted earlier responses."""
    for judged in verdicts:
        yield from _verdict(judged)
        yield f"response: flow {judged.source}"
        pairs = {pair.place: pair.returned for pair in paired(judged.calls, judged.verdict.sent)}
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
    pairs = {} if judged is None else {pair.place: pair.returned for pair in paired(judged.calls, judged.verdict.sent)}
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


def _returned(call: Call, returned: ReturnedCall | None, hide: Callable[[str], str]) -> str:
    if returned is None:
        return "nothing"
    name = "" if returned.name == call.name else f" under the name {word(hide(returned.name)) or '(no name)'}"
    if same(hide(call.arguments), hide(returned.arguments)):
        return f"as intended{name}"
    return f"{_text(hide(returned.arguments))}{name}"


def _unsent(judged: ReportedVerdict, matched: Collection[ReturnedCall]) -> Iterator[str]:
    """The returned calls that were not sent."""
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


_TEXT: Final = 72
"""Characters of text that are shown."""
_FRAGMENT: Final = 60
"""Characters of a fragment or an error that are shown."""
_IDENTITY: Final = ("index", "id", "name")
_LANE: Final = 10
"""Columns of `call 0`, `text` or `finish`."""


def event_lines(facts: Facts, diverges: int | None = None) -> Iterator[str]:
    """The lines of a response; at the event `diverges` the client began to misread it."""
    found: dict[int, list[str]] = {}
    for finding in facts.record.findings:
        found.setdefault(finding.event, []).append(finding.name)
    run: list[tuple[TimedEvent, str, str]] = []
    for event in facts.events:
        lane, text = _only_text(event)
        marked = event.number in found or event.number == diverges
        if run and (marked or lane != run[0][1]):
            yield _folded(run)
            run = []
        if lane and not marked:
            run.append((event, lane, text))
        else:
            yield from _line(facts, event, found.get(event.number, ()), diverges=event.number == diverges)
    if run:
        yield _folded(run)


def event_line(facts: Facts, event: TimedEvent) -> str:
    """The line of one event, without its place in the response."""
    return " | ".join(_parts(facts, event.resolved)) or "other"


def _only_text(event: TimedEvent) -> tuple[str, str]:
    """The lane and the text of an event that has nothing else; a comment or a blank frame has a lane too."""
    if event.resolved is None:
        return "comment", ""
    content = event.resolved.content
    if (
        event.resolved.resolved
        or content.finishes
        or content.error
        or content.end
        or (content.text and content.thought)
    ):
        return "", ""
    if content.thought:
        return "reasoning", content.thought
    return ("text", content.text) if content.text else ("other", "")


def _folded(run: Sequence[tuple[TimedEvent, str, str]]) -> str:
    first, last, lane = run[0][0], run[-1][0], run[0][1]
    where = str(first.number) if first.number == last.number else f"{first.number}-{last.number}"
    text = "".join(text for _, _, text in run)
    return f"{where:>11} {_clock(first):>9}  {lane:<{_LANE}} {quoted(text, _TEXT) if text else ''}".rstrip()


def _line(facts: Facts, event: TimedEvent, names: Sequence[str], *, diverges: bool) -> Iterator[str]:
    sign = ">" if diverges else "!" if names else " "
    text = " | ".join(_parts(facts, event.resolved)) if event.resolved is not None else "comment"
    yield f"{sign}{event.number:>10} {_clock(event):>9}  {text or 'other'}"
    if names:
        yield f"{'':>23} ^ {', '.join(names)}"
    if diverges:
        yield f"{'':>23} ^ from here the client reads the response differently"


def _clock(event: TimedEvent) -> str:
    return "" if event.ms is None else f"{event.ms} ms"


def _parts(facts: Facts, event: ResolvedEvent | None) -> Iterator[str]:
    if event is None:
        return
    content = event.content
    for lane, text in (("reasoning", content.thought), ("text", content.text)):
        if text:
            yield f"{lane:<{_LANE}} {quoted(text, _TEXT)}"
    for one in event.resolved:
        yield _fragment(facts.place_of(one), one)
    for finish in content.finishes:
        yield f"{'finish':<{_LANE}} {printable(finish.reason)}"
    if content.error:
        yield f"{'error':<{_LANE}} {quoted(content.error, _FRAGMENT)}"
    if content.end:
        yield "end"


def _fragment(place: int | None, resolved: ResolvedFragment) -> str:
    fragment = resolved.fragment
    lane = "call" if place is None else f"call {place}"
    fields = [f"{key}={seen(value)}" for key in _IDENTITY if (value := getattr(fragment, key)) is not ABSENT]
    arguments = fragment.arguments
    if arguments is not ABSENT:
        shown = quoted(arguments, _FRAGMENT) if isinstance(arguments, str) else seen(arguments)
        fields.append(f"arguments={shown}")
    return f"{lane:<{_LANE}} {' '.join(fields)}".rstrip()


WIDTH: Final = 80
"""Columns of a line. mitmweb does not wrap lines."""
_HANGING: Final = "    "
"""The beginning of the further lines of a long one."""


def wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Lines of at most 80 columns."""
    return (part for line in lines for part in _broken(line))


def _broken(line: str) -> Sequence[str]:
    if len(line) <= WIDTH:
        return [line]
    indent = line[: len(line) - len(line.lstrip())] + _HANGING
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, replace_whitespace=False, tabsize=1
    )


def numbers(ranges: Iterable[range]) -> str:
    """Numbers as `57-62` or `3, 5-9`."""
    return ", ".join(str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in ranges)
