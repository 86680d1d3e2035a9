"""Runs the cases of a client: the healthy one first, then the others, several at once."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, Final, NamedTuple, override

from toolstream_core.checking.cases import Case, Kind, Plan, Transport, all_cases, cases_of, healthy
from toolstream_core.checking.client import Client, ProxySlots, Run, Sessions
from toolstream_core.checking.fitting import CheckedRequest, Fitting
from toolstream_core.checking.grading import NOTHING_INJECTED, Result, Skip, failed_call, graded, known_results, rank
from toolstream_core.checking.report import case_object, client_object, rename_reason, result_of
from toolstream_core.clients.advice import Advice
from toolstream_core.defects.defect import Safety
from toolstream_core.defects.table import DEFECTS
from toolstream_core.faults.presets import PRESETS
from toolstream_core.protocols.registry import named
from toolstream_core.redact import redacted
from toolstream_core.repair.event_shapes import CALLS_IN_ONE_EVENT, FINISH_APART, FINISH_WITH_CALLS, INTERLEAVED
from toolstream_core.report.verdict import as_flags, option_values
from toolstream_core.stages import framing
from toolstream_core.state_file import Results
from toolstream_core.synthetic.responses import parse_calls, spec_text, withheld
from toolstream_core.synthetic.strings import clear_places
from toolstream_core.testing import Setup
from toolstream_core.testing.exchanges import ProxiedExchange
from toolstream_core.verdict.judge import KnownResult
from toolstream_core.verdict.outcome import Grade


class CheckState(Results[tuple[str, str], dict[str, Any]]):
    """Finished cases by client and id."""

    command = "toolstream check"
    parts = "command, calls"

    @override
    def read(self, line: str) -> tuple[tuple[str, str], dict[str, Any]] | None:
        try:
            entry = json.loads(line)
        except ValueError:
            return None
        if not isinstance(entry, dict):
            return None
        rename_reason(entry["case"])
        return (entry["client"], entry["case"]["id"]), entry["case"]

    @override
    def line(self, key: tuple[str, str], result: dict[str, Any]) -> str:
        return json.dumps({"client": key[0], "case": result})


SAFE: Final = frozenset(defect.name for defect in DEFECTS if defect.repair is Safety.SAFE)
"""The defects that have a safe repair."""
_WHOLE: Final = "whole-calls"
_UNDONE: Final = {
    **dict.fromkeys(framing.SHAPES, framing.PLAIN_LINES),
    CALLS_IN_ONE_EVENT: "one-call-per-event",
    FINISH_WITH_CALLS: FINISH_APART,
    INTERLEAVED: "sequential",
}
"""The shape that undoes each shape."""
_PARTS: Final[Mapping[str, Sequence[str]]] = {preset.name: preset.parts for preset in PRESETS}


def injected(kind: str, name: str) -> Sequence[str]:
    """The faults that a case injects, by the case's kind and name: a preset has several."""
    return {Kind.FAULT: (name,), Kind.PRESET: _PARTS.get(name, ())}.get(Kind(kind), ())


def candidates(case: Case, exchanges: Sequence[ProxiedExchange], *, upstream: bool = False) -> list[str]:
    """Options of mitmdump to run a failed case under: its verdicts' advice, repairs, shapes.

    The safe repairs of the injected defects come before an advised shape, which delays more of a stream. All safe
    repairs come last: a defect may bring others with it.
    A client that crashed or gave up sent no explainable request, therefore its verdicts advise nothing: it may
    read only complete calls. With the client's own provider (`upstream`) nothing is tried: each run sends billable
    requests.
    """
    if upstream:
        return []
    verdicts = [one.verdict for one in exchanges if one.verdict is not None]
    advised = next((one.advice[0] for one in verdicts if one.advice), "")
    names = injected(case.kind, case.name)
    repair = Advice(repair=",".join(name for name in names if name in SAFE)).options
    whole = any(one.calls and _WHOLE in named(str(one.request.protocol)).shapes for one in exchanges)
    safe = Safety.SAFE if names else ""
    undone = ",".join(_UNDONE[name] for name in names or (case.name,) if name in _UNDONE)
    first = [advised, repair] if "repair" in option_values(advised) else [repair, advised]
    others = [Advice(safe), Advice(safe, undone) if undone else Advice(), Advice(shape=_WHOLE if whole else "")]
    return list(dict.fromkeys(filter(None, [*first, *(one.options for one in others)])))


