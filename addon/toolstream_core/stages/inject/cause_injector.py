"""The stage that injects a defect: applies the rules of a cause, in any protocol."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, override

from toolstream_core.defects.causes.at import At, Part
from toolstream_core.defects.causes.rule import Again
from toolstream_core.defects.causes.table import causes_for
from toolstream_core.defects.causes.what import What
from toolstream_core.defects.causes.words import OF_WHOLE_CALLS
from toolstream_core.stages.inject.injector import Injector, Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.defects.causes.rule import Cause, Emit, Rule
    from toolstream_core.model import Event, SkippedRun
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.codec import EventCodec
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame


class CauseInjector(Injector):
    """Replaces the events that a cause selects."""

    def __init__(self, context: Context, pick: Pick, codec: EventCodec, cause: Cause) -> None:
        """`codec` reads and writes the events of the stream."""
        super().__init__(context, pick)
        self._codec = codec
        self._cause = cause
        self._steady = all(_is_steady(rule) for rule in cause.rules)
        self.each = any(rule.over or What.OTHER in rule.on.kinds for rule in cause.rules)
        self._calls: list[OpenCall] = []
        self._starts: dict[int, Part] = {}
        """The first event of each call, by `id(call)`."""
        self._kept: dict[int, list[Part]] = {}
        self._head: Part | None = None
        self._late: list[Frame] = []
        self._overtaken = 0
        """How many of them were overtaken by an event of a call."""
        self._acted: Counter[int] = Counter()
        """How many events it replaced, by `id(call)`; by 0 for the stream."""
        self._applied: set[tuple[int, int]] = set()
        """The rules that were applied, by call."""
        self._over = False
        self._acts = False
        """Whether it changed the last event."""

    @property
    @override
    def holding(self) -> bool:
        return bool(self._late) or self._codec.renumbers

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        self._acts = False
        parts = self._codec.parts(event, resolved)
        if self._over:
            return [event.frame] if event.frame.data is None and self._codec.ends_bare else self._nothing(event, parts)
        made = [(part, self._replaced(part, event.frame, parts)) for part in parts]
        before = [] if any(part.call for part in parts) else self._overdue()
        self._overtaken = len(self._late)
        self._acts = any(len(new) != 1 or new[0] is not part for part, new in made)
        if not (self._acts or (parts and self._codec.renumbers)):
            return [*before, event.frame]
        if any(one.late for _, new in made for one in new):
            self._late.append(event.frame)
            return before
        if self._acts:
            self._pick.acted()
        return [*before, *self._codec.frames(event, made, self._context.writer, over=self._over)]

    def _overdue(self) -> list[Frame]:
        """The events that wait; each one that was overtaken counts as a change."""
        if self._overtaken:
            self._pick.acted(self._overtaken)
        return self.release()

    def _nothing(self, event: Event, parts: Sequence[Part]) -> list[Frame]:
        if not parts:
            return []
        self._pick.acted()
        return []

    def _replaced(self, part: Part, frame: Frame, beside: Sequence[Part]) -> Sequence[Part]:
        """What is sent in place of a part."""
        call = part.call if part.call is not None and part.call.kind is self._cause.kind else None
        if part.what is What.HEAD:
            self._head = self._head or part
        if call is not None and id(call) not in self._starts:
            self._starts[id(call)] = part
            self._calls.append(call)
        if self._cause.per_stream:
            if not self._pick.stream():
                return [part]
        elif call is None or not self._pick.call(call):
            return [part]
        key = 0 if self._cause.per_stream or call is None else id(call)
        start = self._starts.get(id(call))
        at = At(part, frame, self._codec, self._context, self._calls, start, self._acted[key], beside)
        what = part.what if part.call is call else What.OTHER
        rule = next((one for one in self._cause.rules if self._applies(one, key, what, at)), None)
        if rule is None or self._over:
            return [] if self._over else [part]
        self._acted[key] += 1
        self._applied.add((key, id(rule)))
        self._over = rule.over
        return [one for emit in rule.emits for one in self._emitted(emit, at)]

    def _applies(self, rule: Rule, key: int, what: What, at: At) -> bool:
        if what not in rule.on.kinds or (rule.once and (key, id(rule)) in self._applied):
            return False
        return all(test(at) for test in rule.on.tests)

    def _emitted(self, emit: Emit, at: At) -> Iterable[Part]:
        source = emit.source
        if callable(source) and not isinstance(source, Again):
            yield from source(at)
            return
        if emit.keep or source is Again.KEPT:
            waiting = self._kept.setdefault(id(at.call), [])
            if emit.keep:
                waiting.append(at.part)
            else:
                yield from waiting
            return
        part: Part | None
        if source is None:
            part = at.part
        elif source is Again.START:
            part = at.start
        elif source is Again.HEAD:
            part = self._head
        else:
            part = self._codec.new(at.part, source)
        if part is None:
            return
        for name, value in emit.fields.items():
            part = self._codec.put(part, name, value(at) if callable(value) else value)
        part = at.part if part == at.part else part
        yield part._replace(late=True) if emit.late else part

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        return self.release()

    @override
    def release(self) -> list[Frame]:
        late, self._late, self._overtaken = self._late, [], 0
        return late

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        return not (self._steady and call.arguments.inside_value)

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        del call
        self._codec.skipped(passed)
        if self._acts:
            self._pick.acted(passed.events)


_OF_IDENTITY: Final = frozenset({"index", "id", "name", "type"})


def _is_steady(rule: Rule) -> bool:
    """Whether the rule does the same to all deltas inside arguments, so that they need not be shown."""
    one = len(rule.emits) == 1 and rule.emits[0].source is None and rule.emits[0].fields.keys() <= _OF_IDENTITY
    plain = one and not rule.once and not rule.over and OF_WHOLE_CALLS.issuperset(rule.on.tests)
    return What.DELTA not in rule.on.kinds or plain


def injectors(
    protocol: str, codec: Callable[[], EventCodec], own: Mapping[str, Cause] = MappingProxyType({})
) -> dict[str, InjectorMaker]:
    """The injectors of a protocol, by the defect's name: of the table of causes, and of its `own` causes."""

    def maker(cause: Cause) -> InjectorMaker:
        return lambda context, pick: CauseInjector(context, pick, codec(), cause)

    return {name: maker(cause) for name, cause in {**causes_for(protocol), **own}.items()}
