"""Whether the calls that a client returned ran, by the results of the complete run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.model import Severity
from toolstream_core.verdict import Outcome, added, history_of
from toolstream_core.verdict.compare import same
from toolstream_core.verdict.evidence import KnownResult, Sign, evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.protocols.requests.conversation import Conversation, ToolResult
    from toolstream_core.testing.exchanges import Exchange, SentCall


_SIGNS: Final = {
    Outcome.RAN_INCOMPLETE_CALL: Sign.ACCEPTED,
    Outcome.CALL_REJECTED: Sign.REJECTED,
    Outcome.RETURNED_INCOMPLETE_CALL: Sign.UNKNOWN,
    Outcome.AS_TEXT: Sign.UNKNOWN,
}
"""What a verdict on an incomplete call means."""
_OF_MORE: Final = frozenset({Outcome.PHANTOM_CALL, Outcome.DUPLICATE_CALL, Outcome.CALL_REJECTED})
"""Verdicts on a call beyond those that a response sent."""
_ORDER: Final = (Sign.ACCEPTED, Sign.REJECTED, Sign.UNKNOWN)


class Effect(NamedTuple):
    """What is known of a returned call that should not have run, or that was rejected."""

    sign: Sign
    outcome: Outcome
    """The verdict where the call ran."""
    text: str


def known_results(asked: Sequence[Exchange]) -> list[KnownResult]:
    """The results of complete calls that are no rejections, of a healthy run."""
    return [
        KnownResult(call.name, call.arguments, result.text)
        for at, one in enumerate(asked)
        for call in one.calls
        for result in _results(one, call, asked[at + 1 :])
        if evidence(result).sign is not Sign.REJECTED
    ]


def without_earlier_calls(asked: Sequence[Exchange]) -> list[Exchange]:
    """The exchanges without verdicts against calls that an earlier response sent: a client may return them later."""
    return [_without(one, asked[:at], asked[at + 1 :]) for at, one in enumerate(asked)]


def _without(one: Exchange, earlier: Sequence[Exchange], later: Sequence[Exchange]) -> Exchange:
    verdict, after = one.verdict, following(one, later)
    if verdict is None or after is None or verdict.understood:
        return one
    sent = {call.id for other in earlier for call in other.calls if call.id}
    more = {copy.id for copy in returned(one, after).calls} - {call.id for call in one.calls}
    if not more or not more <= sent:
        return one
    problems = tuple(each for each in verdict.problems if each.call is not None or each.verdict not in _OF_MORE)
    outcome = problems[0].verdict if problems else Outcome.OK
    return replace(one, verdict=replace(verdict, problems=problems, verdict=outcome, understood=not problems))


def effects(asked: Sequence[Exchange], known: Sequence[KnownResult]) -> list[Effect]:
    """Of incomplete calls, of calls that came back more often than they were sent, and of rejected complete calls."""
    whole = {call.id for one in asked for call in one.calls if call.complete}
    found: list[Effect] = []
    for at, one in enumerate(asked):
        later = asked[at + 1 :]
        for place, call in enumerate(one.calls):
            if call.complete:
                found += rejected(one, call, later, known)
            elif not call.id or call.id not in whole:
                found += _incomplete(one, place, later, known)
        found += _repeated(one, later, known)
    return found


def _incomplete(one: Exchange, place: int, later: Sequence[Exchange], known: Sequence[KnownResult]) -> Iterator[Effect]:
    """The clearest sign in any later request with the call's id; the verdict covers the next request alone."""
    call = one.calls[place]
    problems = () if one.verdict is None else one.verdict.problems
    signs = {
        _SIGNS[outcome]: "" for each in problems if each.call == place and (outcome := Outcome(each.verdict)) in _SIGNS
    }
    if call.id and any(call.id in _ids(other) for other in later):
        signs[Sign.UNKNOWN] = ""
    if not signs:
        return
    found = [evidence(result, _of(one, call, known)) for result in _results(one, call, later)]
    signs.update({each.sign: each.why for each in found})
    sign = next(each for each in _ORDER if each in signs)
    ran = {Sign.ACCEPTED: "ran it", Sign.REJECTED: "rejected it", Sign.UNKNOWN: "returned it"}[sign]
    why = f" ({signs[sign]})" if signs[sign] else ""
    outcome = Outcome.RAN_INCOMPLETE_CALL if sign is Sign.ACCEPTED else Outcome.RETURNED_INCOMPLETE_CALL
    yield Effect(sign, outcome, f"{_lack(one, call)}; the client {ran}{why}")


def _ids(later: Exchange) -> set[str | None]:
    """The ids of the calls and results that a request brings."""
    return {one.id for one in later.request.shown.calls} | {one.id for one in later.request.shown.results}


