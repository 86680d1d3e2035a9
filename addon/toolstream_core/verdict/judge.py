"""The verdict on a response by the next request: which calls were returned, and whether their tools ran."""

from __future__ import annotations

import enum
import json
import re
import reprlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final, NamedTuple

from toolstream_core.calls.json_text import INVALID, same, value_of
from toolstream_core.model import Json
from toolstream_core.printable import has_parts
from toolstream_core.protocols.requests.conversation import Conversation, ReturnedCall, ToolResult
from toolstream_core.verdict.compare import (
    Pair,
    are_returned_as_sent,
    is_completed,
    is_in_text,
    is_merged,
    is_name_of,
    is_part,
    is_partly_in_text,
    is_repeated,
    leaves,
    paired,
)
from toolstream_core.verdict.outcome import IntendedCall, Outcome, Problem, Verdict


class Sign(enum.Enum):
    """The evidence of a result."""

    ACCEPTED = enum.auto()
    """The tool ran."""
    REJECTED = enum.auto()
    """The call was refused, or failed."""
    UNKNOWN = enum.auto()


class Evidence(NamedTuple):
    """The evidence of a result, and the reason."""

    sign: Sign
    why: str


class KnownResult(NamedTuple):
    """A known result of a tool that ran."""

    name: str
    """The name of the tool."""
    arguments: str
    text: str


_EXIT: Final = re.compile(
    r"(?:exit[ _]?code|(?:process|command) (?:exited|failed) with (?:exit )?code)[: ]*(-?\d+)\.?", re.IGNORECASE
)
_FIELD: Final = re.compile(r"[A-Z][\w ]{0,30}: ?.{0,200}")
_ERROR_TAG: Final = re.compile(r"\s*<(tool_use_error|tool_error)>")
_CODES: Final = ("exit_code", "exitCode", "exitcode", "returncode", "return_code")
_TEXT_TYPES: Final = ("text", "input_text", "output_text", "document")
_ERROR_TYPES: Final = frozenset({"error", "error-text", "error-json", "tool_error", "execution-denied"})
_INNER: Final = ("output", "result", "content", "value", "text", "document", "data")
"""Keys under which a result may be wrapped."""
_WRAPPERS: Final = {*_INNER, "type", "metadata", "structuredContent", "isError", "is_error", "success"}
_DEPTH: Final = 6
"""Maximum depth of opened wrappers: JSON in strings, lists of contents."""
_WORD: Final = re.compile(r"[\w.+~\\/-]+(?::\d[\w.+-]*)*")
_VOLATILE: Final = re.compile(r"[\d\\/]")
"""The parts of a word that make it a number, a time, an id or a path."""
_ARGUMENT: Final = "\0"
"""The placeholder for the value of an argument in a known result."""
_VALUES: Final = re.compile("[#\0]*\0[#\0]*")
"""A placeholder with the rest of the path or id that contains it."""
_LETTERS: Final = 4
"""Letters, without values of arguments, that a known result needs to be recognised."""


def evidence(result: ToolResult, known: Iterable[KnownResult] = ()) -> Evidence:
    """The evidence of a result on its call.

    `known` are results that the same tool gives when it runs: with them, a result of another kind is a rejection.
    Without them, a text that only reports an error shows nothing.
    """
    if result.error:
        return Evidence(Sign.REJECTED, f"marked as an error ({result.error})")
    found = next(_signs(result.text), None)
    if found is not None and found.sign is Sign.REJECTED:
        return found
    judged = [sign for one in known if (sign := _compared(result.text, one)) is not None]
    if True in judged:
        return Evidence(Sign.ACCEPTED, "matches the result of the healthy run")
    if found is not None:
        return found
    if judged:
        return Evidence(Sign.REJECTED, "differs from the result of the healthy run")
    return Evidence(Sign.UNKNOWN, "no result of a healthy run to compare with")


