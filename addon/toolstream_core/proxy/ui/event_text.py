"""The view *Events*: one line for each event of a response; consecutive text is one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model import ABSENT
from toolstream_core.printable import printable, quoted
from toolstream_core.report.columns import seen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.clients.stepping import ResolvedEvent
    from toolstream_core.proxy.ui.facts import Facts, TimedEvent

_TEXT: Final = 72
"""Characters of text that are shown."""
_ARGUMENTS: Final = 60
"""Characters of a fragment or an error that are shown."""
_IDENTITY: Final = ("index", "id", "name")
_LANE: Final = 10
"""Columns of `call 0`, `text` or `finish`."""


def event_lines(facts: Facts, diverges: int | None = None) -> Iterator[str]:
    """Of a response; at the event `diverges` the client began to read it otherwise."""
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
    """Of one event, without its place in the response."""
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
        yield f"{'error':<{_LANE}} {quoted(content.error, _ARGUMENTS)}"
    if content.end:
        yield "end"


def _fragment(place: int | None, resolved: ResolvedFragment) -> str:
    fragment = resolved.fragment
    lane = "call" if place is None else f"call {place}"
    fields = [f"{key}={seen(value)}" for key in _IDENTITY if (value := getattr(fragment, key)) is not ABSENT]
    arguments = fragment.arguments
    if arguments is not ABSENT:
        shown = quoted(arguments, _ARGUMENTS) if isinstance(arguments, str) else seen(arguments)
        fields.append(f"arguments={shown}")
    return f"{lane:<{_LANE}} {' '.join(fields)}".rstrip()
