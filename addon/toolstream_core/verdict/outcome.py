"""Verdicts, and why: the nouns of judging what a client made of an answer."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Outcome(enum.StrEnum):
    """What became of an answer's calls; of several, the one that stands first here."""

    HALF_CALL = "half-call"
    """A call that never came whole was said again, or got a result."""
    WRONG_NAME = "wrong-name"
    LOST_CALL = "lost-call"
    PHANTOM_CALL = "phantom-call"
    """A call that was never sent."""
    DUPLICATE_CALL = "duplicate-call"
    LOST_ARGUMENTS = "lost-arguments"
    """`{}` or nothing in place of arguments."""
    WRONG_ARGUMENTS = "wrong-arguments"
    WRONG_ID = "wrong-id"
    """A result belongs to no call, or to two."""
    CHANGED_ID = "changed-id"
    """Call and result belong together, under another id than the call was sent with."""
    NO_RESULT = "no-result"
    RETRIED = "retried"
    """The same was asked again, and no call came back."""
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
    """Place of the call among those that the client had to run; `None` where it is none of them."""
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer judged, and why."""

    outcome: Outcome
    problems: tuple[Problem, ...]

    @property
    def understood(self) -> bool:
        """Whether the client did what the answer meant; half a call is rightly dropped."""
        return not self.problems


class Meant(Protocol):
    """A call as a stream meant it."""

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
