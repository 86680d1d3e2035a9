"""How arguments that come in deltas are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model import Phase
from toolstream_core.stages.inject import argument_text
from toolstream_core.stages.inject.argument_text import whole_arguments

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.call_injector import CallInjector, Edit, Edited
    from toolstream_core.stages.inject.wire_event import WireEvent


def _lost(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    return [event.with_text("")] if event.text else None


def _object(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    """Once they are whole, the arguments come as an object; the deltas before are left out."""
    del injector
    if not event.text:
        return None
    whole = whole_arguments(call)
    return [] if whole is None else [event.with_text(whole)]


def _cumulative(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if not event.text:
        return None
    before = injector.kept.get(id(call), "")
    injector.kept[id(call)] = so_far = before + event.text
    return [event.with_text(so_far)] if before else None


def _replayed(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if not event.text or not call.arguments.whole or not injector.first_time(call):
        return None
    return [event, event.with_text(call.arguments.reading()[0])]


def _placeholder(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if not event.text or call.name in injector.context.parameterless or not injector.first_time(call):
        return None
    return [event.with_text("{}"), event]


def _double_encoded(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if not event.text:
        return None
    first, last = injector.first_time(call), call.arguments.whole
    return [event.with_text(argument_text.double_encoded(event.text, first=first, last=last))]


def _invalid(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    """A line feed stands unescaped in a string."""
    if '"}' not in event.text or not injector.first_time(call):
        return None
    return [event.with_text(event.text.replace('"}', '\n"}', 1))]


def _garbage(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    """A special token follows the arguments, in two deltas."""
    if not event.text or not call.arguments.whole or not injector.first_time(call):
        return None
    return [event.with_text(f"{event.text}<|endof"), event.with_text("text|>")]


def _split_surrogate(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    halves = argument_text.split_surrogates(event.text)
    return None if halves is None else [event.with_text(half) for half in halves]


def _prefilled(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    """The start waits for the arguments and has them, and no delta comes."""
    if event.phase is Phase.OPEN:
        injector.kept[id(call)] = event
        return []
    if id(call) not in injector.kept:
        return None
    if event.phase is Phase.MORE:
        return []
    start: WireEvent = injector.kept.pop(id(call))
    return [start.with_arguments(call), event]


def _cut_off(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector
    if not event.text or not call.arguments.whole:
        return None
    return [event.with_text(argument_text.without_end(event.text))]


EDITS: Final[dict[str, Edit]] = {
    "lost-arguments": _lost,
    "object-arguments": _object,
    "cumulative-arguments": _cumulative,
    "replayed-arguments": _replayed,
    "placeholder-arguments": _placeholder,
    "double-encoded-arguments": _double_encoded,
    "invalid-arguments": _invalid,
    "trailing-garbage": _garbage,
    "split-surrogate": _split_surrogate,
    "prefilled-arguments": _prefilled,
    "cut-off-call": _cut_off,
}
