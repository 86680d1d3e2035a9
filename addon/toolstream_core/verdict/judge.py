"""The verdict on a client, by its next request: the calls that it returns, and their results."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from toolstream_core.verdict.compare import half_stands_in, is_merged, is_piece, paired, same, stands_in, value_of
from toolstream_core.verdict.evidence import Sign, evidence
from toolstream_core.verdict.outcome import Outcome, Problem, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from toolstream_core.protocols.requests.conversation import Conversation, EchoedCall, ToolResult
    from toolstream_core.verdict.compare import Pair
    from toolstream_core.verdict.outcome import Meant


def judge_ids(meant: Sequence[Meant], pairs: Sequence[Pair], new: Conversation) -> Iterable[Problem]:
    """Whether each call that came back has its own result."""
    said = [pair for pair in pairs if meant[pair.place].complete]
    ids = Counter(pair.echoed.id for pair in said if pair.echoed.id is not None)
    for pair in said:
        if pair.echoed.id is not None and ids[pair.echoed.id] > 1:
            yield Problem(
                Outcome.WRONG_ID, pair.place, f"id {pair.echoed.id!r} was returned for {ids[pair.echoed.id]} calls"
            )
    alone = [(pair.place, pair.echoed) for pair in said if pair.echoed.id is None or ids[pair.echoed.id] <= 1]
    yield from judge_results(meant, alone, new.results)


def changed_ids(meant: Sequence[Meant], pairs: Sequence[Pair]) -> Iterable[Problem]:
    """Calls that came back under another id than they were sent with; an id that two calls have cannot be kept."""
    sent = Counter(call.id for call in meant)
    for place, one in pairs:
        if sent[meant[place].id] == 1 and meant[place].id and one.id is not None and one.id != meant[place].id:
            yield Problem(Outcome.WRONG_ID, place, f"returned with id {one.id!r}, sent with {meant[place].id!r}")


class _Answered(Protocol):
    @property
    def id(self) -> str | None: ...
    @property
    def name(self) -> str: ...


def judge_results(
    meant: Sequence[Meant], calls: Sequence[tuple[int, _Answered]], results: Sequence[ToolResult]
) -> Iterable[Problem]:
    """Each call's result, by its id; by the tool's name, or by being as many, where the protocol has no ids.

    Where calls came back without the ids that the protocol has a field for, results may have kept theirs.
    """
    with_ids: dict[str | None, list[ToolResult]] = {}
    for one in results:
        with_ids.setdefault(one.id or None, []).append(one)
    said = {call.id for _, call in calls if call.id}
    without = [one for one in results if not one.id]
    loose = [one for one in results if one.id and one.id not in said]
    for place, call in calls:
        if call.id and (own := with_ids.get(call.id)):
            if not meant[place].complete:
                yield judge_incomplete(place, own)
            elif len(own) > 1:
                yield _judge_several(place, own)
        elif fitting := next((one for one in without if one.name in ("", call.name)), None):
            without.remove(fitting)
        elif call.id is None and (kept := _kept(meant[place], loose)):
            loose.remove(kept)
        elif meant[place].complete:
            yield _missing(place, call, results)


def judge_incomplete(place: int, results: Sequence[ToolResult]) -> Problem:
    """An incomplete call that came back with these results: whether it ran, as far as they show."""
    found = [evidence(one) for one in results]
    for sign, outcome, text in _INCOMPLETE:
        if why := next((one.why for one in found if one.sign is sign), ""):
            return Problem(outcome, place, f"{text}: {why}")
    lacking = "its result does not show whether it ran" if results else "without a result"
    return Problem(Outcome.RETURNED_INCOMPLETE_CALL, place, f"the client returned the incomplete call; {lacking}")


_INCOMPLETE: Final = (
    (Sign.ACCEPTED, Outcome.RAN_INCOMPLETE_CALL, "the client ran the incomplete call"),
    (Sign.REJECTED, Outcome.CALL_REJECTED, "the client rejected the incomplete call"),
)


def _judge_several(place: int, results: Sequence[ToolResult]) -> Problem:
    """A complete call with several results: it ran twice only if no more than one of them is a rejection."""
    rejected = sum(evidence(one).sign is Sign.REJECTED for one in results)
    if len(results) - rejected > 1:
        return Problem(Outcome.DUPLICATE_CALL, place, f"got {len(results)} results")
    return Problem(Outcome.CALL_REJECTED, place, f"got {len(results)} results, {rejected} of them rejected")


def _kept(call: Meant, loose: Sequence[ToolResult]) -> ToolResult | None:
    """The result that has the id under which a call was sent; for a call without one, any of its tool."""
    if call.id:
        return next((one for one in loose if one.id == call.id), None)
    return next((one for one in loose if one.name in ("", call.name)), None)


def _missing(place: int, call: _Answered, results: Sequence[ToolResult]) -> Problem:
    if not results:
        return Problem(Outcome.WRONG_ID, place, "returned without a result")
    others = ", ".join(sorted({repr(one.id) for one in results}))
    return Problem(Outcome.WRONG_ID, place, f"no result has its id {call.id!r}; results have {others}")


def to_run[M: Meant](calls: Iterable[M]) -> list[M]:
    """The calls that the client has to run."""
    return [call for call in calls if call.kind != "server"]


def judge(
    calls: Sequence[Meant], new: Conversation | None, *, ids_kept: bool = False, dropped: Collection[int] = ()
) -> Verdict:
    """The verdict on an answer's calls; `new` is what the next request adds to the one it answered, if one came.

    With `ids_kept`, the client was sent the very ids of `calls`, and is to say these again; otherwise any will do
    that tell calls apart. `dropped` are the places of calls that a correct client may leave out; one that never came
    whole is always one of them.
    """
    if new is None:
        return without_request(Outcome.SILENT, calls, dropped)
    choices = {call.choice for call in to_run(calls)} or {0}
    verdicts = [_judge_choice(choice, calls, new, ids_kept=ids_kept, dropped=dropped) for choice in sorted(choices)]
    # A client goes on with one of several alternatives.
    best = min(verdicts, key=lambda one: len(one.problems))
    return replace(best, sent=new.calls, results=new.results)


def without_request(outcome: Outcome, calls: Sequence[Meant], dropped: Collection[int] = ()) -> Verdict:
    """The verdict on an answer after which no request came: `SILENT`, or `ABORTED`."""
    text = "the client disconnected" if outcome is Outcome.ABORTED else "no later request"
    lost = [Problem(outcome, place, text) for place, _ in _wanted(calls, dropped)]
    nothing = outcome is Outcome.SILENT and not to_run(calls)
    return Verdict(Outcome.OK if nothing else outcome, tuple(lost))


def _wanted(calls: Sequence[Meant], dropped: Collection[int]) -> Iterator[tuple[int, Meant]]:
    """The calls that the client had to run, with their places."""
    for place, call in enumerate(calls):
        if call.kind != "server" and call.complete and place not in dropped:
            yield place, call


def _judge_choice(
    choice: int, calls: Sequence[Meant], new: Conversation, *, ids_kept: bool, dropped: Collection[int]
) -> Verdict:
    """As `judge`, of one of the alternatives."""
    places = [place for place, call in enumerate(calls) if call.kind != "server" and call.choice == choice]
    meant = [calls[place] for place in places]
    left_out = {at for at, place in enumerate(places) if place in dropped}
    verdict = _judge(meant, new, ids_kept=ids_kept, dropped=left_out)
    problems = (one if one.call is None else one._replace(call=places[one.call]) for one in verdict.problems)
    return replace(verdict, problems=tuple(problems))


def _judge(meant: Sequence[Meant], new: Conversation, *, ids_kept: bool, dropped: Collection[int]) -> Verdict:
    if not new.calls and not new.results:
        return _without_calls(meant, new, dropped)
    if not new.calls and new.continues:
        kept = [(at, call) for at, call in enumerate(meant) if at not in dropped or _has_result(call, new)]
        return _verdict(judge_results(meant, kept, new.results), Outcome.RESULTS_ONLY)
    pairs = paired(meant, new.calls)
    changed = changed_ids(meant, pairs) if ids_kept else ()
    problems = [*_judge_calls(meant, new, pairs, dropped), *judge_ids(meant, pairs, new), *changed]
    return _verdict(_graded(meant, pairs, problems))


def _has_result(call: Meant, new: Conversation) -> bool:
    return any(one.id == call.id for one in new.results)


def _without_calls(meant: Sequence[Meant], new: Conversation, dropped: Collection[int]) -> Verdict:
    """Neither calls nor results: they may stand in the text, or the client tried again."""
    text = "\n".join(new.texts)
    run = "the call is incomplete, and a text message shows its result"
    half = [Problem(Outcome.AS_TEXT, at, run) for at, call in enumerate(meant) if half_stands_in(call, text)]
    whole = list(_wanted(meant, dropped))
    outcome, why = Outcome.LOST_CALL, "the client continued without returning the call or a result"
    if not new.texts:
        outcome, why = Outcome.RETRIED, "the client repeated the request without the call or a result"
    missing = [Problem(outcome, at, why) for at, call in whole if not stands_in(call, text)]
    otherwise = Outcome.AS_TEXT if whole else Outcome.RETRIED if meant else Outcome.OK
    return _verdict([*half, *missing], otherwise)


def _judge_calls(
    meant: Sequence[Meant], new: Conversation, pairs: Sequence[Pair], dropped: Collection[int]
) -> Iterator[Problem]:
    matched = {pair.place for pair in pairs}
    for place, one in pairs:
        if meant[place].complete:
            yield from _judge_call(place, meant[place], one)
        else:
            yield judge_incomplete(place, _results_of(one, new))
    for place, call in enumerate(meant):
        if place not in matched and call.complete:
            yield from _judge_lost(place, meant, pairs, may_be_dropped=place in dropped)
    taken = {id(pair.echoed) for pair in pairs}
    for one in new.calls:
        if id(one) not in taken:
            yield _judge_more(meant, pairs, one, new)


def _results_of(call: EchoedCall, new: Conversation) -> list[ToolResult]:
    """The results of a call that came back: by its id; by the tool's name, where the protocol has no ids."""
    if call.id:
        return [one for one in new.results if one.id == call.id]
    alone = sum(other.name == call.name for other in new.calls) == 1
    return [one for one in new.results if alone and not one.id and one.name in ("", call.name)]


