"""The types of a verdict: its outcome, its problems, the intended call; also the grades of `toolstream check`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, Self

from toolstream_core.protocols.requests.conversation import ReturnedCall, ToolResult


class ReportedWord(enum.StrEnum):
    """A reported word, with its meaning."""

    meaning: str
    """As a clause."""

    def __new__(cls, word: str, meaning: str = "") -> Self:
        """Its word and its meaning."""
        made = str.__new__(cls, word)
        made._value_ = word
        made.meaning = meaning
        return made


class Outcome(ReportedWord):
    """How a client interpreted the calls of a response. If several apply, the first one here counts.

    The text on a single call is in `judge.py`, and headlines are in `report/verdict.py`.
    """

    @classmethod
    def _missing_(cls, value: object) -> Outcome | None:
        """Accept old names of verdicts."""
        return cls(RENAMED[value]) if isinstance(value, str) and value in RENAMED else None

    RAN_INCOMPLETE_CALL = "ran-incomplete-call", "the client ran an incomplete call: its result shows that the tool ran"
    RETURNED_INCOMPLETE_CALL = (
        "returned-incomplete-call",
        "the client returned a call that is truncated, without arguments or invalid JSON, or a result for it",
    )
    SPLIT_CALL = "split-call", "the client returned one call as several, none of them complete"
    RETURNED_MERGED = "returned-merged", "the client returned several calls as one"
    WRONG_NAME = "wrong-name", "the client returned a call under another name"
    LOST_CALL = "lost-call", "the client did not return a call"
    PHANTOM_CALL = "phantom-call", "the client returned a call that was never sent"
    DUPLICATE_CALL = "duplicate-call", "the client returned a call twice, or two results for it"
    WRONG_ARGUMENTS = (
        "wrong-arguments",
        "the client returned a call with other arguments, or one of several calls without arguments",
    )
    RETURNED_WITHOUT_ARGUMENTS = (
        "returned-without-arguments",
        "the client returned the calls with `{}` or nothing instead of their arguments",
    )
    WRONG_ID = (
        "wrong-id",
        "the client returned an empty or changed id, a result whose id no call has, or one id for two calls",
    )
    MISSING_RESULT = "missing-result", "the client returned a call without a result"
    INVALID_REQUEST = (
        "invalid-request",
        "the client returned a call or its result in a form or place that the API does not allow",
    )
    CALL_REJECTED = "call-rejected", "the client returned an incomplete or repeated call with an error as its result"
    NOT_RETURNED = (
        "not-returned",
        "the client sent a new user message without the calls: the user interrupted it, or it lost the calls",
    )
    RETRIED = "retried", "the client repeated the request; `count` is the number of repetitions"
    ABORTED = "aborted", "the client disconnected during the response"
    SILENT = "silent", "the client sent no further request (reported after ten minutes, and when the proxy ends)"
    RESULTS_ONLY = "results-only", "the client returned only results, since the server stores the calls"
    AS_TEXT = "as-text", "the client returned calls and results as message text"
    OK = "ok", "the client returned each call, with its own result; a call may have other ids, defaults or a namespace"


RENAMED: Final = {
    "executed-half-call": "returned-incomplete-call",
    "merged-calls": "returned-merged",
    "lost-arguments": "returned-without-arguments",
}
"""Old names of verdicts, accepted for one version; two of them are also names of defects."""


class Problem(NamedTuple):
    """One deviation of the next request from the intended calls."""

    outcome: Outcome
    call: int | None
    """Place of the call in the response; `None` if the response does not have it."""
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a client interpreted a response, and why."""

    outcome: Outcome
    problems: tuple[Problem, ...] = ()
    sent: tuple[ReturnedCall, ...] = ()
    """The calls that the client returned."""
    results: tuple[ToolResult, ...] = ()
    """The results that were returned with them."""
    count: int = 0
    """How often the request was repeated."""
    returned: bool = False
    """Whether the client returned the calls as sent, each with its own id: then only their results deviate."""

    @property
    def understood(self) -> bool:
        """Whether the client interpreted the calls correctly; it may drop or reject a call that must not run."""
        return all(one.outcome is Outcome.CALL_REJECTED for one in self.problems)

    @property
    def may_be_explained(self) -> bool:
        """Whether the calls that the client returned show how it read the stream."""
        is_misread = any(one.outcome is not Outcome.INVALID_REQUEST for one in self.problems)
        return bool(self.sent) and is_misread and not self.understood and not self.returned

    @property
    def call(self) -> int | None:
        """Place of the call that decided the outcome, if any."""
        places = [one.call for one in self.problems if one.call is not None]
        decided = [one.call for one in self.problems if one.outcome is self.outcome and one.call is not None]
        return next(iter([*decided, *places]), None)


class IntendedCall(Protocol):
    """A call as its stream intends it: `model.Call`, or one that the proxy reported."""

    @property
    def choice(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> str: ...
    @property
    def complete(self) -> bool: ...
    @property
    def signed(self) -> bool: ...


class Grade(ReportedWord):
    """From the best to the worst, then the grades that do not judge the client."""

    OK = "ok", "the client ran the intended calls; if a call was lost or damaged, it ran nothing wrong"
    NOT_STRICT = (
        "not-strict",
        "permitted, but weaker: the client retried first, or reported that it cannot run the call",
    )
    INFO = "info", "no behaviour is required; the observed one is reported"
    CALL_REJECTED = (
        "call-rejected",
        "the client returned a call, and its result is a rejection: the tool did not run it. Passes",
    )
    UNKNOWN = (
        "unknown",
        "the client returned an incomplete or repeated call, and no result shows whether it ran. Passes",
    )
    FAILED = "failed", "the client did something wrong; the reason describes it"
    HARNESS_FAILURE = (
        "harness-failure",
        "the case could not be tried: the command cannot be run, no request, or nothing injected",
    )
    SKIPPED = (
        "skipped",
        "the case did not run: the case that it depends on did not pass, or this client cannot be tested with it",
    )


class Reason(ReportedWord):
    """Why a client failed, by severity."""

    RAN_INCOMPLETE = "ran an incomplete call", "the result of an incomplete call shows that the tool ran"
    RAN_TWICE = "ran a call twice", "two results of one call show that the tool ran twice"
    INCOMPLETE = "returned an incomplete call", "the next request has a call that was truncated or damaged"
    TWICE = "returned a call twice", "the next request has one call two times"
    PHANTOM = "returned a call that was not sent", "the next request has a call that no response had"
    WITHOUT_ARGUMENTS = "returned without arguments", "the next request has a call with `{}` or nothing as arguments"
    WRONG_ARGUMENTS = "wrong arguments", "the next request has a call with other arguments than were sent"
    LOST = "lost a call", "the next request lacks a call"
    SPLIT = "split a call", "the next request has one call as several"
    MERGED = "returned merged calls", "the next request has several calls as one"
    WRONG_ID = "wrong id", "the next request has an empty or changed id, or a result whose id no call has"
    NO_RESULT = "returned a call without a result", "the next request has a call, and no result for it"
    INVALID_REQUEST = "sent an invalid request", "the next request has a call or a result that the API does not allow"
    WRONG_NAME = "wrong name", "the next request has a call under another name"
    LOOPED = "retried in a loop", "the client repeated the same request, at least four times"
    GAVE_UP = "gave up", "the client did not run a call that it could have run, or did not end in time"
    CRASHED = "crashed", "the command ended with an exit code other than 0, or by a signal"
