"""Injects faults into calls that come complete: other values in the fields of an event's calls. Knows no protocol."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Final, override

from toolstream_core.stages.inject.injector import Injector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.repair.complete_form import CompleteCallForm, Entry
    from toolstream_core.repair.fields import Fields
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker, Pick
    from toolstream_core.wire.frame import Frame

type Fault = Callable[[Entry, Context, frozenset[str]], Fields]
"""The fields that a call gets; the set has the ids of the conversation's earlier calls."""


def _double_encoded(one: Entry, *_: object) -> Fields:
    arguments = one.fields.get("arguments")
    return {"arguments": json.dumps(arguments, ensure_ascii=False)} if arguments and isinstance(arguments, dict) else {}


def _decorated_name(one: Entry, context: Context, _: frozenset[str]) -> Fields:
    """Models add the namespace in which their provider shows them the tools."""
    return {"name": f"functions.{one.name}"} if one.name in context.schemas else {}


FIELD_FAULTS: Final[dict[str, Fault]] = {
    "double-encoded-arguments": _double_encoded,
    "decorated-name": _decorated_name,
    "missing-name": lambda one, *_: {"name": ""} if one.name else {},
    "odd-id": lambda one, *_: {"id": f"call {one.call.position}"} if one.name else {},
    "reused-id": lambda one, _, earlier: {"id": min(earlier)} if one.name and earlier else {},
}
"""By the defect's name."""


class FieldInjector(Injector):
    """Changes fields of the selected calls."""

    def __init__(self, form: CompleteCallForm, fault: Fault, context: Context, pick: Pick) -> None:
        """`form`: where the protocol has its calls."""
        super().__init__(context, pick)
        self._form = form
        self._fault = fault

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        context, form = self._context, self._form
        selected = [one for one in form.entries(event.frame.json, resolved) if self._pick.call(one.call)]
        earlier = form.earlier_ids(context.exchange.request) if selected else frozenset()
        faults = [(one, self._fault(one, context, earlier)) for one in selected]
        changes: dict[tuple[str | int, ...], Json] = {}
        for one, fields in faults:
            changes |= form.changes(one, {**one.fields, **fields})
        if changes:
            self._pick.acted(sum(bool(fields) for _, fields in faults))
        return [form.rewritten(event, changes, context.writer)]


class FailureInjector(Injector):
    """Replaces the first call with the provider's failure event, and drops the rest of the response."""

    each = True

    def __init__(self, form: CompleteCallForm, context: Context, pick: Pick) -> None:
        """`form`: where the protocol has its calls."""
        super().__init__(context, pick)
        self._form = form
        self._failed = False

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        if self._failed:
            return [event.frame] if event.frame.data is None else []
        if not any(self._pick.call(one.call) for one in self._form.entries(event.frame.json, resolved)):
            return [event.frame]
        self._failed = True
        self._pick.acted()
        return [self._context.writer.rewrite(event.frame, self._form.failure)]


def injectors(form: CompleteCallForm) -> dict[str, InjectorMaker]:
    """The faults of a protocol with this form, by the defect's name."""
    return {
        **{name: partial(FieldInjector, form, fault) for name, fault in FIELD_FAULTS.items()},
        "in-band-error": partial(FailureInjector, form),
    }