_PASSED: Final = (Grade.OK, Grade.NOT_STRICT)
_UNTRIED: Final = (Grade.SKIPPED, Grade.HARNESS_FAILURE)


class _Tried(NamedTuple):
    """The result of a case."""

    runs: Sequence[Run]
    worst: Run
    result: Result
    """The result of the worst run."""
    advice: str
    """Options of `check` under which the client passed, if it failed."""


class ClientCheck:
    """The cases of a client, and their results."""

    def __init__(
        self,
        client: Client,
        plan: Plan,
        *,
        slots: ProxySlots,
        state: CheckState,
        rerun: Callable[[str], str],
        on_case: Callable[[dict[str, Any], int, int], None],
        announce: Callable[[str], None],
    ) -> None:
        """`rerun` gives the command line that runs the case of an id; `on_case` is called for each finished case.

        It gets the case, the number of finished cases, and the number of all. `announce` gets one line with the calls.
        """
        self._client = client
        self._plan = plan
        self._slots = slots
        self._state = state
        self._rerun = rerun
        self._report = on_case
        self._announce = announce
        self.protocol: str | None = client.protocol
        """The client's protocol, once it is known."""
        self.withheld: tuple[str, ...] = ()
        """The tools of the client, if none was called because each may have effects."""
        self._results: dict[str, dict[str, Any]] = {}
        self._cases: list[Case] = []
        self.sessions = Sessions()
        """The sessions of the failed cases, for the page."""
        self._known: Sequence[KnownResult] = ()
        """The results of the tools in the healthy runs."""

    def run(self) -> None:
        """Run everything. Raises `KeyboardInterrupt`; finished cases are kept."""
        first = healthy(self._client.protocol or "")
        runs, run, result, advice = self._tried(first)
        self._known = known_results(run.llm_exchanges)
        request = _request(run.llm_exchanges, first)
        if request is not None:
            self.protocol = request.protocol
            first = healthy(request.protocol)
        plan = self._plan
        fitting = None
        if request is not None and result.grade in _PASSED:
            fitting = Fitting(request, calls=plan.calls, tools=plan.tools, seed=plan.seed)
        fitted = self._fitted(fitting)
        left = list(self._left_out({first.id, *(case.id for case in fitted)}, fitting))
        self._cases = [first, *fitted, *(case for case, _ in left)]
        if self._plan.chooses:
            self.withheld = _withheld(run.llm_exchanges)
        if self.withheld:
            result = Result(Grade.HARNESS_FAILURE, None, withheld_text(self.withheld))
        elif result.grade is Grade.HARNESS_FAILURE and (missing := _not_offered(plan, run.llm_exchanges)):
            result = Result(Grade.HARNESS_FAILURE, None, missing)
        self._announce(self._calls_text(run.exchanges))
        self._tried_over(first, _Tried(runs, run, result, advice))
        for case, why in left:
            self._over(case, case_object(case, why, self._rerun(case.id)))
        others = self._cases[1:]
        needed = {case.needs for case in others}
        for stage in ([case for case in others if case.needs == first.id and case.id in needed], others):
            self._run_all([case for case in stage if case.id not in self._results])

    def report(self) -> dict[str, Any]:
        """The client's part of the report; cases that were not run are skipped."""
        not_run = Result(Grade.SKIPPED, Skip.NOT_RUN, "it was not run")
        cases = [self._results.get(case.id) or case_object(case, not_run, self._rerun(case.id)) for case in self._cases]
        return client_object(self._client, self._plan, protocol=self.protocol, cases=cases)

    @property
    def ran_wanted(self) -> bool:
        """Whether any of the wanted cases was tried."""
        ran = {identity for identity, found in self._results.items() if found["grade"] not in _UNTRIED}
        return any(case.id in ran and self._plan.selection.takes(case) for case in self._cases)

    def _fitted(self, fitting: Fitting | None) -> list[Case]:
        """The selected cases, and those that they need."""
        if self.protocol is None:
            return []
        takes = self._plan.selection.takes
        wanted = [case for case in cases_of(named(self.protocol)) if takes(case)]
        if fitting is None:
            return wanted
        return fitting.fitted(wanted, wants=takes) if self._plan.makes_calls else fitting.aimed(wanted)

    def _left_out(self, there: set[str], fitting: Fitting | None) -> Iterator[tuple[Case, Result]]:
        """The wanted cases of this protocol that cannot run, and the named ones of other protocols, each with why."""
        have = {case.id for case in all_cases() if case.protocol == self.protocol}
        selection = self._plan.selection
        for case in all_cases():
            here = replace(case, protocol=self.protocol or "")
            if case.protocol == self.protocol:
                left, wanted = case, (selection.names if case.kind is Kind.HEALTHY else selection.takes)(case)
            else:
                left = here if selection.takes(here) else case
                wanted = selection.names(left) and left.id not in have
            if wanted and left.id not in there:
                there.add(left.id)
                yield left, self._why_not(left, have, fitting)

    def _why_not(self, case: Case, have: set[str], fitting: Fitting | None) -> Result:
        if case.id in have and fitting is not None:
            return fitting.skip_reason(case)
        if case.id in have or self.protocol is None:
            return Result(Grade.SKIPPED, Skip.NO_BASELINE, "the healthy case did not pass")
        return Result(Grade.SKIPPED, Skip.IMPOSSIBLE, f"it is not possible in {self.protocol}")

    def _calls_text(self, exchanges: Sequence[ProxiedExchange]) -> str:
        """The called tools, with their arguments."""
        if not exchanges:
            return redacted(f"{self._client.name}: sent no request to an LLM")
        first = dict.fromkeys(f"{call.name} {call.arguments or '{}'}" for one in exchanges for call in one.calls)
        other = dict.fromkeys(spec_text(spec) for case in self._cases for spec in parse_calls(case.calls))
        more = [text for text in other if text not in first]
        some = f"; some cases call {'; '.join(more)}" if more else ""
        return redacted(f"{self._client.name}: calls {'; '.join(first) or 'no tool'}{some}")

    def _run_all(self, cases: Sequence[Case]) -> None:
        waiting: list[Case] = []
        for case in cases:
            kept = self._state.get((self._client.name, case.id))
            missing = self._missing(case)
            if missing is not None:
                self._over(case, case_object(case, missing, self._rerun(case.id)))
            elif kept is not None and result_of(kept).grade is not Grade.HARNESS_FAILURE:
                self._over(case, kept, keep=False)
            else:
                waiting.append(case)
        with ThreadPoolExecutor(self._slots.count) as pool:
            try:
                self._collect({pool.submit(self._tried, case): case for case in waiting})
            except BaseException:
                self._slots.stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _collect(self, running: dict[Future[_Tried], Case]) -> None:
        while running:
            done, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                case = running.pop(future)
                tried = future.result()
                if case.kind is Kind.HEALTHY and tried.result.grade in _PASSED:
                    self._known = [*self._known, *known_results(tried.worst.llm_exchanges)]
                self._tried_over(case, tried)

    def _tried(self, case: Case) -> _Tried:
        found = [self._run_once(case, self._plan.setup(case)) for _ in range(self._plan.repeat)]
        worst, result = min(found, key=lambda pair: rank(pair[1]))
        advice = self._advice(case, worst) if result.grade is Grade.FAILED else ""
        return _Tried([run for run, _ in found], worst, result, advice)

    def _run_once(self, case: Case, setup: Setup) -> tuple[Run, Result]:
        clear_places()
        with self._slots.taken() as slot:
            run = slot.run(self._client, setup, capture=self._plan.sessions)
        return run, self._graded(case, run)

    def _advice(self, case: Case, failed: Run) -> str:
        """The first options with which the client passes; `""` if there are none."""
        for options in candidates(case, failed.exchanges, upstream=self._plan.upstream):
            added = {name: (value,) for name, value in option_values(options).items()}
            if self._plan.has(**added):
                continue
            _, result = self._run_once(case, self._plan.setup(case, **added))
            if result.grade in (*_PASSED, Grade.CALL_REJECTED):
                return as_flags(options)
        return ""

    def _graded(self, case: Case, run: Run) -> Result:
        """The grade of one run; a response that was not generated for the case may not fit its fault."""
        result = graded(case, run, self._known)
        if result.message == NOTHING_INJECTED and not self._plan.makes_calls:
            return Result(Grade.SKIPPED, Skip.NOTHING_TO_CHANGE, NOTHING_INJECTED)
        if case.kind is Kind.HEALTHY and result.grade not in {Grade.FAILED, Grade.HARNESS_FAILURE}:
            failed = failed_call(run.llm_exchanges)
            return result if failed is None else Result(Grade.HARNESS_FAILURE, None, failed)
        return result

    def _missing(self, case: Case) -> Result | None:
        """The reason why a case is skipped: it cannot be tried, or the case that it needs did not pass."""
        if case.untriable:
            return Result(Grade.SKIPPED, Skip.NOTHING_TO_CHANGE, case.untriable)
        needed = None if case.needs is None else self._results.get(case.needs)
        if needed is None or needed["grade"] in _PASSED:
            return None
        why = f"{case.needs} did not pass: {needed['reason'] or needed['message']}"
        return Result(Grade.SKIPPED, Skip.NO_BASELINE, needed["message"] if needed["grade"] == Grade.SKIPPED else why)

    def _tried_over(self, case: Case, tried: _Tried) -> None:
        runs, run, result, advice = tried
        if result.grade not in (*_PASSED, *_UNTRIED):
            self.sessions.add(case.id, run.captured)
        self._over(case, case_object(case, result, self._rerun(case.id), runs=runs, run=run, advice=advice))

    def _over(self, case: Case, found: dict[str, Any], *, keep: bool = True) -> None:
        self._results[case.id] = found
        if keep and found["grade"] != Grade.SKIPPED:
            self._state.add((self._client.name, case.id), found)
        self._report(found, len(self._results), len(self._cases))


