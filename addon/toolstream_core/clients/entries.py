"""The tool-call entries of a response's events, as a client reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.model import Kind, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.model import EventContent, Fragment

_KEPT: Final = 2
"""Entries at each end of a run that stay as they are; the middle is joined."""


class ReceivedEvent(NamedTuple):
    """An event as the client got it."""

    number: int
    """Its place among the response's events, from 0."""
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
    """Whether it stands in the final `message` of a stream of deltas, which repeats calls that were streamed."""
    finished: bool
    """Whether an earlier event had the finish reason."""
    at: int
    """Its place among all fragments of its event, those of calls that the provider runs included."""
    times: int = 1
    """How many entries of a run it stands for."""


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
    return [entry for event in events for entry in reader.take(event)]


def shortened(entries: Iterable[Entry]) -> list[Entry]:
    """The entries with the middles of runs joined; a run is alike but for its argument text.

    What tells readings apart stands at the ends of runs, but for clients that open a call for each entry of a run.
    """
    found: list[Entry] = []
    run: list[Entry] = []
    for one in entries:
        bare = _bare(one)
        if run and not (bare and _alike(one, run[-1])):
            found += _joined(run)
            run = []
        (run if bare else found).append(one)
    return [*found, *_joined(run)]


def _bare(entry: Entry) -> bool:
    """Whether an entry only adds argument text that completes no object."""
    fragment, text = entry.fragment, entry.fragment.arguments
    alone = entry.alone and fragment.phase is Phase.MORE and fragment.well_formed
    return alone and isinstance(text, str) and bool(text) and not text.rstrip().endswith("}")


def _alike(one: Entry, other: Entry) -> bool:
    return one.finished == other.finished and one.fragment == other.fragment._replace(arguments=one.fragment.arguments)


def _joined(run: Sequence[Entry]) -> Sequence[Entry]:
    """The first two and the last two of a run, and between them one with the rest's text."""
    middle = run[_KEPT:-_KEPT]
    if not middle:
        return run
    text = "".join(one.fragment.arguments for one in middle if isinstance(one.fragment.arguments, str))
    joined = middle[0]._replace(fragment=middle[0].fragment._replace(arguments=text), times=len(middle))
    return [*run[:_KEPT], joined, *run[-_KEPT:]]
