"""Verdicts, and why: the nouns of judging what a client made of an answer."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self

if TYPE_CHECKING:
    from toolstream_core.protocols.requests.conversation import EchoedCall, ToolResult


class Outcome(enum.StrEnum):
    """What became of an answer's calls, each with its meaning; of several, the one that stands first here."""

    meaning: str
    """In half a sentence."""

    def __new__(cls, word: str, meaning: str = "") -> Self:
        """Its word, as told everywhere, and what it means."""
        made = str.__new__(cls, word)
        made._value_ = word
        made.meaning = meaning
        return made

    @classmethod
    def _missing_(cls, value: object) -> Outcome | None:
        """Accept the names that verdicts had before."""
        return cls(RENAMED[value]) if isinstance(value, str) and value in RENAMED else None

    RAN_INCOMPLETE_CALL = "ran-incomplete-call", "the client ran an incomplete call: its result shows that the tool ran"
    RETURNED_INCOMPLETE_CALL = (
        "returned-incomplete-call",
        "the client returned a call that is truncated, without arguments or invalid JSON, or a result for it",
    )
    SPLIT_CALL = "split-call", "one call came back as several, none of which is the whole"
    RETURNED_MERGED = "returned-merged", "the client returned several calls as one"
    WRONG_NAME = "wrong-name", "a call came back under another name"
    LOST_CALL = "lost-call", "a call did not come back"
    PHANTOM_CALL = "phantom-call", "a call came back that was never sent"
    DUPLICATE_CALL = "duplicate-call", "a call came back twice, or has two results"
    WRONG_ARGUMENTS = (
        "wrong-arguments",
        "a call came back with other arguments; with none, where other calls kept theirs",
    )
    RETURNED_WITHOUT_ARGUMENTS = (
        "returned-without-arguments",
        "the client returned the calls with `{}` or nothing in place of their arguments",
    )
    WRONG_ID = "wrong-id", "a result belongs to no call or to two, or a call has none"
    CALL_REJECTED = "call-rejected", "the client returned an incomplete or repeated call with an error as its result"
    RETRIED = "retried", "the same was asked again; `count` says how often"
    ABORTED = "aborted", "the client left in mid-stream"
    SILENT = "silent", "no request came: the live proxy says so after ten minutes, and when it ends"
    RESULTS_ONLY = "results-only", "results alone, where the server keeps the calls"
    AS_TEXT = "as-text", "calls and results were written into the text of messages"
    OK = "ok", "each call came back as it was sent, with its own result"


RENAMED: Final = {
    "executed-half-call": "returned-incomplete-call",
    "merged-calls": "returned-merged",
    "lost-arguments": "returned-without-arguments",
}
"""Old names of verdicts, accepted for one version; two of them are also names of defects."""


class Problem(NamedTuple):
    """One way in which the next request is not what the answer meant."""

    outcome: Outcome
    call: int | None
    """Place of the call among those of the answer; `None` where it is none of them."""
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer judged, and why."""

    outcome: Outcome
    problems: tuple[Problem, ...] = ()
    sent: tuple[EchoedCall, ...] = ()
    """The calls that came back."""
    results: tuple[ToolResult, ...] = ()
    """The results that came with them."""
    count: int = 0
    """How often the same was asked again, where it was."""

    @property
    def understood(self) -> bool:
        """Whether the client did what the answer meant; a call that must not be run is rightly dropped or rejected."""
        return all(one.outcome is Outcome.CALL_REJECTED for one in self.problems)

    @property
    def call(self) -> int | None:
        """Place of the call that decided on the outcome, where one did."""
        places = [one.call for one in self.problems if one.call is not None]
        decided = [one.call for one in self.problems if one.outcome is self.outcome and one.call is not None]
        return next(iter([*decided, *places]), None)


class Meant(Protocol):
    """A call as a stream meant it."""

    @property
    def choice(self) -> int:
        """The alternative that it belongs to."""
        ...

    @property
    def kind(self) -> str:
        """Who runs it."""
        ...

    @property
    def id(self) -> str:
        """As sent."""
        ...

    @property
    def name(self) -> str:
        """Of the tool."""
        ...

    @property
    def arguments(self) -> str:
        """As text."""
        ...

    @property
    def complete(self) -> bool:
        """Whether all of it came."""
        ...
