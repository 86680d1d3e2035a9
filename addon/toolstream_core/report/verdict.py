"""A verdict on a response as a line and as an object. Shape of the object: `docs/jsonl.schema.json`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.model import ABSENT, Call, Json, Record
from toolstream_core.model.record import runs_on_client
from toolstream_core.printable import printable, word
from toolstream_core.report.columns import Marked
from toolstream_core.verdict import Outcome, Problem, Verdict
from toolstream_core.verdict.judge import share_ids

if TYPE_CHECKING:
    from toolstream_core.clients.explanation import Explanation

_OPTION: Final = re.compile(r"--set toolstream_(\w+)=(\S+)")
_TIMES: Final = frozenset({Outcome.RETRIED, Outcome.ABORTED, Outcome.SILENT})


class Explained(NamedTuple):
    """The explanation why a client misread a response."""

    names: Sequence[str] = ()
    """The names of its deviations from the protocol."""
    event: int | None = None
    """The first event that it misreads."""
    text: str = ""
    """The explanation as text."""
    advice: Sequence[str] = ()
    """Options of mitmdump with which the client would have understood the response, the smallest first."""
    fix: str = ""
    """The change to the client if no option helps, or the statement that no known bug has this effect."""
    explanation: Explanation | None = None
    """The client model that reproduces the returned calls, if one was found."""


UNEXPLAINED: Final = Explained()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedVerdict:
    """A verdict, ready to be reported."""

    source: str
    """The response: its place in a file, or the id of its flow."""
    verdict: Verdict
    calls: Sequence[Call]
    """The calls of the response as the client got it."""
    request: str | None
    """The source of the request that followed."""
    hide: Callable[[str], str] = str
    explained: Explained = UNEXPLAINED

    @property
    def object(self) -> dict[str, Any]:
        verdict, hide = self.verdict, self.hide
        return {
            "verdict": verdict.outcome.value,
            "understood": verdict.understood,
            "sent": [
                {key: _hidden(value, hide) for key, value in one.written._asdict().items()} for one in verdict.sent
            ],
            "results": [_hidden(one.written_id, hide) for one in verdict.results],
            "call": verdict.call,
            "event": self._event,
            "explained": list(self.explained.names),
            "advice": list(self.explained.advice),
            "problems": [
                {"verdict": one.outcome.value, "call": one.call, "message": hide(one.text)} for one in verdict.problems
            ],
            "count": verdict.count,
            "request": self.request,
        }

    @property
    def text(self) -> Marked:
        return self._text(f" (request {self.request})" if self.request else "")

    @property
    def short_text(self) -> Marked:
        """In words, without the request that followed."""
        return self._text("")

    def _text(self, where: str) -> Marked:
        verdict, explained = self.verdict, self.explained
        name = f"verdict {verdict.outcome}"
        times = f" {verdict.count} times" if verdict.count > 1 and verdict.outcome in _TIMES else ""
        problems = "; ".join(_problems(verdict.problems, self.calls, self.hide))
        why = f", because {printable(self.hide(explained.text))}" if explained.text else ""
        fix = f"; {explained.fix}" if explained.fix else ""
        text = f"{name}{times}{': ' if problems else ''}{problems}{where}{why}{fix}"
        return Marked(text, (("ok" if verdict.understood else "error", name),))

    @property
    def _event(self) -> int | None:
        """The event that the client misread; if it is unknown, the first event of the call."""
        call = self.verdict.call
        if self.explained.event is not None or call is None:
            return self.explained.event
        return next(iter(self.calls[call].events), None)


def advice_text(explained: Explained, syntax: Callable[[str], str] = str) -> str:
    """The first of the options that help, in the syntax of the command in use."""
    return f"→ {syntax(explained.advice[0])}" if explained.advice else ""


def as_flags(options: str) -> str:
    """Options of mitmdump as flags of `run`, `serve` and `check`."""
    return _OPTION.sub(r"--\1 \2", options)


def as_command(options: str) -> str:
    """Options of mitmdump as a command that runs a client with them."""
    flags, begins, remark = as_flags(options).partition(" (")
    return f"toolstream run {flags} -- CMD{begins}{remark}"


def as_marker(options: str) -> str:
    """Options of mitmdump as arguments of the pytest marker."""
    return ", ".join(f'{name}="{value}"' for name, value in option_values(options).items())


def option_values(options: str) -> dict[str, str]:
    """The values of options of mitmdump, by name: `repair`, `shape`."""
    return dict(_OPTION.findall(options))


def _problems(problems: Sequence[Problem], calls: Sequence[Call], hide: Callable[[str], str]) -> Iterator[str]:
    """Each problem once: of several equal ones of a call, the first, and the number of others."""
    alike: dict[tuple[Outcome, int | str], list[Problem]] = {}
    for one in problems:
        alike.setdefault((one.outcome, one.text if one.call is None else one.call), []).append(one)
    for first, *more in alike.values():
        yield _problem(first, calls, hide) + (f" ({len(more)} more like this)" if more else "")


def _problem(problem: Problem, calls: Sequence[Call], hide: Callable[[str], str]) -> str:
    text = printable(hide(problem.text))
    if problem.call is None:
        return text
    return f"call {problem.call} {word(calls[problem.call].name) or '(no name)'}: {text}"


def _hidden(value: Json, hide: Callable[[str], str]) -> Json:
    """A value of a request without secrets; absent values become null."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list):
        return [_hidden(inner, hide) for inner in value]
    if isinstance(value, dict):
        return {key: _hidden(inner, hide) for key, inner in value.items()}
    return None if value is ABSENT else value


