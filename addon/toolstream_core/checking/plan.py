"""The plan of a check: cases, calls and options for each client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolstream_core.proxy.option_table import REPEATS
from toolstream_core.testing import Setup

if TYPE_CHECKING:
    from pathlib import Path

    from toolstream_core.checking.case import Case, Selection

_TOOL_KEYS: Final = (
    '"tools" *: *[[{][^]}]',
    "tool_?(call|use|result)",
    "tool(Use|Result)",
    "function_?([cC]all|[rR]esponse)",
    "call_output",
)
_ABOUT_TOOLS: Final = f"~bq '{'|'.join(_TOOL_KEYS)}'"
"""Requests with tools, calls or results. Others (for a title) get no fault and are not judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Cases, calls and options for each client."""

    selections: tuple[Selection, ...] = ()
    """Each has to take a case."""
    calls: tuple[str, ...] = ()
    """The calls to make, `TOOL {JSON}` each; without any they are made of the tools on offer."""
    tools: tuple[str, ...] = ()
    """The tools to call with generated arguments; without any, harmless ones are."""
    flows: tuple[Path, ...] = ()
    """Saved flows that answer instead."""
    upstream: bool = False
    """Whether the client's own provider answers."""
    repair: tuple[str, ...] = ()
    shape: tuple[str, ...] = ()
    seed: int = 0
    repeat: int = 1
    provider_repeats: int = REPEATS
    """Equal requests that one response of `flows` answers; 0 is no limit."""
    sessions: bool = False
    """Keep the sessions of failed cases for the page."""

    def wants(self, case: Case) -> bool:
        """Whether a case is to be run."""
        return all(one.takes(case) for one in self.selections)

    def names(self, case: Case) -> bool:
        """Whether a wanted case is reported even if the client's protocol does not have it."""
        return self.wants(case) and any(one.names(case) for one in self.selections)

    @property
    def names_cases(self) -> bool:
        """Whether any words say which cases to run; without them all are run."""
        return any(one.is_positive for one in self.selections)

    @property
    def makes_calls(self) -> bool:
        """Whether the answers are made here."""
        return not self.flows and not self.upstream

    @property
    def chooses(self) -> bool:
        """Whether the tools to call are chosen here."""
        return self.makes_calls and not self.calls and not self.tools

    def setup(self, case: Case, repair: tuple[str, ...] = (), shape: tuple[str, ...] = ()) -> Setup:
        """What the proxy does in a case; `repair` and `shape` are added to those of the plan."""
        return Setup(
            flows=self.flows,
            calls=(case.calls or self.calls or self.tools[:1]) if self.makes_calls else None,
            repair=(*self.repair, *repair),
            shape=(*self.shape, *shape),
            fault=(case.spec,) if case.spec else (),
            seed=self.seed,
            provider_repeats=self.provider_repeats,
            network="all" if self.upstream else "loopback",
            options={"toolstream_filter": _ABOUT_TOOLS},
        )
