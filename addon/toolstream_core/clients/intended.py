"""The intended reading of a response, fragment by fragment: what each one adds to the calls that toolstream reports.

The calls at the end are known here. A fragment adds what it continues, or what it says beyond all that came before
(cumulative arguments). A repetition adds nothing. Each call ends with exactly the arguments that are reported.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.calls.json_text import paired
from toolstream_core.calls.open_call import nonblank
from toolstream_core.clients.stepping import Change, What

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Call, EventContent, Fragment

_CUT: Final = r"\\(?:u[0-9a-fA-F]{0,3})?"
_CUT_ESCAPE: Final = re.compile(rf"(?<!\\)(?:\\\\)*({_CUT}|\\u[dD][89abAB][0-9a-fA-F]{{2}}(?:{_CUT})?)\Z")
"""An escape that is cut off, or the first half of a surrogate pair, at the end of a part of a JSON string."""
_HIGH_SURROGATES: Final = ("\ud800", "\udbff")


class ResolvedEvent(NamedTuple):
    """An event of a response, with its fragments in the calls that they belong to, as a `Sink` gets it."""

    number: int
    content: EventContent
    resolved: Sequence[ResolvedFragment]


def intended(calls: Sequence[Call], events: Sequence[ResolvedEvent]) -> Iterator[Change]:
    """What each fragment adds to `calls`, the record's; a change's `place` is the call's place among them."""
    places = reported_places(calls, events)
    left = Counter(places[id(one.call)] for event in events for one in event.resolved)
    growing: dict[int, _Growing] = {}
    for event in events:
        found = {id(one.fragment): places[id(one.call)] for one in event.resolved}
        for at, fragment in enumerate(event.content.fragments):
            place = found.get(id(fragment))
            if place is None:
                yield Change(event.number, at, None, What.SKIPPED)
                continue
            left[place] -= 1
            what = What.APPENDED if place in growing else What.OPENED
            grown = growing.setdefault(place, _Growing(calls[place])).take(fragment, last=not left[place])
            values = grown if what is What.OPENED else [one or None for one in grown]
            yield Change(event.number, at, place, what, *values)


def reported_places(calls: Sequence[Call], events: Sequence[ResolvedEvent]) -> dict[int, int | None]:
    """By the identity of the resolver's call, its place among those reported; `None` for one that is not reported."""
    by_runs = {id(call.events): place for place, call in enumerate(calls)}
    opened = {id(one.call): one.call for event in events for one in event.resolved}
    return {
        key: by_runs[id(call.runs)] if id(call.runs) in by_runs else _merged(calls, call)
        for key, call in opened.items()
    }


def _merged(calls: Sequence[Call], repeated: OpenCall) -> int | None:
    """The place of the call that a repeated one was merged into."""
    first = next(iter(repeated.runs), -1)
    return next(
        (
            place
            for place, call in enumerate(calls)
            if (call.choice, call.id) == (repeated.choice, repeated.id)
            and any(first in numbers for numbers in call.events.ranges())
        ),
        None,
    )


class _Growing:
    """A call on its way to what it is at the end."""

    def __init__(self, call: Call) -> None:
        self._id, self._name, self._arguments = _Text(call.id), _Text(call.name), _Text(call.arguments)

    def take(self, fragment: Fragment, *, last: bool) -> list[str]:
        """What a fragment adds to id, name and arguments; the last one adds what is left."""
        arguments = fragment.arguments if isinstance(fragment.arguments, str) else ""
        said = (nonblank(fragment.id), nonblank(fragment.name), arguments)
        texts = (self._id, self._name, self._arguments)
        return [one.take(text) + (one.rest() if last else "") for one, text in zip(texts, said, strict=True)]


class _Text:
    """A text on its way to what it is at the end."""

    def __init__(self, final: str) -> None:
        self._final, self._size = final, 0
        self._held = ""
        """The beginning of a character that is not complete."""
        self._encoded: bool | None = None
        """Whether the fragments are a JSON string that holds the text; `None`: none has come."""

    def take(self, text: str) -> str:
        """What a fragment adds."""
        if text and self._encoded is None:
            self._encoded = text.startswith('"') and not self._final.startswith('"')
            text = text.removeprefix('"') if self._encoded else text
        text = self._complete(text)
        end = self._size
        if self._final.startswith(text, end):
            end += len(text)
        elif self._final.startswith(text):
            end = max(end, len(text))
        return self._up_to(end)

    def rest(self) -> str:
        """What is left."""
        return self._up_to(len(self._final))

    def _up_to(self, end: int) -> str:
        added, self._size = self._final[self._size : end], end
        return added

    def _complete(self, text: str) -> str:
        """The fragment decoded, without the beginning of a character at its end."""
        text, self._held = self._held + text, ""
        if self._encoded:
            cut = _CUT_ESCAPE.search(text)
            text, self._held = (text[: cut.start(1)], cut.group(1)) if cut else (text, "")
            text = _decoded(text)
        elif _HIGH_SURROGATES[0] <= text[-1:] <= _HIGH_SURROGATES[1]:
            text, self._held = text[:-1], text[-1]
        return paired(text)


def _decoded(text: str) -> str:
    """The meaning of a part of a JSON string, perhaps with the quote that closes it."""
    for part in (text, text.removesuffix('"')):
        try:
            decoded: str = json.loads(f'"{part}"', strict=False)
        except ValueError:
            continue
        return decoded
    return ""