HEADLINES: Final[Mapping[Outcome, str]] = {
    Outcome.RAN_INCOMPLETE_CALL: "The client ran {calls}, which the provider never completed",
    Outcome.RETURNED_INCOMPLETE_CALL: "The client returned {calls} incomplete",
    Outcome.SPLIT_CALL: "The client split {calls} into several calls",
    Outcome.RETURNED_MERGED: "The client merged {calls} with another call",
    Outcome.WRONG_NAME: "The client returned {calls} under another name",
    Outcome.LOST_CALL: "The client did not return {calls}",
    Outcome.PHANTOM_CALL: "The client returned a call that was never sent",
    Outcome.DUPLICATE_CALL: "The client returned {calls} twice",
    Outcome.WRONG_ARGUMENTS: "The client returned {calls} with other arguments",
    Outcome.RETURNED_WITHOUT_ARGUMENTS: "The client returned {calls} without arguments",
    Outcome.WRONG_ID: "The client mixed up the ids of {calls}",
    Outcome.MISSING_RESULT: "The client returned {calls} without a result",
    Outcome.INVALID_REQUEST: "The client returned {calls} in a form that the API does not allow",
    Outcome.CALL_REJECTED: "The client rejected {calls}",
    Outcome.NOT_RETURNED: "The user's next message came without {calls}",
    Outcome.RETRIED: "The client repeated the request instead of returning {calls}",
    Outcome.ABORTED: "The client disconnected before the response was complete",
    Outcome.SILENT: "The client sent no further request",
    Outcome.RESULTS_ONLY: "The client returned results, and the server has the calls",
    Outcome.AS_TEXT: "The client returned {calls} as message text",
    Outcome.OK: "The client read {calls} as sent",
}


def headline(verdict: Verdict, calls: Sequence[Call]) -> str:
    """The headline of a verdict on a response with these calls."""
    places = [one.call for one in verdict.problems if one.call is not None and one.outcome is verdict.outcome]
    named = list(dict.fromkeys(places)) or (_read(verdict, calls) if verdict.outcome is Outcome.OK else [])
    some = [calls[place] for place in named]
    text = HEADLINES[verdict.outcome]
    if verdict.outcome is Outcome.WRONG_ID and share_ids(some):
        text = "The provider sent {calls} under one id, and the client returned them so"
    return text.format(calls=_calls(some, named))


def without_verdict(record: Record) -> str:
    """The headline of a response on which there is no verdict."""
    if record.calls:
        return "No later request shows how the client interpreted this response"
    if record.error is not None:
        return "The provider reported an error before any call"
    if record.broken is not None:
        return "The response was cut off before any call"
    return "Text only: no call for the client to run"


def _read(verdict: Verdict, calls: Sequence[Call]) -> list[int]:
    """The places of the calls that the client runs, of the choice that it used."""
    intended = [place for place, call in enumerate(calls) if runs_on_client(call)]
    ids = {one.id for one in verdict.sent}
    used = next((calls[place].choice for place in intended if calls[place].id in ids), None)
    return [place for place in intended if used in (None, calls[place].choice)]


def _calls(calls: Sequence[Call], places: Sequence[int]) -> str:
    """`call 0 read_file and call 1 list_issues`; `all 5 calls` if they are many."""
    if len(calls) > _NAMED:
        return f"{len(calls)} calls"
    names = [f"call {place} {call.name or '(no name)'}" for place, call in zip(places, calls, strict=True)]
    if not names:
        return "a call"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_NAMED: Final = 3
"""Calls that are named one by one, at most."""
