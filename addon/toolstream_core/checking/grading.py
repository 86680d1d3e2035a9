"""Grades a run: how the client interpreted the calls, and whether they ran, by their results."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from toolstream_core.calls.json_text import same
from toolstream_core.checking.cases import Case, Kind
from toolstream_core.checking.client import Run
from toolstream_core.model import Severity
from toolstream_core.protocols.requests.conversation import ReturnedCall, ToolResult
from toolstream_core.report.judging import NO_HELP
from toolstream_core.testing.exchanges import FoundProblem, ProxiedExchange, SentCall, until_complete
from toolstream_core.testing.understanding import distrusted
from toolstream_core.verdict import Outcome
from toolstream_core.verdict.judge import KnownResult, Sign, evidence
from toolstream_core.verdict.outcome import Grade, Reason

_SIGNS: Final = {
    Outcome.RAN_INCOMPLETE_CALL: Sign.ACCEPTED,
    Outcome.CALL_REJECTED: Sign.REJECTED,
    Outcome.RETURNED_INCOMPLETE_CALL: Sign.UNKNOWN,
    Outcome.AS_TEXT: Sign.UNKNOWN,
}
"""The meaning of a verdict on an incomplete call."""
_OF_EXTRA_CALLS: Final = frozenset({Outcome.PHANTOM_CALL, Outcome.DUPLICATE_CALL, Outcome.CALL_REJECTED})
"""Verdicts on a call that the response did not have."""
_ORDER: Final = (Sign.ACCEPTED, Sign.REJECTED, Sign.UNKNOWN)


class Effect(NamedTuple):
    """The evidence on a returned call that should not have run, or that was rejected."""

    sign: Sign
    outcome: Outcome
    """The verdict if the call ran."""
    text: str


def known_results(exchanges: Sequence[ProxiedExchange]) -> list[KnownResult]:
    """The results of complete calls that are no rejections, of a healthy run."""
    return [
        KnownResult(call.name, call.arguments, result.text)
        for at, one in enumerate(exchanges)
        for call in one.calls
        for result in _results(one, call, exchanges[at + 1 :])
        if evidence(result).sign is not Sign.REJECTED
    ]


def without_earlier_calls(exchanges: Sequence[ProxiedExchange]) -> list[ProxiedExchange]:
    """The exchanges without verdicts against calls that an earlier response sent: a client may return them later."""
    return [_without(one, exchanges[:at], exchanges[at + 1 :]) for at, one in enumerate(exchanges)]


def _without(
    exchange: ProxiedExchange, earlier: Sequence[ProxiedExchange], later: Sequence[ProxiedExchange]
) -> ProxiedExchange:
    verdict, after = exchange.verdict, following(exchange, later)
    if verdict is None or after is None or verdict.understood:
        return exchange
    sent = {call.id for other in earlier for call in other.calls if call.id}
    more = {copy.id for copy in exchange.added_by(after.request).calls} - {call.id for call in exchange.calls}
    if not more or not more <= sent:
        return exchange
    problems = tuple(each for each in verdict.problems if each.call is not None or each.verdict not in _OF_EXTRA_CALLS)
    outcome = problems[0].verdict if problems else Outcome.OK
    return replace(exchange, verdict=replace(verdict, problems=problems, verdict=outcome, understood=not problems))


def effects(exchanges: Sequence[ProxiedExchange], known: Sequence[KnownResult]) -> list[Effect]:
    """The effects of incomplete calls, of calls that were returned too often, and of rejected complete calls."""
    found: list[Effect] = []
    for at, one in enumerate(exchanges):
        later = exchanges[at + 1 :]
        for place, call in enumerate(one.calls):
            if call.complete:
                found += rejected(one, call, later, known)
            else:
                found += _incomplete(one, place, [*until_complete((call,), later)], known)
        found += _repeated(one, later, known)
    return found


def _incomplete(
    exchange: ProxiedExchange, place: int, later: Sequence[ProxiedExchange], known: Sequence[KnownResult]
) -> Iterator[Effect]:
    """The clearest sign in any later request with the call's id; the verdict covers only the next request."""
    call = exchange.calls[place]
    verdicts = [Outcome(each.verdict) for each in exchange.problems if each.call == place]
    signs = {_SIGNS[outcome]: "" for outcome in verdicts if outcome in _SIGNS}
    if call.id and any(call.id in _ids(other) for other in later):
        signs[Sign.UNKNOWN] = ""
    if not signs:
        return
    found = [evidence(result, _of(exchange, call, known)) for result in _results(exchange, call, later)]
    signs.update({each.sign: each.why for each in found})
    sign = next(each for each in _ORDER if each in signs)
    ran = {Sign.ACCEPTED: "ran it", Sign.REJECTED: "rejected it", Sign.UNKNOWN: "returned it"}[sign]
    why = f" ({signs[sign]})" if signs[sign] else ""
    outcome = Outcome.RAN_INCOMPLETE_CALL if sign is Sign.ACCEPTED else Outcome.RETURNED_INCOMPLETE_CALL
    yield Effect(sign, outcome, f"{_lack(exchange, call)}; the client {ran}{why}")


