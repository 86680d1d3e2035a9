"""What a client did with a response, in one sentence without a full stop: the headline of the session view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model.record import runs_on_client
from toolstream_core.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolstream_core.model import Call
    from toolstream_core.verdict import Verdict

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
    Outcome.CALL_REJECTED: "The client rejected {calls}",
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
    return HEADLINES[verdict.outcome].format(calls=_calls([calls[place] for place in named], list(named)))


def without_verdict(calls: Sequence[Call], *, error: bool, broken: bool) -> str:
    """The headline of a response on which there is no verdict."""
    if calls:
        return "No later request shows how the client interpreted this response"
    if error:
        return "The provider reported an error before any call"
    if broken:
        return "The response was cut off before any call"
    return "Text only: no call for the client to run"


def _read(verdict: Verdict, calls: Sequence[Call]) -> list[int]:
    """The places of the calls that the client runs, of the choice that it used."""
    ours = [place for place, call in enumerate(calls) if runs_on_client(call)]
    ids = {one.id for one in verdict.sent}
    used = next((calls[place].choice for place in ours if calls[place].id in ids), None)
    return [place for place in ours if used in (None, calls[place].choice)]


def _calls(calls: Sequence[Call], places: Sequence[int]) -> str:
    """`call 0 read_file and call 1 list_issues`; `all 5 calls` where they are many."""
    if len(calls) > _NAMED:
        return f"{len(calls)} calls"
    names = [f"call {place} {call.name or '(no name)'}" for place, call in zip(places, calls, strict=True)]
    if not names:
        return "a call"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_NAMED: Final = 3
"""Calls that are named one by one, at most."""
