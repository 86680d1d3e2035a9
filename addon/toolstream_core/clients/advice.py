"""Finds options with which a client understands a response. Each is tried on the response first."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from toolstream_core.clients.deviations import projects
from toolstream_core.clients.model import STANDARD, ClientModel
from toolstream_core.clients.received import Received, ReceivedBytes, repair
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.model import Call, Record, Severity
from toolstream_core.model.record import runs_on_client
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.settings import FOR, Words, settings

MAX_BODY: Final = 4 << 20
"""Bytes of a response for which options are tried; nothing is advised for a longer one."""
MAX_ADVISED: Final = 3
"""Options of one kind that are reported, at most."""


class Advice(NamedTuple):
    """Options with which a client understands a response."""

    repair: str = ""
    shape: str = ""

    @property
    def options(self) -> str:
        options = {"toolstream_repair": self.repair, "toolstream_shape": self.shape}
        return " ".join(f"--set {name}={value}" for name, value in options.items() if value)


def advise(
    model: ClientModel, response: ReceivedBytes, others: Sequence[ClientModel] = (), choice: int | None = None
) -> list[Advice] | None:
    """Options with which the client of `model` reads the intended calls of `response`, the smallest first.

    `others` are models that the client may be as well: an option has to help all of them, since nothing shows which it
    is. Clients' sets are tried if no repair or shape helps. An empty list: all were tried, and none helps. `None`:
    nothing was tried, since the response is too long or the client reads its calls anyway. An incomplete
    call must not be run. `choice`: the one that the client uses; by default the first that has calls.
    """
    if len(response.body) > MAX_BODY:
        return None
    usual = Received(response, choice)
    if usual.protocol is None or usual.record is None or usual.is_understood(model, usual.intended):
        return None
    direct = _direct(usual.record, usual.protocol)
    incomplete = any(runs_on_client(call) and not call.complete for call in usual.record.calls)
    trial = _Trial(response, usual.choice, usual.intended, only_break=incomplete and not usual.intended)
    models = [model, *others]
    return _first_that_help(direct, models, trial) or _first_that_help(_sets(usual.protocol, model), models, trial)


class _Trial(NamedTuple):
    """A response on which options are tried, and its intended calls."""

    response: ReceivedBytes
    choice: int
    intended: Sequence[Call]
    only_break: bool
    """Whether all calls are incomplete: a disconnect helps, and hiding the calls does not."""


def tried_repairs(response: ReceivedBytes, lost: Container[str] = ()) -> str:
    """Safe repairs of errors and warnings, as options: those after which `response` is read as intended.

    For responses without a verdict: no client is known, so the protocol's reading is tried. `lost` are the codes of
    findings that are not the provider's.
    """
    usual = Received(response)
    if len(response.body) > MAX_BODY or usual.record is None:
        return ""
    found = [one for one in usual.record.findings if one.code not in lost]
    loud = [one for one in found if one.severity is not Severity.NOTE and one.repair == "safe"]
    names = list(dict.fromkeys(one.name for one in loud))
    if not names:
        return ""
    repaired = repair(response, settings(Words(names)))
    if repaired.response is None:
        return Advice(repair=repaired.cut_off).options
    changed = [name for name in names if name in repaired.changes]
    helps = changed and Received(repaired.response).is_understood(STANDARD, usual.intended)
    return Advice(repair=",".join(changed)).options if helps else ""


def _first_that_help(steps: Iterable[Iterable[Advice]], models: Sequence[ClientModel], trial: _Trial) -> list[Advice]:
    """The options of the first step that has any that help all of the models."""
    for options in steps:
        if found := [one for one in options if _helps(models, trial, one)]:
            return found[:MAX_ADVISED]
    return []


def _helps(models: Sequence[ClientModel], trial: _Trial, tried: Advice) -> bool:
    """Whether all of the models understand the response under some options."""
    sent = repair(trial.response, settings(Words([tried.repair], [tried.shape]))).response
    if sent is None:
        return not trial.intended
    if trial.only_break:
        return False
    got = Received(sent, trial.choice)
    return all(got.is_understood(model, trial.intended) for model in models)


def _direct(record: Record, protocol: WireProtocol) -> Iterator[Iterable[Advice]]:
    """Single repairs and shapes, then combined repairs, in steps: the next one is tried if this one does not help."""
    safe, unsafe = (_repairs(record, safety) for safety in ("safe", "unsafe"))
    yield [Advice(repair=name) for name in safe]
    yield [Advice(shape=name) for name in protocol.shapes]
    yield [Advice(repair=name) for name in unsafe]
    yield [Advice(repair=",".join(names)) for names in dict.fromkeys([(*safe,), (*safe, *unsafe)]) if len(names) > 1]


def _sets(protocol: WireProtocol, model: ClientModel) -> Iterator[Iterable[Advice]]:
    """Sets of repairs and shapes for clients, tried if nothing in `_direct` helps."""
    seen = {name.casefold() for name in projects(model.deviations)}
    yield [
        Advice(shape=f"{FOR}{definition.name}")
        for definition in CLIENTS
        if {definition.name, definition.client.casefold()} & seen
    ]
    yield [Advice("safe", name) for name in protocol.shapes]
    yield [Advice(shape=f"{FOR}{definition.name}") for definition in CLIENTS]


def _repairs(record: Record, safety: str) -> list[str]:
    """The repairs of that safety for what was found, by name."""
    return list(dict.fromkeys(one.name for one in record.findings if one.repair == safety))
