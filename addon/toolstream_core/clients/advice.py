"""What helps a client: options under which its model reads the calls that were meant, found by trying them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, override

from toolstream_core.clients.deviations import projects
from toolstream_core.clients.entries import ReceivedEvent
from toolstream_core.clients.model import Id
from toolstream_core.clients.reading import reads
from toolstream_core.defects.finish import CUT_OFF_CALL
from toolstream_core.engine.session import Session
from toolstream_core.engine.sink import Sink
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.model.record import runs_on_client
from toolstream_core.protocols.call_form import CallForm
from toolstream_core.settings import FOR, NOTHING, Words, settings
from toolstream_core.verdict.compare import same

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.clients.model import ClientModel
    from toolstream_core.clients.reading import ReadCall
    from toolstream_core.model import Call, Event, EventContent, Exchange, Record
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.settings import Settings

MAX_BODY: Final = 4 << 20
"""Bytes of an answer for which options are tried; of a longer one nothing is advised."""
MAX_ADVISED: Final = 3
"""Options of one kind that are told, at most."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it was before anything was repaired or shaped for the client."""

    exchange: Exchange
    body: bytes
    broken: str | None = None
    """How the connection broke, where it did."""


class Advice(NamedTuple):
    """Options that make a client understand an answer."""

    repair: str = ""
    shape: str = ""

    @property
    def options(self) -> str:
        """As they are given to mitmdump."""
        asked = {"toolstream_repair": self.repair, "toolstream_shape": self.shape}
        return " ".join(f"--set {name}={value}" for name, value in asked.items() if value)


def advise(model: ClientModel, answer: Answer) -> list[Advice]:
    """Options under which the client of `model` reads the calls that `answer` meant, the smallest first.

    None where it reads them anyway, and where nothing helps. A call that never came whole is meant to be left alone.
    """
    if len(answer.body) > MAX_BODY:
        return []
    usual = _Trial(answer, NOTHING)
    if usual.protocol is None or usual.record is None:
        return []
    meant = [call for call in usual.record.calls if runs_on_client(call) and call.complete and call.choice == 0]
    if usual.is_understood(model, meant):
        return []
    for options in _options(usual.record, usual.protocol, model):
        found = islice((one for one in options if _trial(answer, one).is_understood(model, meant)), MAX_ADVISED)
        if helping := list(found):
            return helping
    return []


def _trial(answer: Answer, tried: Advice) -> _Trial:
    return _Trial(answer, settings(Words([tried.repair], [tried.shape])))


def _options(record: Record, protocol: WireProtocol, model: ClientModel) -> Iterator[Iterable[Advice]]:
    """What is tried, in steps: when something of one step helps, the next is not taken."""
    safe, unsafe = (_repairs(record, safety) for safety in ("safe", "unsafe"))
    yield [Advice(repair=name) for name in safe]
    yield [Advice(shape=name) for name in protocol.shapes]
    yield [Advice(repair=name) for name in unsafe]
    yield [Advice(repair=",".join(names)) for names in (safe, [*safe, *unsafe]) if len(names) > 1]
    seen = {name.casefold() for name in projects(model.deviations)}
    yield [Advice(shape=f"{FOR}{row.name}") for row in CLIENTS if {row.name, row.client.casefold()} & seen]
    yield [Advice(shape=f"{FOR}{row.name}") for row in CLIENTS]
    yield [Advice("safe", name) for name in protocol.shapes]


def _repairs(record: Record, safety: str) -> list[str]:
    """The repairs of that safety that answer what was found, by name."""
    return list(dict.fromkeys(one.name for one in record.findings if one.repair == safety))


class _Trial:
    """An answer as it would reach the client under some settings."""

    def __init__(self, answer: Answer, tried: Settings) -> None:
        self._tried = tried
        session = Session(answer.exchange, tried)
        sent = [*session.feed(answer.body), *session.end(broken=answer.broken)] if answer.body else []
        self.record = session.record(broken=answer.broken)
        self.protocol, self._events = received(_as_sent(answer.exchange, tried), b"".join(sent))

    def is_understood(self, model: ClientModel, meant: Sequence[Call]) -> bool:
        """Whether the client reads the calls that are meant, and no other."""
        if self.protocol is None or self.record is None:
            return False
        if self._ends_as_break(self.record):
            return not meant
        read = reads(model, self.protocol.call_form, self._events)
        ids = [one.id for one in read if one.id]
        wanted = len(read) if self._ids_matter(model) else len(ids)
        if len(read) != len(meant) or len(set(ids)) < wanted:
            return False
        return all(_is_read(call, one) for call, one in zip(meant, read, strict=True))

    def _ids_matter(self, model: ClientModel) -> bool:
        """Whether each call needs an id from the stream: whole entries come without, some clients make up theirs."""
        makes_up = model.id in (Id.OWN, Id.UNIQUE)
        return self.protocol is not None and self.protocol.call_form is not CallForm.WHOLE and not makes_up

    def _ends_as_break(self, record: Record) -> bool:
        """Whether the client sees the answer break off, so that it runs nothing of it."""
        cut = any(one.code == CUT_OFF_CALL.code for one in record.findings)
        return cut and CUT_OFF_CALL.code in self._tried.repairs and not record.finish


def _is_read(call: Call, read: ReadCall) -> bool:
    return read.name == call.name and (
        read.arguments == call.arguments if call.kind == "custom" else same(read.arguments, call.arguments)
    )


def _as_sent(exchange: Exchange, tried: Settings) -> Exchange:
    """What is rewritten goes on without its content coding."""
    return replace(exchange, content_encoding="") if tried.rewrites else exchange


def received(exchange: Exchange, body: bytes) -> tuple[WireProtocol | None, list[ReceivedEvent]]:
    """The protocol of an answer, where it is one, and its events that say something."""
    collected = _Events()
    found: list[WireProtocol] = []

    def sinks(protocol: WireProtocol) -> Sequence[Sink]:
        found.append(protocol)
        return [collected]

    session = Session(exchange, sinks=sinks, fast=False)
    if body:
        session.feed(body)
    session.end()
    return (found[0] if found else None), collected.events


class _Events(Sink):
    """Keeps the events of an answer."""

    live = True

    def __init__(self) -> None:
        self.events: list[ReceivedEvent] = []

    @override
    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        self.events.append(ReceivedEvent(event.frame.number, said))
