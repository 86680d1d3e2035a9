"""The entries of an answer's events, as a client goes through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.model import ABSENT, Kind, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.model import EventContent, Fragment

MAX_ENTRIES: Final = 600
"""Entries of an answer that are looked at one by one; the middles of longer runs of bare fragments are joined."""


class ReceivedEvent(NamedTuple):
    """An event as the client got it."""

    number: int
    """Its place among the answer's events, from 0 on."""
    content: EventContent


class Entry(NamedTuple):
    """One tool-call entry of one event."""

    event: int
    place: int
    """Its place among the entries of its event."""
    alone: bool
    """Whether it is the only entry of its event."""
    fragment: Fragment
    repeated: bool
    """Whether it stands in the final `message` of a stream of deltas, which says calls that were streamed again."""
    finished: bool
    """Whether an earlier event said the finish reason."""
    at: int
    """Its place among all fragments of its event, those of calls that the provider runs included."""


class EntryReader:
    """Reads the tool-call entries of a response, event by event."""

    def __init__(self) -> None:
        """No event has come."""
        self._finished = self._ended = False

    def take(self, event: ReceivedEvent) -> list[Entry]:
        """The entries of the next event; none after the event that ends the response."""
        number, content = event
        if self._ended:
            return []
        ours = [(at, one) for at, one in enumerate(content.fragments) if one.kind is not Kind.SERVER]
        alone = len(ours) == 1
        found = [
            Entry(number, place, alone, one, one.phase is Phase.WHOLE and not content.end, self._finished, at)
            for place, (at, one) in enumerate(ours)
        ]
        self._finished = self._finished or any(one.reason for one in content.finishes)
        self._ended = content.end
        return found


def entries_of(events: Iterable[ReceivedEvent]) -> list[Entry]:
    """The entries of the calls that the client runs, up to the event that ends the response."""
    reader = EntryReader()
    found = [entry for event in events for entry in reader.take(event)]
    return found if len(found) <= MAX_ENTRIES else _shortened(found)


def _shortened(entries: Sequence[Entry]) -> list[Entry]:
    """The entries with the middles of runs joined: what tells readings apart stands at the ends of runs."""
    runs: list[list[Entry]] = []
    for one in entries:
        if runs and _bare(one) and _bare(runs[-1][-1]) and _alike(one, runs[-1][-1]):
            runs[-1].append(one)
        else:
            runs.append([one])
    return [one for run in runs for one in _joined(run)]


def _bare(entry: Entry) -> bool:
    fragment = entry.fragment
    unnamed = not isinstance(fragment.id, str) and not isinstance(fragment.name, str)
    return entry.alone and unnamed and fragment.phase is Phase.MORE


def _alike(one: Entry, other: Entry) -> bool:
    return one.finished == other.finished and one.fragment._replace(arguments=ABSENT) == other.fragment._replace(
        arguments=ABSENT
    )


def _joined(run: Sequence[Entry]) -> Iterable[Entry]:
    """The first two and the last two of a run, and between them one with the rest's text."""
    first, middle, last = run[:2], run[2:-2], run[max(2, len(run) - 2) :]
    yield from first
    if middle:
        text = "".join(one.fragment.arguments for one in middle if isinstance(one.fragment.arguments, str))
        yield middle[0]._replace(fragment=middle[0].fragment._replace(arguments=text))
    yield from last
