"""What helps a client: options under which its model reads the calls that were meant, found by trying them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.clients.deviations import projects
from toolstream_core.clients.received import Answer, Received, rewritten
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.settings import FOR, Words, settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.clients.model import ClientModel
    from toolstream_core.model import Call, Record
    from toolstream_core.protocols.protocol import WireProtocol

__all__ = ["Advice", "Answer", "advise"]

MAX_BODY: Final = 4 << 20
"""Bytes of an answer for which options are tried; of a longer one nothing is advised."""
MAX_ADVISED: Final = 3
"""Options of one kind that are told, at most."""


class Advice(NamedTuple):
    """Options that make a client understand an answer."""

    repair: str = ""
    shape: str = ""

    @property
    def options(self) -> str:
        """As they are given to mitmdump."""
        asked = {"toolstream_repair": self.repair, "toolstream_shape": self.shape}
        return " ".join(f"--set {name}={value}" for name, value in asked.items() if value)


def advise(model: ClientModel, answer: Answer, others: Sequence[ClientModel] = ()) -> list[Advice]:
    """Options under which the client of `model` reads the calls that `answer` meant, the smallest first.

    `others` are models that the client may be as well: what helps all of them goes before what helps `model` alone,
    and the repairs of what was found stand behind it where they help that. Clients' sets are tried where neither helps.
    None where it reads them anyway, and where nothing helps. A call that never came whole is meant to be left alone.
    """
    if len(answer.body) > MAX_BODY:
        return []
    usual = Received(answer)
    if usual.protocol is None or usual.record is None or usual.is_understood(model, usual.meant):
        return []
    direct = _direct(usual.record, usual.protocol)
    found = _first_that_help(direct, model, others, answer, usual.meant)
    return found or _first_that_help(_sets(usual.protocol, model), model, others, answer, usual.meant)


def _first_that_help(
    steps: Iterable[Iterable[Advice]],
    model: ClientModel,
    others: Sequence[ClientModel],
    answer: Answer,
    meant: Sequence[Call],
) -> list[Advice]:
    """What helps all models, of the first step in which anything does; else what helps `model`, of the first such."""
    alone: list[Advice] = []
    for options in steps:
        mine: list[Advice] = []
        for_all: list[Advice] = []
        for one in options:
            helped = _helped([model, *others], answer, one, meant)
            mine += [one] if helped[0] else []
            for_all += [one] if all(helped) else []
            if len(for_all) == MAX_ADVISED:
                break
        if for_all:
            own = (one for one in alone if not one.shape and one not in for_all)
            return [*for_all, *own][:MAX_ADVISED]
        alone = alone or mine[:MAX_ADVISED]
    return alone


def _helped(models: Sequence[ClientModel], answer: Answer, tried: Advice, meant: Sequence[Call]) -> list[bool]:
    """Which of the models understand the answer under some options."""
    sent = rewritten(answer, settings(Words([tried.repair], [tried.shape])))
    if sent is None:
        return [not meant] * len(models)
    got = Received(sent)
    return [got.is_understood(model, meant) for model in models]


def _direct(record: Record, protocol: WireProtocol) -> Iterator[Iterable[Advice]]:
    """What is tried first, in steps: when something of one step helps, the next is not taken."""
    safe, unsafe = (_repairs(record, safety) for safety in ("safe", "unsafe"))
    yield [Advice(repair=name) for name in safe]
    yield [Advice(shape=name) for name in protocol.shapes]
    yield [Advice(repair=name) for name in unsafe]
    yield [Advice(repair=",".join(names)) for names in (safe, [*safe, *unsafe]) if len(names) > 1]


def _sets(protocol: WireProtocol, model: ClientModel) -> Iterator[Iterable[Advice]]:
    """What is tried where nothing of that helps: more at once than a repair of what was found, or a shape."""
    seen = {name.casefold() for name in projects(model.deviations)}
    yield [Advice(shape=f"{FOR}{row.name}") for row in CLIENTS if {row.name, row.client.casefold()} & seen]
    yield [Advice("safe", name) for name in protocol.shapes]
    yield [Advice(shape=f"{FOR}{row.name}") for row in CLIENTS]


def _repairs(record: Record, safety: str) -> list[str]:
    """The repairs of that safety that answer what was found, by name."""
    return list(dict.fromkeys(one.name for one in record.findings if one.repair == safety))
