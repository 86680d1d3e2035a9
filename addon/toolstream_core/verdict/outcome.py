"""Verdicts, and why: the nouns of judging what a client made of an answer."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from toolstream_core.protocols.requests.conversation import EchoedCall, ToolResult


class Outcome(enum.StrEnum):
    """What became of an answer's calls; of several, the one that stands first here."""

    EXECUTED_HALF_CALL = "executed-half-call"
    """A call that never came whole came back, or got a result."""
    SPLIT_CALL = "split-call"
    """One call came back as several, none of which is the whole."""
    MERGED_CALLS = "merged-calls"
    """Several calls came back as one."""
    WRONG_NAME = "wrong-name"
    LOST_CALL = "lost-call"
    PHANTOM_CALL = "phantom-call"
    """A call that was never sent."""
    DUPLICATE_CALL = "duplicate-call"
    WRONG_ARGUMENTS = "wrong-arguments"
    LOST_ARGUMENTS = "lost-arguments"
    """`{}` or nothing in place of the arguments, of every call that came back."""
    WRONG_ID = "wrong-id"
    """A result belongs to no call, or to two; or a call has none."""
    RETRIED = "retried"
    """The same was asked again."""
    ABORTED = "aborted"
    """The client left in mid-stream."""
    SILENT = "silent"
    """There was no next request."""
    RESULTS_ONLY = "results-only"
    """Results alone, where the server keeps the calls."""
    AS_TEXT = "as-text"
    """Calls and results were written into the text of messages."""
    OK = "ok"


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
        """Whether the client did what the answer meant; a call that must not be run is rightly dropped."""
        return not self.problems

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