def withheld_text(tools: Sequence[str]) -> str:
    """The message why none of these tools is called, with the option that calls one."""
    listed = ", ".join(tools)
    return f"no tool on offer is known to be harmless: {listed}. To call one, name it: --tool {shlex.quote(tools[0])}"


def _not_offered(plan: Plan, exchanges: Sequence[ProxiedExchange]) -> str:
    """The message about tools of the plan that no request offers; `""` if there are none."""
    offered = dict.fromkeys(name for one in exchanges for name in one.request.tools)
    called = dict.fromkeys((*plan.tools, *(spec.tool for spec in parse_calls(plan.calls))))
    missing = ", ".join(tool for tool in called if tool not in offered)
    return f"the client offers no tool {missing}; available tools: {', '.join(offered)}" if missing and offered else ""


def _withheld(exchanges: Sequence[ProxiedExchange]) -> tuple[str, ...]:
    """The tools that were offered, if none was called because each may have effects."""
    if any(one.calls for one in exchanges):
        return ()
    offered = (withheld(named(str(one.request.protocol)).api, one.request.json) for one in exchanges)
    return next(filter(None, offered), ())


def _request(exchanges: Sequence[ProxiedExchange], case: Case) -> CheckedRequest | None:
    """The request whose response has calls, else the first one for a response."""
    chosen = next((one for one in exchanges if one.calls), exchanges[0] if exchanges else None)
    if chosen is None or chosen.request.protocol is None:
        return None
    if case.protocol and chosen.request.protocol != case.protocol:
        return None
    transport = Transport.SOCKET if chosen.request.over_socket else Transport.HTTP
    return CheckedRequest(chosen.request.protocol, chosen.request.path, chosen.request.text.encode(), transport)
