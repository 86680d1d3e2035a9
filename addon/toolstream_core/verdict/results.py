"""Results of tools held against the calls that they answer, by ids."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol

from toolstream_core.verdict.evidence import Sign, evidence
from toolstream_core.verdict.outcome import Outcome, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.protocols.requests.conversation import Conversation, ToolResult
    from toolstream_core.verdict.alignment import Pair
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