def _error_mark(fields: Json) -> str:
    """The field by which an object marks itself as an error; `""` if there is none."""
    if not isinstance(fields, dict):
        return ""
    return next((key for key, marks in _MARKS.items() if key in fields and marks(fields[key])), "")


def _is_code(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value != 0


_MARKS: Final = {
    "is_error": lambda value: value is True,
    "isError": lambda value: value is True,
    "success": lambda value: value is False,
    "ok": lambda value: value is False,
    "status": lambda value: value == "error",
    "type": lambda value: isinstance(value, str) and value in _ERROR_TYPES,
    "error": lambda value: value is True or (isinstance(value, str | dict) and bool(value)),
    **dict.fromkeys(_CODES, _is_code),
}
"""Fields that mark an error, with the test of their value."""
_shown: Final = reprlib.Repr(maxstring=80).repr
"""An id or a name in quotes, shortened in the middle: clients join them, or append signatures."""
_PASSED: Final = {"success": True, "ok": True, **dict.fromkeys(_CODES, 0)}
"""Fields that contradict a field `error`, which then only warns."""


def _signs(value: Json, depth: int = _DEPTH) -> Iterator[Evidence]:
    """The evidence in a result and inside its wrappers, the outermost first."""
    if depth == 0:
        return
    if isinstance(value, str):
        inner = value_of(value) if value.lstrip()[:1] in ("{", "[", '"') else INVALID
        yield from _text_signs(value) if inner is INVALID else _signs(inner, depth - 1)
    elif isinstance(value, list):
        for part in value:
            if isinstance(part, dict) and part.get("type") in _TEXT_TYPES:
                yield from _signs(part, depth - 1)
    elif isinstance(value, dict):
        yield from _object_signs(value, depth)


def _object_signs(value: dict[str, Json], depth: int) -> Iterator[Evidence]:
    for owner in (value, value.get("metadata")):
        mark = _error_mark(owner)
        contradicted = mark == "error" and any(key in value and value[key] == good for key, good in _PASSED.items())
        if mark and not contradicted:
            yield Evidence(Sign.REJECTED, f"the result is an error ({mark})")
        elif isinstance(owner, dict) and any(owner.get(key) == 0 and key in owner for key in _CODES):
            yield Evidence(Sign.ACCEPTED, "the command ended with exit code 0")
    if value.keys() <= _WRAPPERS:
        for key in _INNER:
            yield from _signs(value.get(key), depth - 1)


def _text_signs(text: str) -> Iterator[Evidence]:
    if tag := _ERROR_TAG.match(text):
        yield Evidence(Sign.REJECTED, f"the result is an error (<{tag[1]}>)")
    lines = [line.strip() for line in text.strip().splitlines()]
    header, footer = takewhile(_is_field, lines), takewhile(_FIELD.fullmatch, reversed(lines))
    for line in [*header, *lines[-1:], *footer]:
        if code := _EXIT.fullmatch(line):
            rejected = int(code[1]) != 0
            sign = Sign.REJECTED if rejected else Sign.ACCEPTED
            yield Evidence(sign, f"the command ended with exit code {code[1]}")


def _is_field(line: str) -> bool:
    """Whether a line precedes a command's output."""
    return line.lower() not in {"output:", "output"} and bool(_FIELD.fullmatch(line) or _EXIT.fullmatch(line))


def _compared(text: str, known: KnownResult) -> bool | None:
    """Whether a result has the form of a known one; `None` if the known one is too short to be recognised."""
    shown = _canonical(known.text)
    if _normal(shown) == _normal(_canonical(text)):
        return True
    values = {leaf.replace('"', "") for leaf in leaves(_argument_values(known.arguments))}
    for value in sorted(filter(None, values), key=len, reverse=True):
        shown = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", _ARGUMENT, shown)
    fixed = [part.strip() for part in _VALUES.sub(_ARGUMENT, _normal(shown)).split(_ARGUMENT)]
    if len(fixed) > 1 and sum(map(str.isalpha, "".join(fixed))) < _LETTERS:
        return None
    return has_parts(_normal(_canonical(text)), fixed)


def _argument_values(arguments: str) -> Json:
    value = value_of(arguments)
    return arguments if value is INVALID else value


def _canonical(text: str) -> str:
    """JSON with sorted keys and without quotes; other text unchanged."""
    value = value_of(text) if text.lstrip()[:1] in ("{", "[") else INVALID
    if value is INVALID:
        return text.replace('"', "")
    return json.dumps(value, sort_keys=True, ensure_ascii=False).replace('"', "")


def _normal(text: str) -> str:
    """The text with `#` for each number, time, id and path, and without superfluous spaces."""
    return " ".join(_WORD.sub(lambda word: "#" if _VOLATILE.search(word[0]) else word[0], text).split())


def judge_ids(intended: Sequence[IntendedCall], pairs: Sequence[Pair], new: Conversation) -> Iterable[Problem]:
    """The problems of the ids of returned calls, and of their results."""
    complete = [pair for pair in pairs if intended[pair.place].complete]
    ids = Counter(pair.returned.id for pair in complete if pair.returned.id is not None)
    sent = Counter(call.id for call in intended)
    for pair in complete:
        if pair.returned.id is not None and ids[pair.returned.id] > 1:
            was = "sent and returned" if sent[pair.returned.id] > 1 else "returned"
            text = f"id {_shown(pair.returned.id)} was {was} for {ids[pair.returned.id]} calls"
            yield Problem(Outcome.WRONG_ID, pair.place, text)
    alone = [(pair.place, pair.returned) for pair in complete if pair.returned.id is None or ids[pair.returned.id] <= 1]
    problems = list(judge_results(intended, alone, new.results))
    yield from problems
    if not problems and all(pair.returned.id for pair in pairs):
        for one in new.results:
            if one.id in new.lone - sent.keys():
                yield Problem(Outcome.WRONG_ID, None, f"a result has the id {_shown(one.id)}, which no call has")


def changed_ids(intended: Sequence[IntendedCall], pairs: Sequence[Pair], *, ids_kept: bool) -> Iterable[Problem]:
    """Calls that were returned with another id than they were sent with; an id of two calls cannot be kept.

    A client may give calls ids of its own. An empty or repeated id is none, and with `ids_kept` neither is a sent one
    that was extended or cut.
    """
    sent = Counter(call.id for call in intended)
    for place, one in pairs:
        lost = one.written.id == "" or is_repeated(intended[place].id, one.id or "")
        if not lost and (not ids_kept or _is_own(one.id, sent)):
            continue
        if sent[intended[place].id] == 1 and intended[place].id and one.id is not None and one.id != intended[place].id:
            yield Problem(
                Outcome.WRONG_ID, place, f"returned with id {_shown(one.id)}, sent with {_shown(intended[place].id)}"
            )


def _is_own(returned: str | None, sent: Iterable[str]) -> bool:
    """Whether the client gave a call this id itself: neither it nor a sent id begins with the other."""
    if not returned:
        return False
    return not any(one and (returned.startswith(one) or one.startswith(returned)) for one in sent)


type _WithId = IntendedCall | ReturnedCall


def judge_results(
    intended: Sequence[IntendedCall], calls: Sequence[tuple[int, _WithId]], results: Sequence[ToolResult]
) -> Iterable[Problem]:
    """Problems of the calls' results, matched by id; by tool name or number if the protocol has no ids.

    If calls were returned without ids although the protocol has them, results may have kept theirs.
    """
    with_ids: dict[str | None, list[ToolResult]] = {}
    for one in results:
        with_ids.setdefault(one.id or None, []).append(one)
    ids = {call.id for _, call in calls if call.id}
    without = [one for one in results if not one.id]
    others = [one for one in results if one.id and one.id not in ids]
    for place, call in calls:
        if call.id and (own := with_ids.get(call.id)):
            if not intended[place].complete:
                yield judge_incomplete(place, own)
            elif len(own) > 1:
                yield _judge_several(place, own)
        elif fitting := next((one for one in without if one.name in ("", call.name)), None):
            without.remove(fitting)
            if fitting.flaw:
                yield Problem(Outcome.INVALID_REQUEST, place, fitting.flaw)
        elif call.id is None and (kept := _result_with_sent_id(intended[place], others)):
            others.remove(kept)
        elif intended[place].complete:
            yield _missing(place, call, [*others, *without])


def judge_incomplete(place: int, results: Sequence[ToolResult]) -> Problem:
    """The problem of an incomplete call that was returned with these results: whether they show that it ran."""
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
    """The problem of a complete call with several results: it ran twice if at least two are no rejections."""
    rejected = sum(evidence(one).sign is Sign.REJECTED for one in results)
    if len(results) - rejected > 1:
        return Problem(Outcome.DUPLICATE_CALL, place, f"got {len(results)} results")
    return Problem(Outcome.CALL_REJECTED, place, f"got {len(results)} results, {rejected} of them rejected")


def _result_with_sent_id(call: IntendedCall, others: Sequence[ToolResult]) -> ToolResult | None:
    """The result that has the id under which a call was sent; for a call without one, any of its tool."""
    if call.id:
        return next((one for one in others if one.id == call.id), None)
    return next((one for one in others if one.name in ("", call.name)), None)


def _missing(place: int, call: _WithId, left: Sequence[ToolResult]) -> Problem:
    """A call without its result; `left` are results that match no call."""
    if not left:
        return Problem(Outcome.MISSING_RESULT, place, "returned without a result")
    others = ", ".join(sorted({_shown(one.id) for one in left}))
    return Problem(Outcome.WRONG_ID, place, f"no result has its id {_shown(call.id)}; results have {others}")


def to_run[M: IntendedCall](calls: Iterable[M]) -> list[M]:
    """The calls that the client has to run."""
    return [call for call in calls if call.kind != "server"]


def judge(
    calls: Sequence[IntendedCall],
    new: Conversation | None,
    *,
    ids_kept: bool = False,
    dropped: Collection[int] = (),
    has_further: bool = False,
) -> Verdict:
    """The verdict on a response's calls; `new` is what the next request adds to the one before, if there is one.

    With `ids_kept`, the client was sent the ids of `calls`: it has to return them, or ids of its own. Otherwise any
    distinct ids do that are neither empty nor repeated.
    `dropped` are the places of calls that a correct client may leave out; it may leave out incomplete calls too.
    With `has_further`, the client may have further calls, such as one in the text.
    """
    if new is None:
        return without_request(Outcome.SILENT, calls, dropped)
    wanted = to_run(calls)
    choices = {call.choice for call in wanted} or {0}
    verdicts = [_judge_choice(choice, calls, new, ids_kept=ids_kept, dropped=dropped) for choice in sorted(choices)]
    # A client uses one of several choices.
    best = min(verdicts, key=lambda one: len(one.problems))
    if has_further:
        otherwise = Outcome.OK if best.outcome is Outcome.PHANTOM_CALL else best.outcome
        best = _verdict((one for one in best.problems if one.outcome is not Outcome.PHANTOM_CALL), otherwise)
    by_choice = [[call for call in wanted if call.choice == one] for one in choices]
    returned = any(are_returned_as_sent(some, new.calls) and not share_ids(some) for some in by_choice)
    return replace(best, sent=new.calls, results=new.results, returned=returned)


def share_ids(calls: Iterable[IntendedCall]) -> bool:
    """Whether two calls have one id."""
    ids = [call.id for call in calls if call.id]
    return len(set(ids)) < len(ids)


def without_request(outcome: Outcome, calls: Sequence[IntendedCall], dropped: Collection[int] = ()) -> Verdict:
    """The verdict on a response without a next request: `SILENT`, or `ABORTED`."""
    text = "the client disconnected" if outcome is Outcome.ABORTED else "no later request"
    lost = [Problem(outcome, place, text) for place, _ in _wanted(calls, dropped)]
    nothing = outcome is Outcome.SILENT and not to_run(calls)
    return Verdict(Outcome.OK if nothing else outcome, tuple(lost))


def _wanted(calls: Sequence[IntendedCall], dropped: Collection[int]) -> Iterator[tuple[int, IntendedCall]]:
    """The calls that the client had to run, with their places."""
    for place, call in enumerate(calls):
        if call.kind != "server" and call.complete and place not in dropped:
            yield place, call


def _judge_choice(
    choice: int, calls: Sequence[IntendedCall], new: Conversation, *, ids_kept: bool, dropped: Collection[int]
) -> Verdict:
    """As `judge`, for one choice."""
    places = [place for place, call in enumerate(calls) if call.kind != "server" and call.choice == choice]
    intended = [calls[place] for place in places]
    left_out = {at for at, place in enumerate(places) if place in dropped}
    verdict = _judge(intended, new, ids_kept=ids_kept, dropped=left_out)
    problems = (one if one.call is None else one._replace(call=places[one.call]) for one in verdict.problems)
    return replace(verdict, problems=tuple(problems))


def _judge(intended: Sequence[IntendedCall], new: Conversation, *, ids_kept: bool, dropped: Collection[int]) -> Verdict:
    if not new.calls and not new.results:
        return _without_calls(intended, new, dropped)
    if not new.calls and new.continues:
        ids = {one.id for one in new.results}
        kept = [(at, call) for at, call in enumerate(intended) if at not in dropped or call.id in ids]
        return _verdict(judge_results(intended, kept, new.results), Outcome.RESULTS_ONLY)
    pairs = paired(intended, new.calls)
    changed = changed_ids(intended, pairs, ids_kept=ids_kept)
    problems = [*_judge_calls(intended, new, pairs, dropped), *judge_ids(intended, pairs, new), *changed]
    problems += _judge_form(intended, pairs, new)
    return _verdict(_graded(intended, pairs, problems))


def _without_calls(intended: Sequence[IntendedCall], new: Conversation, dropped: Collection[int]) -> Verdict:
    """The verdict without returned calls and results: they may be in the text, or the request was repeated."""
    text = "\n".join(new.texts)
    run = "the call is incomplete, and a text message shows its result"
    in_text = [Problem(Outcome.AS_TEXT, at, run) for at, call in enumerate(intended) if is_partly_in_text(call, text)]
    complete = list(_wanted(intended, dropped))
    outcome, why = Outcome.LOST_CALL, "the client continued without returning the call or a result"
    if not new.texts:
        outcome, why = Outcome.RETRIED, "the client repeated the request without the call or a result"
    elif new.prompted:
        outcome, why = Outcome.NOT_RETURNED, "the client sent a new user message without the call or a result"
    missing = [Problem(outcome, at, why) for at, call in complete if not is_in_text(call, text)]
    otherwise = Outcome.AS_TEXT if complete else Outcome.RETRIED if intended and not new.texts else Outcome.OK
    return _verdict([*in_text, *missing], otherwise)


def _judge_calls(
    intended: Sequence[IntendedCall], new: Conversation, pairs: Sequence[Pair], dropped: Collection[int]
) -> Iterator[Problem]:
    matched = {pair.place for pair in pairs}
    for place, one in pairs:
        if intended[place].complete:
            others = [call for call in intended if call is not intended[place]]
            yield from _judge_call(place, intended[place], one, others)
        else:
            yield judge_incomplete(place, new.results_of(one))
    alone = {one.id for one in new.results if one.id} - {one.id for one in new.calls}
    for place, call in enumerate(intended):
        if place not in matched and call.complete:
            if call.id in alone:
                yield Problem(Outcome.INVALID_REQUEST, place, "only its result was returned, without the call")
            else:
                yield from _judge_lost(place, intended, pairs, may_be_dropped=place in dropped)
    taken = {id(pair.returned) for pair in pairs}
    for one in new.calls:
        if id(one) not in taken:
            yield _judge_extra(intended, pairs, one, new)


def _judge_form(intended: Sequence[IntendedCall], pairs: Sequence[Pair], new: Conversation) -> Iterator[Problem]:
    """The problems of calls and results that the API does not allow in their form or place."""
    for place, one in pairs:
        flaws = [one.flaw, *(result.flaw for result in new.results_of(one))]
        if intended[place].signed and not (one.signed or new.prompted):
            flaws.append("returned without its thought signature, which Gemini 3 requires")
        if one.id in new.unreasoned and not new.prompted:
            flaws.append("the model requires its reasoning: `reasoning_content`, or the item `reasoning` before it")
        if flaw := next(filter(None, flaws), ""):
            yield Problem(Outcome.INVALID_REQUEST, place, flaw)


def _judge_call(
    place: int, call: IntendedCall, returned: ReturnedCall, others: Sequence[IntendedCall]
) -> Iterator[Problem]:
    if not is_name_of(call.name, returned.name):
        text = f"returned under the name {_shown(returned.name)}"
        if not (call.name or returned.name):
            text = "it has no name, and was returned without one"
        yield Problem(Outcome.WRONG_NAME, place, text)
    if same(call.arguments, returned.arguments) or is_completed(call, returned, others):
        return
    if value_of(returned.arguments) == {}:
        yield Problem(Outcome.RETURNED_WITHOUT_ARGUMENTS, place, "returned without its arguments")
    elif call.kind != "custom" and not isinstance(value_of(returned.arguments), dict):
        yield Problem(Outcome.WRONG_ARGUMENTS, place, "its arguments were not returned as a JSON object")
    else:
        yield Problem(Outcome.WRONG_ARGUMENTS, place, "returned with other arguments")


def _judge_lost(
    place: int, intended: Sequence[IntendedCall], pairs: Sequence[Pair], *, may_be_dropped: bool
) -> Iterator[Problem]:
    """The problem of a call that was not returned, or was returned as part of another."""
    for pair in pairs:
        if is_merged(intended[place], intended[pair.place], pair.returned):
            yield Problem(Outcome.RETURNED_MERGED, place, f"returned as one call with call {pair.place}")
            return
    if not may_be_dropped:
        yield Problem(Outcome.LOST_CALL, place, "the call was not returned")


def _judge_extra(
    intended: Sequence[IntendedCall], pairs: Sequence[Pair], returned: ReturnedCall, new: Conversation
) -> Problem:
    """The problem of a returned call that was not sent."""
    what = f"{_shown(returned.name)[1:-1] or 'a call without a name'} id={_shown(returned.id)}"
    for pair in pairs:
        if is_part(intended[pair.place], pair, returned):
            return Problem(Outcome.SPLIT_CALL, pair.place, f"returned in parts; {what} is one of them")
    if any(call.name == returned.name and same(call.arguments, returned.arguments) for call in intended):
        rejected = any(evidence(result).sign is Sign.REJECTED for result in new.results_of(returned))
        outcome, how = (Outcome.CALL_REJECTED, ", and rejected") if rejected else (Outcome.DUPLICATE_CALL, "")
        return Problem(outcome, None, f"{what} was returned again{how}")
    return Problem(Outcome.PHANTOM_CALL, None, f"{what} was never sent")


def _graded(intended: Sequence[IntendedCall], pairs: Sequence[Pair], problems: Sequence[Problem]) -> list[Problem]:
    """The problems, with lost arguments as wrong ones if other calls kept their arguments."""
    having = [pair for pair in pairs if value_of(intended[pair.place].arguments) != {}]
    if all(value_of(pair.returned.arguments) == {} for pair in having):
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
