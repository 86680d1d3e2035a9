"""What is known of a stream that is rewritten."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from toolstream_core.stages.answer_ids import AnswerIds
from toolstream_core.wire import json_access
from toolstream_core.wire.write import SseWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Change, Exchange, Finding, Json
    from toolstream_core.stages.promotion import Promotion
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer


def no_calls() -> Sequence[OpenCall]:
    """An answer whose calls are all whole."""
    return ()


def nobody(report: object) -> None:
    """What is reported to nobody."""


def untold() -> None:
    """What nobody has to know."""


@dataclass
class Context:
    """What is known of a stream that is rewritten, and what is called with its findings and changes."""

    exchange: Exchange
    schemas: Mapping[str, Json]
    """The schema of the parameters of each tool offered; empty where there is no request, or none is offered."""
    promote: Callable[[Promotion], list[Frame]] | None = None
    """Makes calls of what was text, in the stream's protocol."""
    say: Callable[[Promotion], list[Frame]] | None = None
    """Says calls, in the stream's protocol; `None` where they come whole."""
    id_prefix: str = "call_"
    """How the id of a call begins where one has to be made up."""
    reads_comments: bool = True
    """Whether the protocol's official clients skip SSE comments."""
    repairs: frozenset[str] = frozenset()
    """Codes of the rows whose repair is on."""
    writer: Writer = field(default_factory=SseWriter)
    ids: AnswerIds = field(default_factory=AnswerIds)
    found: Callable[[Finding], None] = nobody
    changed: Callable[[Change], None] = nobody
    half_calls: Callable[[], Sequence[OpenCall]] = no_calls
    """The calls that are half, where neither a finish reason nor an error of the answer, as it came, says so."""
    passes_on: Callable[[], None] = untold
    """Is called where nothing of the answer is judged any more: it began elsewhere, or begins anew."""
    judging: bool = False
    """Whether only the findings count: frames that go on are thrown away, and need not be written."""

    @property
    def patient(self) -> bool:
        """Whether a frame may wait for the next one without evidence: nobody is waiting for a saved stream."""
        return not isinstance(self.exchange.request, dict)

    def may_be_empty(self, name: str) -> bool:
        """Whether the tool may be called without arguments, or is not known."""
        return name not in self._demanding

    @cached_property
    def _demanding(self) -> frozenset[str]:
        """The tools that have required parameters."""
        required = {name: json_access.get(schema, "required") for name, schema in self.schemas.items()}
        return frozenset([name for name, one in required.items() if json_access.items(one)])

    @cached_property
    def parameterless(self) -> frozenset[str]:
        """The tools that are known to have no parameters at all."""
        known = self.schemas.items()
        return frozenset([name for name, one in known if not (isinstance(one, dict) and one.get("properties"))])
