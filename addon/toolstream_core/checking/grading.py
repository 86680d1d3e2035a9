"""The grade of a client in one case, by the verdicts, the exit code, and the requirements of the case."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.checking.cases import Case, Kind
from toolstream_core.checking.effects import Effect, effects, known_results, rejected, without_earlier_calls
from toolstream_core.verdict import Outcome
from toolstream_core.verdict.evidence import KnownResult, Sign

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.checking.client import Run
    from toolstream_core.testing.exchanges import Exchange, FoundProblem


class Skip(enum.StrEnum):
    """The reasons of skipped cases in reports."""

    IMPOSSIBLE = "not possible in this protocol"
    OTHER_CONNECTION = "not possible over this connection"
    NO_STREAM = "the client does not stream"
    NOTHING_TO_CHANGE = "nothing to change"
    NO_BASELINE = "its baseline did not pass"
    NOT_RUN = "not run"


class Grade(enum.StrEnum):
    """From the best to the worst, then the grades that do not judge the client."""

    OK = "ok"
    NOT_STRICT = "not-strict"
    """It got through in a weaker way that is permitted."""
    INFO = "info"
    """No behaviour is required."""
    CALL_REJECTED = "call-rejected"
    """The client returned a call, and its result shows that the tool did not run."""
    UNKNOWN = "unknown"
    """The client returned a call that must not run, and nothing shows whether it ran."""
    FAILED = "failed"
    HARNESS_FAILURE = "harness-failure"
    """The case could not be tried."""
    SKIPPED = "skipped"


class Reason(enum.StrEnum):
    """Why a client failed, by severity."""

    RAN_INCOMPLETE = "ran an incomplete call"
    RAN_TWICE = "ran a call twice"
    INCOMPLETE = "returned an incomplete call"
    TWICE = "returned a call twice"
    PHANTOM = "returned a call that was not sent"
    WITHOUT_ARGUMENTS = "returned without arguments"
    WRONG_ARGUMENTS = "wrong arguments"
    LOST = "lost a call"
    SPLIT = "split a call"
    MERGED = "returned merged calls"
    WRONG_ID = "wrong id"
    WRONG_NAME = "wrong name"
    LOOPED = "retried in a loop"
    GAVE_UP = "gave up"
    CRASHED = "crashed"


REASONS: Final = {
    Outcome.RAN_INCOMPLETE_CALL: Reason.RAN_INCOMPLETE,
    Outcome.RETURNED_INCOMPLETE_CALL: Reason.INCOMPLETE,
    Outcome.SPLIT_CALL: Reason.SPLIT,
    Outcome.RETURNED_MERGED: Reason.MERGED,
    Outcome.WRONG_NAME: Reason.WRONG_NAME,
    Outcome.LOST_CALL: Reason.LOST,
    Outcome.PHANTOM_CALL: Reason.PHANTOM,
    Outcome.DUPLICATE_CALL: Reason.RAN_TWICE,
    Outcome.WRONG_ARGUMENTS: Reason.WRONG_ARGUMENTS,
    Outcome.RETURNED_WITHOUT_ARGUMENTS: Reason.WITHOUT_ARGUMENTS,
    Outcome.WRONG_ID: Reason.WRONG_ID,
    Outcome.CALL_REJECTED: None,
    Outcome.RETRIED: Reason.LOOPED,
    Outcome.ABORTED: Reason.GAVE_UP,
    Outcome.SILENT: Reason.GAVE_UP,
    Outcome.RESULTS_ONLY: None,
    Outcome.AS_TEXT: Reason.INCOMPLETE,
    Outcome.OK: None,
}
"""What each verdict means as a reason. `as-text` is a problem only where the text has an incomplete call."""
_RETURNED: Final = {
    Outcome.RETURNED_INCOMPLETE_CALL: Reason.INCOMPLETE,
    Outcome.DUPLICATE_CALL: Reason.TWICE,
}
"""Reasons where no result shows that the call ran."""
_BY_RESULTS: Final = frozenset(
    {Outcome.RAN_INCOMPLETE_CALL, Outcome.RETURNED_INCOMPLETE_CALL, Outcome.CALL_REJECTED, Outcome.AS_TEXT}
)
"""Verdicts that the results of the complete run decide on (`effects`)."""
_MISREAD: Final = frozenset({Reason.WRONG_ARGUMENTS, Reason.WITHOUT_ARGUMENTS, Reason.WRONG_NAME})
"""Reasons that a rejection excuses in a case that no client has to read."""
_NOT_RUN: Final = frozenset({Outcome.RETRIED, Outcome.ABORTED, Outcome.SILENT})
"""Verdicts on a client that did not run the call."""
NOTHING_INJECTED: Final = "nothing was injected: the fault does not apply to any response"
_LOOP: Final = 4
"""Identical requests that make a loop."""


class Result(NamedTuple):
    """A grade, and why."""

    grade: Grade
    reason: Reason | Skip | None = None
    message: str | None = None


_RANKS: Final = (
    Grade.FAILED, Grade.HARNESS_FAILURE, Grade.UNKNOWN, Grade.CALL_REJECTED, Grade.NOT_STRICT, Grade.SKIPPED,
    Grade.INFO, Grade.OK,
)  # fmt: skip


def rank(result: Result) -> tuple[int, int]:
    """The smaller, the worse."""
    reason = list(Reason).index(result.reason) if isinstance(result.reason, Reason) else 99
    return _RANKS.index(result.grade), reason


def graded(case: Case, run: Run, known: Sequence[KnownResult] = ()) -> Result:
    """What the client did in one run of a case; `known` are the results of the tools in the healthy run."""
    asked = without_earlier_calls([one for one in run.exchanges if one.request.protocol is not None])
    untried = _untried(case, run, asked)
    if untried is not None:
        return Result(Grade.HARNESS_FAILURE, None, untried)
    found = effects(asked, known_results(asked) if case.kind is Kind.HEALTHY else known)
    result = _ran(found) or _judged(case, run, asked)
    if result.grade in (Grade.OK, Grade.NOT_STRICT):
        result = _not_shown(found) or result
    elif result.reason in _MISREAD and _rejected_misread(case, asked, known):
        result = Result(Grade.CALL_REJECTED, result.reason, f"{result.message}; the client rejected the call")
    if case.informational and result.grade is not Grade.OK:
        return Result(Grade.INFO, result.reason, result.message)
    return result


def _rejected_misread(case: Case, asked: Sequence[Exchange], known: Sequence[KnownResult]) -> bool:
    """Whether the client rightly rejected all calls that it returned changed.

    It may reject what no client has to read, and a tool that it did not offer.
    """
    misread = [
        (at, one, one.calls[problem.call])
        for at, one in enumerate(asked)
        for problem in (() if one.verdict is None else one.verdict.problems)
        if REASONS[Outcome(problem.verdict)] in _MISREAD and problem.call is not None
    ]
    return bool(misread) and all(
        (not case.required or (one.request.tools and call.name not in one.request.tools))
        and any(rejected(one, call, asked[at + 1 :], known))
        for at, one, call in misread
    )


def _ran(found: Sequence[Effect]) -> Result | None:
    """The worst of the calls that ran and must not have."""
    return _worst((REASONS[one.outcome], one.text) for one in found if one.sign is Sign.ACCEPTED)


def _worst(found: Iterable[tuple[Reason | None, str]]) -> Result | None:
    """The failure with the worst reason; `None` where there is none."""
    reasons = [Result(Grade.FAILED, reason, text) for reason, text in found if reason is not None]
    return min(reasons, key=rank, default=None)


def _not_shown(found: Sequence[Effect]) -> Result | None:
    """The grade of returned calls that nothing shows to have run."""
    for sign, grade in ((Sign.UNKNOWN, Grade.UNKNOWN), (Sign.REJECTED, Grade.CALL_REJECTED)):
        if one := next((one for one in found if one.sign is sign), None):
            return Result(grade, _RETURNED.get(one.outcome), one.text)
    return None


def _untried(case: Case, run: Run, asked: Sequence[Exchange]) -> str | None:
    """Why a run cannot be judged; `None` if it can."""
    if run.failure is not None:
        return run.failure
    if not asked:
        others = f"; it requested {run.exchanges[0].request.url}" if run.exchanges else ""
        return f"the client sent no request to an LLM before the command {run.ending}{others}"
    if case.kind is Kind.HEALTHY:
        if not any(one.calls for one in asked):
            offered = dict.fromkeys(name for one in asked for name in one.request.tools)
            shown = f"available tools: {', '.join(offered)}" if offered else "no request offered a tool"
            return f"no response made the requested call: {shown}"
        return None
    if not any(_is_injected(one) for one in asked):
        return NOTHING_INJECTED
    return None


def _is_injected(exchange: Exchange) -> bool:
    by_status = exchange.comment.startswith("answered by fault")
    return by_status or any(fault.changes for fault in exchange.faults)


def _judged(case: Case, run: Run, asked: Sequence[Exchange]) -> Result:
    wrong = _wrong(case, asked)
    if wrong is not None:
        return wrong
    again = sum(one.verdict is not None and one.verdict.verdict == Outcome.RETRIED for one in asked)
    if run.timed_out and again >= _LOOP:
        return Result(
            Grade.FAILED, Reason.LOOPED, f"the client repeated the request {again} times, and the command {run.ending}"
        )
    if run.timed_out:
        return Result(Grade.FAILED, Reason.GAVE_UP, f"the command {run.ending}")
    if run.exit_code is not None and run.exit_code < 0:
        return Result(Grade.FAILED, Reason.CRASHED, f"the command {run.ending}")
    through = [one for one in asked if _came_back(one)]
    if case.lossy:
        return _not_run(again, through)
    if through:
        return _through(run, again)
    return _given_up(case, run, again)


def _wrong(case: Case, asked: Sequence[Exchange]) -> Result | None:
    """The worst problem of the calls that the client returned changed."""
    permitted = _NOT_RUN | _BY_RESULTS | ({Outcome.LOST_CALL} if case.lossy else frozenset())
    return _worst(
        (REASONS[Outcome(problem.verdict)], _text(one, problem))
        for one in asked
        if one.verdict is not None
        for problem in one.verdict.problems
        if Outcome(problem.verdict) not in permitted and not _is_repeated(problem) and not _is_renamed(one, problem)
    )


def _is_repeated(problem: FoundProblem) -> bool:
    """Whether a call was returned twice, or with several results: `effects` decides whether it ran twice."""
    return problem.verdict == Outcome.DUPLICATE_CALL


def _is_renamed(exchange: Exchange, problem: FoundProblem) -> bool:
    """Whether these are the arguments of a call that was returned under another name: the name is the reason."""
    problems = () if exchange.verdict is None else exchange.verdict.problems
    names = {each.call for each in problems if each.verdict == Outcome.WRONG_NAME}
    return problem.verdict == Outcome.WRONG_ARGUMENTS and problem.call in names


def _text(exchange: Exchange, problem: FoundProblem) -> str:
    which = "" if problem.call is None else f"call {problem.call} {exchange.calls[problem.call].name}: "
    if exchange.verdict is None:
        return f"{which}{problem.message}"
    explanation, fix = exchange.verdict.explanation, exchange.verdict.fix
    why = f", because {explanation}" if explanation else ""
    return f"{which}{problem.message}{why}{f'; {fix}' if fix else ''}"


def _came_back(exchange: Exchange) -> bool:
    """Whether the client returned the intended calls of a response."""
    verdict = exchange.verdict
    if verdict is None or verdict.request is None:
        return False
    right = {Outcome.OK, Outcome.RESULTS_ONLY, Outcome.AS_TEXT, Outcome.CALL_REJECTED}
    return all(problem.verdict == Outcome.CALL_REJECTED or _is_repeated(problem) for problem in verdict.problems) and (
        verdict.verdict in right or bool(verdict.problems)
    )


def _not_run(again: int, through: Sequence[Exchange]) -> Result:
    """The client ran no call that must not run; `through` are the responses whose calls it returned."""
    if again >= _LOOP:
        return Result(Grade.FAILED, Reason.LOOPED, f"the client repeated the request {again} times")
    if any(_is_injected(one) for one in through):
        return Result(Grade.OK, None, "returned the call as it was sent")
    return Result(Grade.OK, None, "ran the call of a repeated request" if through else "ran no call")


def _through(run: Run, again: int) -> Result:
    if again >= _LOOP:
        return Result(
            Grade.FAILED, Reason.LOOPED, f"the client repeated the request {again} times before it ran the call"
        )
    if run.exit_code:
        return Result(Grade.FAILED, Reason.CRASHED, f"the client ran every call correctly, and {run.ending}")
    if again:
        return Result(Grade.NOT_STRICT, None, "the client repeated the request before it ran the call")
    return Result(Grade.OK)


def _given_up(case: Case, run: Run, again: int) -> Result:
    """The grade of a client that did not run a call that it could have run."""
    if again >= _LOOP:
        return Result(Grade.FAILED, Reason.LOOPED, f"the client repeated the request {again} times")
    if case.may_refuse and run.exit_code:
        return Result(Grade.NOT_STRICT, None, f"the client did not run the call, and {run.ending}")
    reason = Reason.CRASHED if run.exit_code else Reason.GAVE_UP
    return Result(Grade.FAILED, reason, f"the client did not run the call, and {run.ending}")
