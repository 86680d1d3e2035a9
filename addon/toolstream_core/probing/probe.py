"""The probe: each case asked several times with and without a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.probing.verdicts import resolved, verdict
from toolstream_core.protocols.api import Question
from toolstream_core.protocols.registry import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.probing.asking import Asker
    from toolstream_core.probing.cases import Case
    from toolstream_core.probing.target import Target
    from toolstream_core.probing.verdicts import ResolvedFragment, Verdict

_NO_USE = frozenset({0, 401, 403, 404, 405, 407})
"""Statuses after which everything else would fail too; 0 is no connection."""


class Probe(NamedTuple):
    """What came of it."""

    target: Target
    times: int
    verdicts: list[Verdict]

    @property
    def asked(self) -> bool:
        """Whether any streamed answer could be compared with a whole one."""
        return any(_any_heard(one.streamed) and _any_heard(one.whole) for one in self.verdicts)

    @property
    def found(self) -> bool:
        """Whether there is something against the provider."""
        return any(one.found for one in self.verdicts)

    @property
    def failed(self) -> bool:
        """Whether something could not be asked."""
        return any(one.failures for one in self.verdicts)


def probe(target: Target, cases: Sequence[Case], times: int, asker: Asker, say: Callable[[str], None]) -> Probe:
    """Ask for each case. Gives up after an answer that makes all further asking useless."""
    verdicts: list[Verdict] = []
    for case in cases:
        answers: dict[bool, list[ResolvedFragment]] = {True: [], False: []}
        for number in range(1, times + 1):
            for streamed in (True, False):
                one = _ask(target, case, asker, streamed=streamed)
                answers[streamed].append(one)
                say(f"{case.name}, {'streamed' if streamed else 'not streamed'} {number} of {times}: {_told(one)}")
                if one.answer.status in _NO_USE:
                    return Probe(target, times, [*verdicts, verdict(case.name, answers[True], answers[False])])
        verdicts.append(verdict(case.name, answers[True], answers[False]))
    return Probe(target, times, verdicts)


def _ask(target: Target, case: Case, asker: Asker, *, streamed: bool) -> ResolvedFragment:
    question = Question(target.model or "", case.prompt, case.tools, streamed)
    request = named(target.protocol).api.request(question)
    return resolved(asker.ask(target.url(streamed=streamed), request))


def _told(one: ResolvedFragment) -> str:
    if one.failure:
        return one.failure
    calls = len(one.record.calls) if one.record is not None else 0
    took = one.answer.chunks[-1][0] if one.answer.chunks else 0
    return f"HTTP {one.answer.status}, {calls} call{'' if calls == 1 else 's'}, {took} ms"


def _any_heard(answers: Sequence[ResolvedFragment]) -> bool:
    return any(one.failure is None for one in answers)
