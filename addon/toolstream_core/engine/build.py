"""Makes the stages of one response, from the settings and its protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Final

from toolstream_core.defects.finish import CUT_OFF_CALL
from toolstream_core.defects.table import LEAK
from toolstream_core.engine.chain import Chain, StageSet
from toolstream_core.engine.record_builder import RecordBuilder
from toolstream_core.faults.spec import Picker
from toolstream_core.model import Change, Finding, StreamFacts
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.requests import conversation, match_key
from toolstream_core.repair.shapes import Policy, combined
from toolstream_core.settings import PARTS, SAFE, Settings
from toolstream_core.stages.context import Context, nobody
from toolstream_core.stages.leaks import may_leak
from toolstream_core.stages.repair.leaked_calls import LeakedCallRepairer
from toolstream_core.stages.response_ids import ResponseIds
from toolstream_core.stages.stage import Audited, OwnCalls, Stage, StageMaker
from toolstream_core.wire.write import SseWriter, Unwritten, Writer

LEAK_CODES: Final = frozenset(defect.code for defect in LEAK)


@dataclass
class ChainFactory:
    """Makes the stages of one streamed response whose protocol is known."""

    exchange: StreamFacts
    settings: Settings
    protocol: WireProtocol
    writer: Writer
    reader: RecordBuilder
    """Builds the record, and receives findings and changes."""
    ids: ResponseIds
    number: int
    """The number of the stream in its run, which seeds the selection of faults."""
    pickers: list[Picker] = field(default_factory=list)
    """Decide which events a fault acts on; one for each fault of the response."""

    def stages(self) -> StageSet:
        """The stages of the response. Stages that only check are in a chain of their own.

        The search for leaked calls changes nothing, and precedes stages that check for themselves.
        """
        faults = self._faults()
        checkers, stages = self._checkers_and_repairers()
        stages += [self._audited("shape", name, shape) for name, shape in self._shapes[1].items()]
        adds_calls = bool(self.settings.repairs & LEAK_CODES)
        if adds_calls:
            leaks = LeakedCallRepairer(self._context(self.settings.repairs, changed=self.reader.changed))
            stages = [leaks, *map(self._with_own_calls, stages)]
        (stages if stages and not checkers else checkers).insert(
            0, LeakedCallRepairer(self._context(found=self.reader.found))
        )
        read = self.protocol.read
        return StageSet(
            self.reader,
            Chain(faults, read, self.reader) if faults else None,
            Chain(checkers, read, self.reader) if checkers else None,
            Chain(stages, read, self.reader, self._at_end()) if stages else None,
            None if adds_calls else self.reader,
            may_leak,
        )

    def _checkers_and_repairers(self) -> tuple[list[Stage], list[Stage]]:
        """The repairers that only check, and those that repair and shape.

        If all safe repairs are on, the same ones do both, unless a policy withholds calls: a finding belongs to the
        event that shows it.
        """
        repairs, repairers = self.settings.repairs, self.protocol.repairs
        policy, _ = self._shapes
        if repairs == SAFE and not policy.withholds:
            return [], self._repairers(self._context(repairs, self.reader.found, self.reader.changed))
        context = replace(self._context(SAFE, self.reader.found), ids=ResponseIds(), reports_only=True)
        if isinstance(context.writer, SseWriter):
            context.writer = Unwritten()
        checkers: list[Stage] = [repairer(context) for repairer in repairers]
        shaping = self._context(repairs, changed=self.reader.changed)
        if repairs:
            return checkers, self._repairers(shaping)
        return checkers, [] if policy.is_empty else [self.protocol.shaped(policy)(shaping)]

    def _repairers(self, context: Context) -> list[Stage]:
        """The repairers in their order; the last one repairs and shapes calls."""
        policy, _ = self._shapes
        makers = [*self.protocol.repairs[:-1], self.protocol.shaped(policy)]
        return [maker(replace(context)) for maker in makers]

    @cached_property
    def _shapes(self) -> tuple[Policy, dict[str, StageMaker]]:
        """The policy of the last repairer, and the shapes that come after the repairers."""
        known = self.protocol.shapes if self.settings.shapes else {}
        found = {name: known[name] for name in self.settings.shapes if name in known}
        policy = combined(one for one in found.values() if isinstance(one, Policy))
        return policy, {name: one for name, one in found.items() if not isinstance(one, Policy)}

    def _audited(self, kind: str, name: str, make: Callable[[Context], Stage]) -> Stage:
        """A shape or a fault, with a record of its changes."""
        context = self._context(changed=self.reader.changed)
        return Audited(context, make(context), kind, name)

    def _with_own_calls(self, stage: Stage) -> OwnCalls:
        """A stage that resolves its calls itself."""
        return OwnCalls(self._context(), stage, self.protocol.calls(self.reader.parameters))

    def _faults(self) -> list[OwnCalls]:
        """The stages that inject faults into this stream."""
        stages: list[OwnCalls] = []
        if not self.settings.faults:
            return stages
        model = match_key.model_of(self.exchange.path, self.exchange.request)
        turn = conversation.results(self.exchange.request)
        for place, (fault, budget) in enumerate(self.settings.faults):
            if fault.reaches(host=self.exchange.host, path=self.exchange.path, model=model, turn=turn):
                pick = Picker(fault, f"{self.settings.seed}|{self.number}|{place}", budget)
                self.pickers.append(pick)
                for part in PARTS.get(fault.name, (fault.name,)):
                    stages += map(self._with_own_calls, self._fault(part, pick))
        return stages

    def _fault(self, part: str, pick: Picker) -> list[Stage]:
        """The stage for a part of a fault; none if the protocol has none, or the stream was not selected."""
        injectors, shapes = self.protocol.injectors, self.protocol.shapes
        if part in injectors:
            return [self._audited("fault", pick.fault.name, lambda context: injectors[part](context, pick))]
        if part in shapes and pick.stream():
            shape, counted = shapes[part], self._context(changed=partial(_counted, pick, self.reader.changed))
            if isinstance(shape, Policy):
                return [self.protocol.shaped(shape)(counted)]
            return [Audited(counted, shape(counted), "fault", pick.fault.name)]
        return []

    def _context(
        self,
        repairs: frozenset[str] = frozenset(),
        found: Callable[[Finding], None] = nobody,
        changed: Callable[[Change], None] = nobody,
    ) -> Context:
        return Context(
            self.exchange,
            self.reader.schemas,
            promote=self.protocol.promoted,
            id_prefix=self.protocol.id_prefix,
            ids_in=conversation.earlier_ids,
            reads_comments=self.protocol.reads_comments,
            repairs=repairs,
            writer=self.writer,
            ids=self.ids,
            found=found,
            changed=changed,
            incomplete_calls=self.reader.incomplete_calls,
            stop_checks=self.reader.stop_checks,
        )

    def _at_end(self) -> Stage | None:
        """The stage that withholds the end of a response with an incomplete call."""
        if CUT_OFF_CALL.code not in self.settings.repairs:
            return None
        at_end = self.protocol.at_end
        return None if at_end is None else at_end(self._context(self.settings.repairs, changed=self.reader.changed))


def _counted(pick: Picker, changed: Callable[[Change], None], change: Change) -> None:
    """Report a change of a shape that is part of a fault as a change of the fault."""
    pick.acted()
    changed(change._replace(names=(pick.fault.name,), kind="fault"))
