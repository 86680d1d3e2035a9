"""A case: what is injected into the responses that a client gets, and what a correct client does."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from toolstream_core.suggest import unknown


class Kind(enum.StrEnum):
    """Where a case comes from."""

    HEALTHY = "healthy"
    FAULT = "fault"
    SHAPE = "shape"
    TRANSIT = "transit"
    PRESET = "preset"


class Transport(enum.Enum):
    """How a client connects."""

    HTTP = enum.auto()
    SOCKET = enum.auto()


EVERYWHERE: Final = frozenset(Transport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case, in one protocol."""

    protocol: str
    """`""` if it is not known yet."""
    kind: Kind
    name: str
    title: str
    """A description in one line."""
    code: str | None = None
    """The code of the defect."""
    groups: tuple[str, ...] = ()
    """Other words that select it: the family, the name of the fault."""
    spec: str = ""
    """The injected fault, as a value of `toolstream_fault`; `""` for nothing."""
    required: bool = True
    """Whether a client that fails it is wrong."""
    informational: bool = False
    """Whether no behaviour is right or wrong; the report shows what the client did."""
    lossy: bool = False
    """Whether no call has to be run: it is never complete, or cannot be read."""
    may_refuse: bool = False
    """Whether reporting it, instead of running the call, is permitted."""
    calls: tuple[str, ...] = ()
    """The calls that the provider makes, `TOOL {JSON}` each. Without any, it calls a harmless tool on offer."""
    over: frozenset[Transport] = EVERYWHERE
    """The transports that it can be injected into."""
    needs: str | None = None
    """The id of the case that has to pass first."""
    untriable: str = ""
    """Why it cannot be tried with the calls of this check; `""` if it can."""

    @property
    def id(self) -> str:
        """The same in each run: `PROTOCOL/KIND/NAME`."""
        kind = "" if self.kind is Kind.HEALTHY and self.name == Kind.HEALTHY else f"{self.kind}/"
        return f"{self.protocol or UNKNOWN}/{kind}{self.name}"

    @property
    def words(self) -> frozenset[str]:
        """The words that select it, beside its id."""
        return frozenset(filter(None, [self.name, self.code, self.kind.value, *self.groups]))


UNKNOWN: Final = "unknown"
"""Stands for the protocol of a client that sent no request."""


COLLECTIVE: Final = frozenset({"all", *Kind} - {Kind.HEALTHY})
"""Words for all cases, or all of a kind, that the client's protocol has."""


class SelectionError(ValueError):
    """A word that selects no case; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cases are wanted, by words in their order: `word` adds what it means, `-word` takes it out.

    A word is a name, code, family, kind or id, or a glob of these. Where the first word takes out, and where there is
    none, all are wanted at first.
    """

    words: tuple[str, ...] = ()

    def takes(self, case: Case) -> bool:
        """Whether the case is wanted."""
        wanted = not self.words or self.words[0].startswith("-")
        for word in self.words:
            if _means(word.removeprefix("-"), case):
                wanted = not word.startswith("-")
        return wanted

    @property
    def is_positive(self) -> bool:
        """Whether any word adds cases."""
        return any(not word.startswith("-") for word in self.words)

    def names(self, case: Case) -> bool:
        """Whether a word names the case by more than its kind: such a case is reported even if it cannot run."""
        words = [word for word in self.words if word not in COLLECTIVE and not word.startswith("-")]
        return any(_means(word, case) for word in words)

    def check(self, cases: list[Case]) -> None:
        """Raise `SelectionError` for a word that selects none of the existing cases."""
        for word in self.words:
            if not any(_means(word.removeprefix("-"), case) for case in cases):
                names = {name for case in cases for name in (case.id, *case.words)}
                raise SelectionError(unknown("case", word, names))


def _means(word: str, case: Case) -> bool:
    return word == "all" or any(fnmatchcase(name, word) for name in (case.id, *case.words))
