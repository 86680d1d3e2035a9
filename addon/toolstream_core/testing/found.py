"""What the proxy found of answers and clients, as objects that are also read by the names of the reports' JSON."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolstream_core.model import Json


class Entry:
    """Lets `entry["name"]` be said for `entry.name`, as in the JSON of reports."""

    def __getitem__(self, name: str) -> Any:
        """The field of that name. Raises `KeyError`."""
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def keys(self) -> Iterator[str]:
        """The fields' names."""
        return (one.name for one in fields(self))  # type: ignore[arg-type]  # subclasses are dataclasses


@dataclass(frozen=True, kw_only=True)
class FoundDefect(Entry):
    """What was wrong with an answer, where it shows."""

    code: str
    name: str
    severity: str
    """`error`, `warning`, `note`."""
    event: int
    call: int | None
    message: str
    repair: str | None
    """`safe`, `unsafe`; `None` where it cannot be repaired."""


@dataclass(frozen=True, kw_only=True)
class FoundProblem(Entry):
    """One way in which a client's next request was not what the answer meant."""

    verdict: str
    call: int | None
    """Place of the call among those of the answer; `None` where it is none of them."""
    message: str


@dataclass(frozen=True, kw_only=True)
class FoundVerdict(Entry):
    """What the client made of an answer, by its next request."""

    verdict: str
    """`ok`, `returned-without-arguments`, `silent`, …: `docs/jsonl.schema.json` has them all."""
    understood: bool
    """Whether the client did what the answer meant."""
    call: int | None
    """Place of the call that decided, among those of the answer."""
    event: int | None
    """Where it went wrong."""
    explained: tuple[str, ...]
    """Names of the ways in which the client reads otherwise than the protocol means."""
    explanation: str
    """The same for people; `""` where it is not known."""
    fix: str
    """The change to the client, or the statement that no known client bug has this effect; else `""`."""
    advice: tuple[str, ...]
    """Options under which the client would have understood the answer."""
    problems: tuple[FoundProblem, ...]
    sent: tuple[Mapping[str, Json], ...] = field(repr=False)
    """The calls that came back: id, name, arguments."""
    results: tuple[Json, ...]
    """The ids of the results that came back."""
    count: int
    """How often the same was asked again, where it was."""
    request: int | None
    """The number of the request that followed; `None` where none did."""


@dataclass(frozen=True, kw_only=True)
class FoundFault(Entry):
    """A fault that was aimed at an answer."""

    spec: str
    drawn: int
    """How many calls, or streams, were drawn to be hit."""
    changes: int
    """How many changes were made: none, where the fault found nothing to act on."""


def verdict_of(said: Mapping[str, Any]) -> FoundVerdict:
    """Read what the proxy tells of a verdict."""
    chosen = {one.name: said.get(one.name, "") for one in fields(FoundVerdict)}
    problems = tuple(FoundProblem(**problem) for problem in said["problems"])
    lists = {name: tuple(said[name]) for name in ("explained", "advice", "sent", "results")}
    return FoundVerdict(**{**chosen, **lists, "problems": problems})


def finding_of(finding: Mapping[str, Any]) -> FoundDefect:
    """Read what the proxy tells of a finding."""
    return FoundDefect(**{one.name: finding[one.name] for one in fields(FoundDefect)})
