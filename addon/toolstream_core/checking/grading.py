"""What a client is graded in one case: by the verdicts on what it did, its exit code, and what the case asks for."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.checking.case import Case, Kind
from toolstream_core.model import Severity
from toolstream_core.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.checking.run import Run
    from toolstream_core.checking.skip import Skip
    from toolstream_core.testing.exchanges import Exchange, SentCall
    from toolstream_core.testing.found import FoundProblem


class Grade(enum.StrEnum):
    """From the best to the worst, then what says nothing of the client."""

    OK = "ok"
    NOT_STRICT = "not-strict"
    """It got through in a weaker way that is permitted."""
    INFO = "info"
    """No behaviour is required."""
    FAILED = "failed"
    HARNESS_FAILURE = "harness-failure"
    """The case could not be tried."""
    SKIPPED = "skipped"


class Reason(enum.StrEnum):
    """Why a client failed, the worst first."""

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
    AGAIN = "asked again and again"
    GAVE_UP = "gave up"
    CRASHED = "crashed"

    @classmethod
    def _missing_(cls, value: object) -> Reason | None:
        """Accept the words of version 1 of the report."""
        return cls(_RENAMED[value]) if isinstance(value, str) and value in _RENAMED else None


_RENAMED: Final = {
    "ran a half call": "returned an incomplete call",
    "ran a call twice": "returned a call twice",
    "ran a call that was not made": "returned a call that was not sent",
    "lost arguments": "returned without arguments",
    "merged calls": "returned merged calls",
}


REASONS: Final = {
    Outcome.RETURNED_INCOMPLETE_CALL: Reason.INCOMPLETE,
    Outcome.SPLIT_CALL: Reason.SPLIT,
    Outcome.RETURNED_MERGED: Reason.MERGED,
    Outcome.WRONG_NAME: Reason.WRONG_NAME,
    Outcome.LOST_CALL: Reason.LOST,
    Outcome.PHANTOM_CALL: Reason.PHANTOM,
    Outcome.DUPLICATE_CALL: Reason.TWICE,
    Outcome.WRONG_ARGUMENTS: Reason.WRONG_ARGUMENTS,
    Outcome.RETURNED_WITHOUT_ARGUMENTS: Reason.WITHOUT_ARGUMENTS,
    Outcome.WRONG_ID: Reason.WRONG_ID,
    Outcome.RETRIED: Reason.AGAIN,
    Outcome.ABORTED: Reason.GAVE_UP,
    Outcome.SILENT: Reason.GAVE_UP,
    Outcome.RESULTS_ONLY: None,
    Outcome.AS_TEXT: Reason.INCOMPLETE,
    Outcome.OK: None,
}
"""What each verdict means as a reason. `as-text` is a problem only where the text says that half a call was run."""
_NOT_RUN: Final = frozenset({Outcome.RETRIED, Outcome.ABORTED, Outcome.SILENT})
"""Verdicts on a client that did not run the call."""
NOTHING_PLANTED: Final = "nothing was planted: no answer could be broken so"
_LOOP: Final = 4
"""Requests for the same from which on a client asks again and again."""


class Result(NamedTuple):
    """A grade, and why."""

    grade: Grade
    reason: Reason | Skip | None = None
    message: str | None = None


def rank(result: Result) -> tuple[int, int]:
    """The smaller, the worse."""
    order = [Grade.FAILED, Grade.HARNESS_FAILURE, Grade.NOT_STRICT, Grade.SKIPPED, Grade.INFO, Grade.OK]
    return order.index(result.grade), list(Reason).index(result.reason) if isinstance(result.reason, Reason) else 99


def graded(case: Case, run: Run) -> Result:
    """What the client did in one run of a case."""
    asked = [one for one in run.exchanges if one.request.protocol is not None]
    untried = _untried(case, run, asked)
    if untried is not None:
        return Result(Grade.HARNESS_FAILURE, None, untried)
    result = _judged(case, run, asked)
    if case.informational and result.grade is not Grade.OK:
        return Result(Grade.INFO, result.reason, result.message)
    return result


def _untried(case: Case, run: Run, asked: Sequence[Exchange]) -> str | None:
    """Why a run says nothing of the client; `None` where it does."""
    if run.failure is not None:
        return run.failure
    if not asked:
        others = f"; it asked for {run.exchanges[0].request.url}" if run.exchanges else ""
        return f"no request to an LLM came before the command {run.ending}{others}"
    if case.kind is Kind.HEALTHY:
        if not any(one.calls for one in asked):
            offered = dict.fromkeys(name for one in asked for name in one.request.tools)
            shown = f"the tools on offer were {', '.join(offered)}" if offered else "no request offered a tool"
            return f"no answer made a call that was to be made: {shown}"
        return None
    if not any(_is_planted(one) for one in asked):
        return NOTHING_PLANTED
    return None


def _is_planted(exchange: Exchange) -> bool:
    by_status = exchange.comment.startswith("answered by fault")
    return by_status or any(fault.changes for fault in exchange.faults)


def _judged(case: Case, run: Run, asked: Sequence[Exchange]) -> Result:
    wrong = _wrong(case, asked)
    if wrong is not None:
        return wrong
    if run.timed_out:
        return Result(Grade.FAILED, Reason.GAVE_UP, f"the command {run.ending}")
    if run.exit_code is not None and run.exit_code < 0:
        return Result(Grade.FAILED, Reason.CRASHED, f"the command {run.ending}")
    again = sum(one.verdict is not None and one.verdict.verdict == Outcome.RETRIED for one in asked)
    through = any(_came_back(one) for one in asked)
    if case.lossy:
        return _not_run(again, through=through)
    if through:
        return _through(run, again)
    return _given_up(case, run, again)


def _wrong(case: Case, asked: Sequence[Exchange]) -> Result | None:
    """The worst of what the client did with calls that it ran otherwise than it should have."""
    half = _half_call(asked)
    if half is not None:
        return Result(Grade.FAILED, Reason.INCOMPLETE, f"{half}; the call came back in a later request")
    permitted = _NOT_RUN | ({Outcome.LOST_CALL} if case.lossy else frozenset())
    found = [
        (REASONS[Outcome(problem.verdict)] or Reason.INCOMPLETE, _text(one, problem))
        for one in asked
        if one.verdict is not None
        for problem in one.verdict.problems
        if Outcome(problem.verdict) not in permitted
    ]
    if not found:
        return None
    reason, text = min(found, key=lambda pair: list(Reason).index(pair[0]))
    return Result(Grade.FAILED, reason, text)


def _half_call(asked: Sequence[Exchange]) -> str | None:
    """What a call lacks that never came whole under its id, and that any later request has.

    The verdict on an answer goes by the next request alone.
    """
    whole = {call.id for one in asked for call in one.calls if call.complete}
    for at, one in enumerate(asked):
        half = {call.id: call for call in one.calls if call.id and call.id not in whole}
        for later in asked[at + 1 :]:
            back = {call.id for call in later.request.calls} | {result.id for result in later.request.results}
            if found := [half[identity] for identity in half if identity in back]:
                return _lack(one, found[0])
    return None


def _lack(exchange: Exchange, call: SentCall) -> str:
    """Why a call is not whole, in the words of what was found there."""
    errors = [one for one in exchange.findings if one.call == call.position and one.severity == Severity.ERROR]
    return errors[-1].message if errors else f"{call.name} never came whole"


def _text(exchange: Exchange, problem: FoundProblem) -> str:
    which = "" if problem.call is None else f"call {problem.call} {exchange.calls[problem.call].name}: "
    why = f" ({exchange.verdict.explanation})" if exchange.verdict is not None and exchange.verdict.explanation else ""
    return f"{which}{problem.message}{why}"


def _came_back(exchange: Exchange) -> bool:
    """Whether the client ran the calls of an answer as they were meant."""
    verdict = exchange.verdict
    right = (Outcome.OK, Outcome.RESULTS_ONLY, Outcome.AS_TEXT)
    return verdict is not None and verdict.understood and verdict.verdict in right and verdict.request is not None


def _not_run(again: int, *, through: bool) -> Result:
    """Nothing wrong was run of what must not be run."""
    if again >= _LOOP:
        return Result(Grade.FAILED, Reason.AGAIN, f"the same was asked {again} times more")
    return Result(Grade.OK, None, "asked again, and ran the call that came then" if through else "ran nothing of it")


def _through(run: Run, again: int) -> Result:
    if again >= _LOOP:
        return Result(Grade.FAILED, Reason.AGAIN, f"the same was asked {again} times more before the call was run")
    if run.exit_code:
        return Result(Grade.FAILED, Reason.CRASHED, f"it ran every call right, and {run.ending}")
    if again:
        return Result(Grade.NOT_STRICT, None, "it asked again before it ran the call")
    return Result(Grade.OK)


def _given_up(case: Case, run: Run, again: int) -> Result:
    """The call could have been run, and was not."""
    if again >= _LOOP:
        return Result(Grade.FAILED, Reason.AGAIN, f"the same was asked {again} times more")
    if case.may_refuse and run.exit_code:
        return Result(Grade.NOT_STRICT, None, f"it did not run the call, and {run.ending}")
    reason = Reason.CRASHED if run.exit_code else Reason.GAVE_UP
    return Result(Grade.FAILED, reason, f"it did not run the call, and {run.ending}")
