"""Changes of a client's calls as the session view has them: texts are named, and equal steps joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolstream_core.clients.stepping import Change, SteppedCall, What
from toolstream_core.model import Fragment


class Steps:
    """Encodes changes: `[event, place, what]`, or `[event, place, what, count]` for so many consecutive events."""

    def __init__(self, fragments: Mapping[tuple[int, int], int], changed: frozenset[int] = frozenset()) -> None:
        """`fragments` gives the place of a fragment in the document; `changed`: events that the client got changed."""
        self._fragments = fragments
        self._changed = changed
        self._names: dict[int, list[str]] = {}
        self.arguments: dict[int, list[str]] = {}
        """By place of the call, the fragments of its arguments."""
        self.encoded: list[list[Any]] = []

    def add(self, change: Change, fragment: Fragment) -> None:
        """The next change, which `fragment` makes."""
        place = change.place
        if place is None:
            self._step(change.event, -1, {"skip": True})
            return
        arguments = fragment.arguments if isinstance(fragment.arguments, str) else ""
        text = change.arguments
        named = None if change.event in self._changed else self._fragments.get((change.event, change.fragment))
        shown: Any = named if text == arguments and named is not None else text
        given = {} if shown in (None, "") else {"arguments": shown}
        if change.what is What.OPENED:
            self._step(change.event, place, {"open": True, **self._identity(change), **given})
        elif change.what is What.REPLACED:
            self.arguments.pop(place, None) if text is not None else None
            self._step(change.event, place, {**self._identity(change), **given})
        else:
            self._append(change, place, shown, named)
        if text:
            self.arguments.setdefault(place, []).append(text)

    def _append(self, change: Change, place: int, shown: Any, named: int | None) -> None:
        identity = self._identity(change)
        if identity:
            self._step(change.event, place, identity)
        if change.arguments is None and identity:
            return
        empty = named if named is not None and not change.arguments and shown is None else None
        what = shown if isinstance(shown, int) else {"append": shown or ""}
        self._step(change.event, place, what if empty is None else {"append": ""})

    def _identity(self, change: Change) -> dict[str, str]:
        """The id and the name that the call has now, as far as the change gives them."""
        assert change.place is not None
        values = self._names.setdefault(change.place, ["", ""])
        given: dict[str, str] = {}
        for at, (key, text) in enumerate((("id", change.id), ("name", change.name))):
            if text is None:
                continue
            values[at] = values[at] + text if change.what is What.APPENDED else text
            given[key] = values[at]
        return given

    def _step(self, event: int, place: int, what: Any) -> None:
        last = self.encoded[-1] if self.encoded else None
        if last is not None and last[2] == what:
            count = last[3] if len(last) > 3 else 1  # noqa: PLR2004 - the count is the fourth
            rises = count if isinstance(what, dict) and what.get("open") else 0
            if last[0] + count == event and last[1] + rises == place:
                self.encoded[-1] = [*last[:3], count + 1]
                return
        self.encoded.append([event, place, what])


def result(calls: Sequence[SteppedCall], arguments: Mapping[int, Sequence[str]]) -> list[dict[str, Any]]:
    """What the end does to the calls: other arguments, invalid JSON, a call dropped. Equal neighbours are joined."""
    made: list[dict[str, Any]] = []
    for call in calls:
        if call.place is None:
            continue
        one: dict[str, Any] = {}
        if call.arguments != "".join(arguments.get(call.place, ())):
            one["arguments"] = call.arguments
        if not call.valid:
            one["complete"] = False
        if call.dropped:
            one["dropped"] = call.dropped
        if not one:
            continue
        last = made[-1] if made else None
        if last is not None and last["place"] + last.get("count", 1) == call.place and _rest(last) == one:
            last["count"] = last.get("count", 1) + 1
        else:
            made.append({"place": call.place, **one})
    return made


def _rest(one: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key not in ("place", "count")}