def _ids(later: ProxiedExchange) -> set[str | None]:
    """The ids of the calls and results in a request."""
    return {one.id for one in later.request.shown.calls} | {one.id for one in later.request.shown.results}


def rejected(
    exchange: ProxiedExchange, call: SentCall, later: Sequence[ProxiedExchange], known: Sequence[KnownResult]
) -> Iterator[Effect]:
    """A call whose results are all rejections."""
    found = [evidence(result, _of(exchange, call, known)) for result in _results(exchange, call, later)]
    if found and all(each.sign is Sign.REJECTED for each in found):
        yield Effect(
            Sign.REJECTED,
            Outcome.CALL_REJECTED,
            f"the client rejected {call.name or 'a call without a name'}: {found[0].why}",
        )


def _repeated(
    exchange: ProxiedExchange, later: Sequence[ProxiedExchange], known: Sequence[KnownResult]
) -> Iterator[Effect]:
    """Calls that were returned again under other ids, or with several results."""
    for each in exchange.problems:
        if each.verdict == Outcome.CALL_REJECTED and (each.call is None or exchange.calls[each.call].complete):
            yield Effect(Sign.REJECTED, Outcome.DUPLICATE_CALL, each.message)
    after = following(exchange, later)
    for each in exchange.problems:
        if each.verdict == Outcome.DUPLICATE_CALL:
            calls = exchange.calls if each.call is None else (exchange.calls[each.call],)
            of_calls = [_evidence_of(exchange, call, after, known) for call in calls] if after is not None else []
            signs = {_evidence_of_copies(some) for some in of_calls if len(some) > 1}
            sign = next((sign for sign in (Sign.ACCEPTED, Sign.UNKNOWN, Sign.REJECTED) if sign in signs), Sign.UNKNOWN)
            yield Effect(sign, Outcome.DUPLICATE_CALL, each.message)


def _evidence_of_copies(signs: Sequence[Sign]) -> Sign:
    """The evidence that a call ran twice: two results must show it."""
    if signs.count(Sign.ACCEPTED) > 1:
        return Sign.ACCEPTED
    return Sign.REJECTED if signs.count(Sign.REJECTED) >= max(1, len(signs) - 1) else Sign.UNKNOWN


def following(exchange: ProxiedExchange, later: Iterable[ProxiedExchange]) -> ProxiedExchange | None:
    """The exchange whose request the verdict on a response judges."""
    number = None if exchange.verdict is None else exchange.verdict.request
    return next((other for other in later if other.request.number == number), None)


def _evidence_of(
    exchange: ProxiedExchange, call: SentCall, after: ProxiedExchange, known: Sequence[KnownResult]
) -> list[Sign]:
    """The evidence of each result of a call and of its copies."""
    copies = _copies(exchange, call, after)
    ids = {call.id, *(copy.id for copy in copies)} - {"", None}
    found = [
        evidence(result, _of(after, call, known)).sign for result in after.request.shown.results if result.id in ids
    ]
    return found + [Sign.UNKNOWN] * (len(copies) - len(found))


def _results(exchange: ProxiedExchange, call: SentCall, later: Sequence[ProxiedExchange]) -> list[ToolResult]:
    """The results of a call: by its id, else by the name of its tool."""
    identity = _returned_id(exchange, call, later)
    if identity and any(result.id == identity for other in later for result in other.request.shown.results):
        return [result for other in later for result in other.request.shown.results if result.id == identity]
    after = following(exchange, later)
    if after is None:
        return []
    new = exchange.added_by(after.request).results
    alone = len(exchange.calls) == 1 and len(new) == 1
    return [result for result in new if alone or (not result.id and result.name == call.name)]


