"""Writes how client models read a response: the changes of their calls, step by step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from toolstream_core.clients.deviations import QUIRKS, MeasuredClient, fix, measured_in, projects
from toolstream_core.clients.explanation import Explanation, divergence
from toolstream_core.clients.fit import possible_deviations
from toolstream_core.clients.model import STANDARD, ClientModel, Deviation, Id
from toolstream_core.clients.received import Received
from toolstream_core.clients.stepping import Change, SteppedCall, Trace, What, intended, traces
from toolstream_core.model import Fragment
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.report.judging import received
from toolstream_core.view.received import Alignment
from toolstream_core.view.response import ReadResponse


class Steps:
    """Encodes changes: `[event, place, what]`, or `[event, place, what, count]` for `count` consecutive events."""

    def __init__(self, fragments: Mapping[tuple[int, int], int], changed: frozenset[int] = frozenset()) -> None:
        """`fragments`: the place of each fragment in the document; `changed`: the changed events."""
        self._fragments = fragments
        self._changed = changed
        self._names: dict[int, list[str]] = {}
        self.arguments: dict[int, list[str]] = {}
        """By place of the call, the fragments of its arguments."""
        self.encoded: list[list[Any]] = []

    def add(self, change: Change, fragment: Fragment) -> None:
        """Add the next change, which `fragment` makes."""
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
        """The id and the name of the call after a change, if it has them."""
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
    """The changes of calls at the end: other arguments, invalid JSON, dropped calls. Equal neighbours are joined."""
    changes: list[dict[str, Any]] = []
    for call in calls:
        if call.place is None:
            continue
        change: dict[str, Any] = {}
        if call.arguments != "".join(arguments.get(call.place, ())):
            change["arguments"] = call.arguments
        if not call.valid:
            change["complete"] = False
        if call.dropped:
            change["dropped"] = call.dropped
        if not change:
            continue
        last = changes[-1] if changes else None
        if last is not None and last["place"] + last.get("count", 1) == call.place and _rest(last) == change:
            last["count"] = last.get("count", 1) + 1
        else:
            changes.append({"place": call.place, **change})
    return changes


def _rest(one: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key not in ("place", "count")}


PROTOCOL: Final = "protocol"
"""The name of the model without deviations."""
INTENDED: Final = "intended"
"""The name of toolstream's own reading."""


class Models:
    """The client models that the document names."""

    def __init__(self) -> None:
        self.table: dict[str, dict[str, Any]] = {}

    def name(self, model: ClientModel, protocol: WireProtocol) -> str:
        """The name of a model: its deviations joined by `+`. `protocol` is that of the response, for the fix."""
        name = "+".join(one.value for one in model.deviations) or PROTOCOL
        if name not in self.table:
            self.table[name] = _described(model.deviations, projects(model.deviations), protocol)
        return name

    def _unstreamed(self, response: ReadResponse) -> dict[str, Any]:
        """The readings of one JSON body: client models differ only in how they read streams."""
        assert response.protocol is not None
        names = (self.name(STANDARD, response.protocol), INTENDED)
        models = [{"model": name, "trace": 0, "correct": True} for name in names]
        return {"models": models, "same": [], "traces": [_intended(response)]}

    def _measured(self, client: MeasuredClient, protocol: WireProtocol) -> str:
        """The name of a client version."""
        name = f"{client.name} {client.version}"
        described = _described(client.deviations, [client.project], protocol)
        self.table[name] = {**described, "client": {"name": client.name, "version": client.version}}
        return name

    def _names(self, model: ClientModel, protocol: WireProtocol, client: ClientModel | None) -> list[str]:
        """The client versions that read as `model`, and its own name if it has at most one deviation."""
        measured = [self._measured(one, protocol) for one in measured_in(protocol.name) if one.model == model]
        own = len(model.deviations) <= 1 or model == client
        return [*([self.name(model, protocol)] if own else []), *measured]

    def _order(self, name: str, client: str | None) -> int:
        """Protocol, intended calls, the client's model, client versions, single deviations."""
        first = [PROTOCOL, INTENDED, client]
        return first.index(name) if name in first else len(first) + ("client" not in self.table[name])

    def readings(
        self, response: ReadResponse, alignment: Alignment | None, explanation: Explanation | None
    ) -> dict[str, Any]:
        """The readings of a response with calls; with an `alignment` if the client got another one."""
        assert response.record is not None
        if not response.record.streamed:
            return self._unstreamed(response)
        got = _Got(response, alignment, None if explanation is None else explanation.choice)
        found, models, same = dict[str, int](), list[dict[str, Any]](), list[str]()
        client = None if explanation is None else explanation.model
        its_name = None if client is None else self.name(client, got.protocol)
        for trace in traces([STANDARD, *_deviating(got, explanation)], got.form, got.entries):
            place = found.setdefault(json.dumps(got.encoded(trace)), len(found))
            correct = {"correct": got.understood(trace)}
            for model in trace.models:
                for name in self._names(model, got.protocol, client):
                    if place == 0 and name not in (PROTOCOL, its_name):
                        same.append(name)
                    else:
                        models.append({"model": name, "trace": place, **correct, **got.diverges(model)})
        last = found.setdefault(json.dumps(_intended(response)), len(found))
        models.append({"model": INTENDED, "trace": last, "correct": True})
        models.sort(key=lambda one: self._order(one["model"], its_name))
        readings: dict[str, Any] = {"models": models, "same": same, "traces": [*map(json.loads, found)]}
        return readings if its_name is None else {**readings, "client": its_name}