def rejected(
    one: Exchange, call: SentCall, later: Sequence[Exchange], known: Sequence[KnownResult]
) -> Iterator[Effect]:
    """A call whose results are all rejections."""
    found = [evidence(result, _of(one, call, known)) for result in _results(one, call, later)]
    if found and all(each.sign is Sign.REJECTED for each in found):
        yield Effect(
            Sign.REJECTED,
            Outcome.CALL_REJECTED,
            f"the client rejected {call.name or 'a call without a name'}: {found[0].why}",
        )


def _repeated(one: Exchange, later: Sequence[Exchange], known: Sequence[KnownResult]) -> Iterator[Effect]:
    """Calls that came back once more under other ids, or with several results."""
    problems = () if one.verdict is None else one.verdict.problems
    for each in problems:
        if each.verdict == Outcome.CALL_REJECTED and (each.call is None or one.calls[each.call].complete):
            yield Effect(Sign.REJECTED, Outcome.DUPLICATE_CALL, each.message)
    after = following(one, later)
    for each in problems:
        if each.verdict == Outcome.DUPLICATE_CALL:
            calls = one.calls if each.call is None else (one.calls[each.call],)
            of_calls = [_signs(one, call, after, known) for call in calls] if after is not None else []
            signs = {_sign_of_copies(some) for some in of_calls if len(some) > 1}
            sign = next((sign for sign in (Sign.ACCEPTED, Sign.UNKNOWN, Sign.REJECTED) if sign in signs), Sign.UNKNOWN)
            yield Effect(sign, Outcome.DUPLICATE_CALL, each.message)


def _sign_of_copies(signs: Sequence[Sign]) -> Sign:
    """Whether a call ran twice: two results have to show it; a rejection of all but one shows that it did not."""
    if signs.count(Sign.ACCEPTED) > 1:
        return Sign.ACCEPTED
    return Sign.REJECTED if signs.count(Sign.REJECTED) >= max(1, len(signs) - 1) else Sign.UNKNOWN


def following(one: Exchange, later: Iterable[Exchange]) -> Exchange | None:
    """The exchange whose request the verdict on a response judges."""
    number = None if one.verdict is None else one.verdict.request
    return next((other for other in later if other.request.number == number), None)


def returned(one: Exchange, after: Exchange) -> Conversation:
    """What a later request adds to that of `one`."""
    return added(history_of(one.request.shown), after.request.shown)


def _signs(one: Exchange, call: SentCall, after: Exchange, known: Sequence[KnownResult]) -> list[Sign]:
    """What each result of a call and of its copies shows; a copy without a result shows nothing."""
    copies = [
        copy for copy in returned(one, after).calls if copy.name == call.name and same(copy.arguments, call.arguments)
    ]
    ids = {call.id, *(copy.id for copy in copies)} - {"", None}
    found = [
        evidence(result, _of(after, call, known)).sign for result in after.request.shown.results if result.id in ids
    ]
    return found + [Sign.UNKNOWN] * (len(copies) - len(found))


def _results(one: Exchange, call: SentCall, later: Sequence[Exchange]) -> list[ToolResult]:
    """The results of a call: by its id; without one, those of the next request that have its tool's name, or none."""
    if call.id and any(result.id == call.id for other in later for result in other.request.shown.results):
        return [result for other in later for result in other.request.shown.results if result.id == call.id]
    after = following(one, later)
    if after is None:
        return []
    new = returned(one, after).results
    alone = len(one.calls) == 1 and len(new) == 1
    return [result for result in new if alone or (not result.id and result.name == call.name)]


def _of(one: Exchange, call: SentCall, known: Sequence[KnownResult]) -> Sequence[KnownResult]:
    """The known results of a call's tool; of a tool that is not on offer, those of all tools."""
    offered = one.request.tools
    if offered and call.name not in offered:
        return known
    return [each for each in known if each.name == call.name]


def _lack(exchange: Exchange, call: SentCall) -> str:
    """Why a call is incomplete, in the words of the finding."""
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
"""How the text of a failed call begins. Text further inside is no sign: a tool may return any text."""
_SHOWN: Final = 300
"""Characters of a result that are reported."""


def failed_call(asked: Sequence[Exchange]) -> str | None:
    """The failure that the client reported for a tool call of a healthy run, in its own words."""
    before = len(asked[0].request.shown.results) if asked else 0
    for one in asked:
        for result in one.request.shown.results[before:]:
            if evidence(result).sign is Sign.REJECTED or _FAILURE.match(result.text):
                return (
                    f"the healthy run cannot be the baseline: {_tool(result, asked)} failed: {result.text[:_SHOWN]!r}; "
                    "name a call that succeeds: 'calls:TOOL {JSON}'"
                )
    return None


def _tool(result: ToolResult, asked: Sequence[Exchange]) -> str:
    names = (call.name for one in asked for call in one.calls if call.id == result.id)
    return result.name or next(names, "the tool call")