def _returned_id(exchange: ProxiedExchange, call: SentCall, later: Sequence[ProxiedExchange]) -> str | None:
    """The id with which the client returned a call: a repair may have changed the provider's."""
    after = following(exchange, later)
    same_calls = [] if after is None else _copies(exchange, call, after)
    ids = [copy.id for copy in same_calls if copy.id]
    return call.id if call.id in ids or not ids else ids[0]


def _copies(exchange: ProxiedExchange, call: SentCall, after: ProxiedExchange) -> list[ReturnedCall]:
    """The calls with its name and arguments that the next request returns."""
    return [
        copy
        for copy in exchange.added_by(after.request).calls
        if copy.name == call.name and same(copy.arguments, call.arguments)
    ]


def _of(exchange: ProxiedExchange, call: SentCall, known: Sequence[KnownResult]) -> Sequence[KnownResult]:
    """The known results of a call's tool; if it was not offered, those of all tools."""
    offered = exchange.request.tools
    if offered and call.name not in offered:
        return known
    return [each for each in known if each.name == call.name]


def _lack(exchange: ProxiedExchange, call: SentCall) -> str:
    """The message of the finding that a call is incomplete."""
    errors = [one for one in exchange.findings if one.call == call.position and one.severity == Severity.ERROR]
    return errors[-1].message if errors else f"{call.name} is incomplete"


_FAILURE: Final = re.compile(
    r"\W*([\w .-]{0,40}(error|exception|not ?found|denied)\b ?[:(]|traceback\b|(failed|unable) to\b"
    r"|[a-z_][\w.-]*( [\w.-]+)? failed\b(?!:? *\d)"
    r"|(invalid|missing) (tool |function )?(argument|parameter|input)"
    r"|(unsupported|unknown|invalid|no such) (tool|function|call)\b"
    r"|(the )?([\w.-]+ )?(tool|function)\b.{0,80}\b(not found|does not exist|called with invalid))",
    re.IGNORECASE | re.DOTALL,
)
"""The beginning of the result of a failed call: a tool may return any text after it."""
_SHOWN: Final = 300
"""Characters of a result that are reported."""


def failed_call(exchanges: Sequence[ProxiedExchange]) -> str | None:
    """The failure that the client reported for a tool call of a healthy run, in its own words."""
    before = len(exchanges[0].request.shown.results) if exchanges else 0
    for one in exchanges:
        for result in one.request.shown.results[before:]:
            if evidence(result).sign is Sign.REJECTED or _FAILURE.match(result.text):
                return (
                    f"the healthy run cannot be the baseline: {_tool(result, exchanges)} failed: "
                    f"{result.text[:_SHOWN]!r}; "
                    "name a call that succeeds: 'calls:TOOL {JSON}'"
                )
    return None


def _tool(result: ToolResult, exchanges: Sequence[ProxiedExchange]) -> str:
    names = (call.name for one in exchanges for call in one.calls if call.id == result.id)
    return result.name or next(names, "the tool call")


