"""What a client made of an answer, judged by its next request: the calls it says again, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.verdict.compare import added, beyond, same, value_of
from toolstream_core.verdict.outcome import Outcome, Problem, Verdict
from toolstream_core.verdict.pairing import paired
from toolstream_core.verdict.results import changed_ids, judge_ids, judge_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.model import Json
    from toolstream_core.protocols.requests.conversation import Conversation, EchoedCall
    from toolstream_core.verdict.outcome import Meant
    from toolstream_core.verdict.pairing import Pair


def to_run[M: Meant](calls: Iterable[M]) -> list[M]:
    """The calls that the client has to run."""
    return [call for call in calls if call.kind != "server"]


def judge(
    sent: Sequence[Meant], before: Conversation, after: Conversation | None, *, ids_kept: bool = False
) -> Verdict:
    """The verdict on an answer's calls; `before` is the request it answered, `after` the next one, if there was one.

    With `ids_kept`, the client was sent the very ids of `sent`, and is to say these again; otherwise any will do that
    tell calls apart.
    """
    meant = to_run(sent)
    if after is None:
        lost = [
            Problem(Outcome.SILENT, at, "no request came after it") for at, call in enumerate(meant) if call.complete
        ]
        return Verdict(Outcome.SILENT if meant else Outcome.OK, tuple(lost))
    new = added(before, after)
    if not new.calls and not new.results:
        return _without_calls(meant, new)
    if not new.calls and new.continues:
        problems = judge_results(meant, list(enumerate(meant)), new.results)
        return _verdict(problems, Outcome.RESULTS_ONLY)
    pairs = paired(meant, new.calls)
    changed = changed_ids(meant, pairs) if ids_kept else ()
    return _verdict([*_judge_calls(meant, new.calls, pairs), *judge_ids(meant, pairs, new), *changed])


def _without_calls(meant: Sequence[Meant], new: Conversation) -> Verdict:
    """Neither calls nor results: they may stand in the text, or the client tried again."""
    text = "\n".join(new.texts)
    run = "the call never came whole, and the text says that it was run"
    half = [Problem(Outcome.HALF_CALL, at, run) for at, call in enumerate(meant) if _half_stands_in(call, text)]
    lost = "neither the call nor a result came back"
    whole = [(at, call) for at, call in enumerate(meant) if call.complete]
    missing = [Problem(Outcome.RETRIED, at, lost) for at, call in whole if not _stands_in(call, text)]
    otherwise = Outcome.AS_TEXT if whole else Outcome.RETRIED if meant else Outcome.OK
    return _verdict([*half, *missing], otherwise)


def _stands_in(call: Meant, text: str) -> bool:
    """Whether a text names the tool and holds each value of its arguments."""
    return call.name in text and all(leaf in text for leaf in _leaves(value_of(call.arguments)))


def _half_stands_in(call: Meant, text: str) -> bool:
    return not call.complete and bool(call.arguments) and call.name in text and call.arguments in text


def _leaves(value: Json) -> list[str]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [value] if isinstance(value, str) else [str(value)] if type(value) in (int, float) else []


def _judge_calls(meant: Sequence[Meant], echoed: Sequence[EchoedCall], pairs: Sequence[Pair]) -> Iterable[Problem]:
    paired = {pair.place for pair in pairs}
    for place, one in pairs:
        yield from _judge_call(place, meant[place], one)
    for place, call in enumerate(meant):
        if place not in paired and call.complete:
            yield Problem(Outcome.LOST_CALL, place, "the call did not come back")
    for one in beyond([pair.echoed for pair in pairs], echoed, id):
        known = any(call.name == one.name and same(call.arguments, one.arguments) for call in meant)
        outcome = Outcome.DUPLICATE_CALL if known else Outcome.PHANTOM_CALL
        what = "came back once more" if known else "was never sent"
        yield Problem(outcome, None, f"{one.name or 'a call without a name'} id={one.id!r} {what}")


def _judge_call(place: int, call: Meant, one: EchoedCall) -> Iterable[Problem]:
    if not call.complete:
        yield Problem(Outcome.HALF_CALL, place, "the call never came whole, and came back all the same")
        return
    if one.name != call.name:
        yield Problem(Outcome.WRONG_NAME, place, f"came back as {one.name!r}")
    if same(call.arguments, one.arguments):
        return
    if value_of(one.arguments) == {}:
        yield Problem(Outcome.LOST_ARGUMENTS, place, "came back without its arguments")
    elif call.kind != "custom" and not isinstance(value_of(one.arguments), dict):
        yield Problem(Outcome.WRONG_ARGUMENTS, place, "its arguments came back as no JSON object")
    else:
        yield Problem(Outcome.WRONG_ARGUMENTS, place, "came back with other arguments")


def _verdict(problems: Iterable[Problem], otherwise: Outcome = Outcome.OK) -> Verdict:
    found = tuple(problems)
    order = list(Outcome)
    return Verdict(min((one.outcome for one in found), key=order.index, default=otherwise), found)
