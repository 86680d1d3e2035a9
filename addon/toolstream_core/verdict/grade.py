"""The grades of `toolstream check`, and the reasons of failures, each with its meaning."""

from __future__ import annotations

from toolstream_core.verdict.outcome import Explained


class Grade(Explained):
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


class Reason(Explained):
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
    WRONG_NAME = "wrong name", "the next request has a call under another name"
    LOOPED = "retried in a loop", "the client repeated the same request, at least four times"
    GAVE_UP = "gave up", "the client did not run a call that it could have run, or did not end in time"
    CRASHED = "crashed", "the command ended with an exit code other than 0, or by a signal"