class Skip(enum.StrEnum):
    """The reasons of skipped cases in reports."""

    IMPOSSIBLE = "not possible in this protocol"
    OTHER_CONNECTION = "not possible over this connection"
    NO_STREAM = "the client does not stream"
    NOTHING_TO_CHANGE = "nothing to change"
    NO_BASELINE = "its baseline did not pass"
    NOT_RUN = "not run"


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
    Outcome.MISSING_RESULT: Reason.NO_RESULT,
    Outcome.INVALID_REQUEST: Reason.INVALID_REQUEST,
    Outcome.CALL_REJECTED: None,
    Outcome.NOT_RETURNED: Reason.LOST,
    Outcome.RETRIED: Reason.LOOPED,
    Outcome.ABORTED: Reason.GAVE_UP,
    Outcome.SILENT: Reason.GAVE_UP,
    Outcome.RESULTS_ONLY: None,
    Outcome.AS_TEXT: Reason.INCOMPLETE,
    Outcome.OK: None,
}
"""The reason for each verdict. `as-text` is a problem only if the text has an incomplete call."""
_RETURNED: Final = {Outcome.RETURNED_INCOMPLETE_CALL: Reason.INCOMPLETE, Outcome.DUPLICATE_CALL: Reason.TWICE}
"""Reasons if no result shows that the call ran."""
_BY_RESULTS: Final = frozenset(
    {Outcome.RAN_INCOMPLETE_CALL, Outcome.RETURNED_INCOMPLETE_CALL, Outcome.CALL_REJECTED, Outcome.AS_TEXT}
)
"""Verdicts that depend on the results of the complete run (`effects`)."""
_MISREAD: Final = frozenset({Reason.WRONG_ARGUMENTS, Reason.WITHOUT_ARGUMENTS, Reason.WRONG_NAME})
"""Reasons that a rejection excuses in a case with unreadable calls."""
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
    """Grade one run of a case; `known`: the results of the tools in the healthy run."""
    exchanges = without_earlier_calls(run.llm_exchanges)
    untried = _not_judged_reason(case, run, exchanges)
    if untried is not None:
        return Result(Grade.HARNESS_FAILURE, None, untried)
    found = effects(exchanges, known_results(exchanges) if case.kind is Kind.HEALTHY else known)
    ran = _worst((REASONS[one.outcome], one.text) for one in found if one.sign is Sign.ACCEPTED)
    result = ran or _judged(case, run, exchanges)
    if result.grade in (Grade.OK, Grade.NOT_STRICT):
        shown = [one for one in found if not (case.must_continue and one.sign is Sign.REJECTED)]
        result = _not_shown(shown) or result
    elif result.reason in _MISREAD and _rejected_misread(case, exchanges, known):
        result = Result(Grade.CALL_REJECTED, result.reason, f"{result.message}; the client rejected the call")
    if case.informational and result.grade is not Grade.OK:
        return Result(Grade.INFO, result.reason, result.message)
    return result


def _rejected_misread(case: Case, exchanges: Sequence[ProxiedExchange], known: Sequence[KnownResult]) -> bool:
    """Whether the client rightly rejected all calls that it returned changed.

    It may reject what no client has to read, and a tool that it did not offer.
    """
    misread = [
        (at, one, one.calls[problem.call])
        for at, one in enumerate(exchanges)
        for problem in one.problems
        if REASONS[Outcome(problem.verdict)] in _MISREAD and problem.call is not None
    ]
    return bool(misread) and all(
        (not case.required or (one.request.tools and call.name not in one.request.tools))
        and any(rejected(one, call, exchanges[at + 1 :], known))
        for at, one, call in misread
    )


def _worst(found: Iterable[tuple[Reason | None, str]]) -> Result | None:
    """The failure with the worst reason; `None` if there is none."""
    reasons = [Result(Grade.FAILED, reason, text) for reason, text in found if reason is not None]
    return min(reasons, key=rank, default=None)


def _not_shown(found: Sequence[Effect]) -> Result | None:
    """The grade of returned calls without evidence that they ran."""
    for sign, grade in ((Sign.UNKNOWN, Grade.UNKNOWN), (Sign.REJECTED, Grade.CALL_REJECTED)):
        if one := next((one for one in found if one.sign is sign), None):
            return Result(grade, _RETURNED.get(one.outcome), one.text)
    return None


_NO_PROXY: Final = "if it ignores proxy variables, put {base_url} into the command"


def _not_judged_reason(case: Case, run: Run, exchanges: Sequence[ProxiedExchange]) -> str | None:
    """The reason why a run cannot be graded; `None` if it can."""
    if run.failure is not None:
        return run.failure
    if not exchanges:
        others = f"; it requested {run.exchanges[0].request.url}" if run.exchanges else ""
        why = distrusted(run.distrust, "give it {base_url}") or ("" if run.exchanges else _NO_PROXY)
        return f"the client sent no request to an LLM, and the command {run.ending}{others}{f'; {why}' if why else ''}"
    if case.kind is Kind.HEALTHY:
        if not any(one.calls for one in exchanges):
            offered = dict.fromkeys(name for one in exchanges for name in one.request.tools)
            shown = f"available tools: {', '.join(offered)}" if offered else "no request offered a tool"
            return f"no response made the requested call: {shown}"
        return None
    if not any(_is_injected(one) for one in exchanges):
        return NOTHING_INJECTED
    return None


def _is_injected(exchange: ProxiedExchange) -> bool:
    by_status = exchange.comment.startswith("answered by fault")
    return by_status or any(fault.changes for fault in exchange.faults)