class _Got:
    """A response as the client got it, with the provider's numbers of events."""

    def __init__(self, response: ReadResponse, alignment: Alignment | None, choice: int | None) -> None:
        """`choice`: the only one that the client read, if known."""
        assert response.protocol is not None
        self.protocol = response.protocol
        self.form = self.protocol.call_form
        self._changed = frozenset[int]() if alignment is None else frozenset(alignment.changed)
        self._fragments = fragment_places(response)
        self._received = Received(received(response.saved), choice)
        numbers = {} if alignment is None else alignment.numbers
        entries = [one for one in self._received.entries if choice in (None, one.fragment.choice)]
        self.entries = [one._replace(event=numbers.get(one.event, one.event)) for one in entries]

    def encoded(self, trace: Trace) -> dict[str, Any]:
        steps = Steps(self._fragments, self._changed)
        for entry, changes in zip(self.entries, trace.changes, strict=True):
            for change in changes:
                steps.add(change, entry.fragment)
        return {"steps": steps.encoded, "result": result(trace.calls, steps.arguments)}

    def understood(self, trace: Trace) -> bool:
        """Whether the models of a trace read the intended calls."""
        return self._received.is_understood(trace.models[0], self._received.intended)

    def diverges(self, model: ClientModel) -> dict[str, Any]:
        """The first difference between the reading of a model and the protocol's."""
        parted = divergence(model, self.form, self.entries)
        return {} if parted is None else {"diverges": {"event": parted.event, "value": parted.seen}}


def _described(deviations: tuple[Deviation, ...], names: Iterable[str], protocol: WireProtocol) -> dict[str, Any]:
    words = [QUIRKS[one].words for one in deviations]
    return {"description": words, "projects": [*names], "fix": fix(deviations, protocol) if deviations else ""}


def fragment_places(response: ReadResponse) -> dict[tuple[int, int], int]:
    """By event and place in its content, the place of a fragment among those of calls in the document."""
    found: dict[tuple[int, int], int] = {}
    for event in response.events.resolved_events:
        at = {id(fragment): place for place, fragment in enumerate(event.content.fragments)}
        for place, one in enumerate(event.resolved):
            found[event.number, at.get(id(one.fragment), place)] = (
                place  # a fragment that is read differently is another object
            )
    return found


def _intended(response: ReadResponse) -> dict[str, Any]:
    """The steps of toolstream's own reading, which end with the calls that it reports."""
    assert response.record is not None
    events = response.events.resolved_events
    fragments = {event.number: event.content.fragments for event in events}
    steps = Steps(fragment_places(response))
    for change in intended(response.record.calls, events):
        steps.add(change, fragments[change.event][change.fragment])
    return {"steps": steps.encoded, "result": []}


def _deviating(got: _Got, explanation: Explanation | None) -> Iterator[ClientModel]:
    """The client's model, those of client versions, and each deviation that can show in this stream.

    Not those that replace ids: a later request must have them first.
    """
    client = [] if explanation is None or explanation.model == STANDARD else [explanation.model]
    shown = set(possible_deviations(got.form, got.entries)) - {Id.OWN, Id.UNIQUE}
    single = [STANDARD.with_deviations([one]) for one in QUIRKS if one in shown]
    measured = [one.model for one in measured_in(got.protocol.name) if one.deviations]
    yield from dict.fromkeys([*client, *measured, *single])