def _judge_call(place: int, call: Meant, one: EchoedCall) -> Iterator[Problem]:
    if one.name != call.name:
        yield Problem(Outcome.WRONG_NAME, place, f"returned under the name {one.name!r}")
    if same(call.arguments, one.arguments):
        return
    if value_of(one.arguments) == {}:
        yield Problem(Outcome.RETURNED_WITHOUT_ARGUMENTS, place, "returned without its arguments")
    elif call.kind != "custom" and not isinstance(value_of(one.arguments), dict):
        yield Problem(Outcome.WRONG_ARGUMENTS, place, "its arguments were not returned as a JSON object")
    else:
        yield Problem(Outcome.WRONG_ARGUMENTS, place, "returned with other arguments")


def _judge_lost(
    place: int, meant: Sequence[Meant], pairs: Sequence[Pair], *, may_be_dropped: bool
) -> Iterator[Problem]:
    """A call that came back as none; perhaps as part of another."""
    for pair in pairs:
        if is_merged(meant[place], meant[pair.place], pair.echoed):
            yield Problem(Outcome.RETURNED_MERGED, place, f"returned as one call with call {pair.place}")
            return
    if not may_be_dropped:
        yield Problem(Outcome.LOST_CALL, place, "the call was not returned")


def _judge_more(meant: Sequence[Meant], pairs: Sequence[Pair], one: EchoedCall, new: Conversation) -> Problem:
    """A call that came back beyond those that were sent."""
    what = f"{one.name or 'a call without a name'} id={one.id!r}"
    for pair in pairs:
        if is_piece(meant[pair.place], pair, one):
            return Problem(Outcome.SPLIT_CALL, pair.place, f"returned in parts; {what} is one of them")
    if any(call.name == one.name and same(call.arguments, one.arguments) for call in meant):
        rejected = any(evidence(result).sign is Sign.REJECTED for result in _results_of(one, new))
        outcome, how = (Outcome.CALL_REJECTED, ", and rejected") if rejected else (Outcome.DUPLICATE_CALL, "")
        return Problem(outcome, None, f"{what} was returned again{how}")
    return Problem(Outcome.PHANTOM_CALL, None, f"{what} was never sent")


def _graded(meant: Sequence[Meant], pairs: Sequence[Pair], problems: Sequence[Problem]) -> list[Problem]:
    """Arguments are lost where none came back at all; where some calls kept theirs, the answer's were wrong."""
    having = [pair for pair in pairs if value_of(meant[pair.place].arguments) != {}]
    if all(value_of(pair.echoed.arguments) == {} for pair in having):
        return list(problems)
    lost, wrong = Outcome.RETURNED_WITHOUT_ARGUMENTS, Outcome.WRONG_ARGUMENTS
    return [
        one._replace(outcome=wrong, text=f"{one.text}, unlike other calls") if one.outcome is lost else one
        for one in problems
    ]


def _verdict(problems: Iterable[Problem], otherwise: Outcome = Outcome.OK) -> Verdict:
    found = tuple(problems)
    order = list(Outcome)
    return Verdict(min((one.outcome for one in found), key=order.index, default=otherwise), found)