def _judged(case: Case, run: Run, exchanges: Sequence[ProxiedExchange]) -> Result:
    wrong = _wrong(case, exchanges)
    if wrong is not None:
        return wrong
    again = sum(one.verdict is not None and one.verdict.verdict == Outcome.RETRIED for one in exchanges)
    through = [one for one in exchanges if _returned(one)]
    crashed = run.exit_code is not None and run.exit_code < 0
    if again >= _LOOP and not crashed:
        before = " before it ran the call" if through and not case.lossy else ""
        how = f", and the command {run.ending}" if run.timed_out else before
        return Result(Grade.FAILED, Reason.LOOPED, f"the client repeated the request {again} times{how}")
    if run.timed_out or crashed:
        return Result(Grade.FAILED, Reason.CRASHED if crashed else Reason.GAVE_UP, f"the command {run.ending}")
    if case.lossy and not (case.must_continue and run.exit_code):
        return _not_run(through)
    if through:
        return _through(run, again)
    return _given_up(case, run)


def _wrong(case: Case, exchanges: Sequence[ProxiedExchange]) -> Result | None:
    """The worst problem of the calls that the client returned changed."""
    permitted = _NOT_RUN | _BY_RESULTS | ({Outcome.LOST_CALL, Outcome.NOT_RETURNED} if case.lossy else frozenset())
    return _worst(
        (REASONS[Outcome(problem.verdict)], _text(one, problem))
        for one in exchanges
        for problem in one.problems
        if Outcome(problem.verdict) not in permitted and not _is_repeated(problem) and not _is_renamed(one, problem)
    )


def _is_repeated(problem: FoundProblem) -> bool:
    """Whether a call was returned twice, or with several results: `effects` decides whether it ran twice."""
    return problem.verdict == Outcome.DUPLICATE_CALL


def _is_renamed(exchange: ProxiedExchange, problem: FoundProblem) -> bool:
    """Whether these are the arguments of a call that was returned under another name: the name is the reason."""
    names = {each.call for each in exchange.problems if each.verdict == Outcome.WRONG_NAME}
    return problem.verdict == Outcome.WRONG_ARGUMENTS and problem.call in names


def _text(exchange: ProxiedExchange, problem: FoundProblem) -> str:
    which = "" if problem.call is None else f"call {problem.call} {exchange.calls[problem.call].name or '(no name)'}: "
    assert exchange.verdict is not None
    # After a failure, the client itself is run to find options that help.
    explanation, fix = exchange.verdict.explanation, exchange.verdict.fix.removeprefix(NO_HELP)
    why = f", because {explanation}" if explanation else ""
    return f"{which}{problem.message}{why}{f'; {fix}' if fix else ''}"


def _returned(exchange: ProxiedExchange) -> bool:
    """Whether the client returned the intended calls of a response."""
    verdict = exchange.verdict
    if verdict is None or verdict.request is None:
        return False
    right = {Outcome.OK, Outcome.RESULTS_ONLY, Outcome.AS_TEXT, Outcome.CALL_REJECTED}
    return all(problem.verdict == Outcome.CALL_REJECTED or _is_repeated(problem) for problem in verdict.problems) and (
        verdict.verdict in right or bool(verdict.problems)
    )


def _not_run(through: Sequence[ProxiedExchange]) -> Result:
    """The grade of a client that ran no call that must not run; `through` are the responses whose calls it returned."""
    if any(_is_injected(one) for one in through):
        return Result(Grade.OK, None, "returned the call as it was sent")
    return Result(Grade.OK, None, "ran the call of a repeated request" if through else "ran no call")


def _through(run: Run, again: int) -> Result:
    if run.exit_code:
        return Result(Grade.FAILED, Reason.CRASHED, f"the client ran every call correctly, and {run.ending}")
    if again:
        return Result(Grade.NOT_STRICT, None, "the client repeated the request before it ran the call")
    return Result(Grade.OK)


def _given_up(case: Case, run: Run) -> Result:
    """The grade of a client that did not run a call that it could have run."""
    if case.may_refuse and run.exit_code:
        return Result(Grade.NOT_STRICT, None, f"the client did not run the call, and {run.ending}")
    reason = Reason.CRASHED if run.exit_code else Reason.GAVE_UP
    return Result(Grade.FAILED, reason, f"the client did not run the call, and {run.ending}")
