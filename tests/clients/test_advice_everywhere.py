"""Advice is applied to saved and malformed streams, and each client that the verdict allows then reads the calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.invariants.driven import injected
from tests.invariants.healthy import streams
from toolstream_core.clients.advice import advise
from toolstream_core.clients.explanation import Explainer
from toolstream_core.clients.fit import possible_deviations
from toolstream_core.clients.model import STANDARD
from toolstream_core.clients.received import Received, ReceivedBytes, repair
from toolstream_core.clients.stepping import reads
from toolstream_core.defects.table import DEFECTS
from toolstream_core.faults.presets import PRESETS
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.requests.conversation import ReturnedCall
from toolstream_core.saved.read import load
from toolstream_core.settings import Words, settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.clients.model import ClientModel
    from toolstream_core.saved.flow import LlmFlow

FLOWS = sorted((Path(__file__).resolve().parents[2] / "flows").glob("*.flow"))
FAULTS = [*((row.name,) for row in DEFECTS), *(preset.parts for preset in PRESETS)]
FEW = 3
"""Number of clients for each stream."""
PROTOCOLS = 2
"""Number of protocols for each fault. They differ from fault to fault."""
PARTS = 8
"""Number of tests that share the faults."""


def saved(path: Path) -> list[ReceivedBytes]:
    """The responses of a saved conversation."""
    return [
        ReceivedBytes(StreamFacts(path=one.path, content_type=content_type(one), request=one.request), one.body)
        for one in load(path)
    ]


def content_type(fixture: LlmFlow) -> str:
    """The content type of a recorded response."""
    return dict(fixture.headers)[b"content-type"].decode()


def faulty(number: int, parts: Sequence[str]) -> Iterator[ReceivedBytes]:
    """The streams of some protocols that the faults change."""
    left = PROTOCOLS
    healthy = streams()
    number %= len(healthy)
    for one in {one.protocol: one for one in reversed(healthy[number:] + healthy[:number])}.values():
        sent = injected(one.body, one.exchange, *parts).out
        if left and sent != one.body:
            left -= 1
            yield ReceivedBytes(one.exchange, sent)


def clients(number: int, got: Received) -> list[ClientModel]:
    """Some client models, each with one deviation that concerns this response."""
    if got.protocol is None:
        return []
    known = possible_deviations(got.protocol.call_form, got.entries)
    step = max(1, len(known) // FEW)
    return [STANDARD.with_deviations([one]) for one in known[number % step :: step]]


def check(number: int, given: ReceivedBytes) -> int:
    """Apply all advised options for some clients. Returns the number of options."""
    got = Received(given)
    tried = 0
    for model in clients(number, got):
        assert got.protocol is not None
        echo = [ReturnedCall(*one[:3]) for one in reads(model, got.protocol.call_form, got.entries)]
        found = Explainer().explain_response(given, echo)
        if found is None or got.is_understood(model, got.intended):
            continue
        others = [*found.others, *found.common]
        for option in advise(found.model, given, others) or ():
            tried += 1
            sent = repair(given, settings(Words([option.repair], [option.shape]))).response
            if sent is None:
                assert got.intended == []
                continue
            assert sent.body != given.body, option
            helped = Received(sent)
            for one in (found.model, *others):
                assert helped.is_understood(one, got.intended), (one.deviations, option)
    return tried


def test_advice_on_saved_streams_helps() -> None:
    """Every response of every saved flow is checked."""
    given = [one for path in FLOWS for one in saved(path)]
    assert len(given) >= len(FLOWS)
    assert sum(check(number, one) for number, one in enumerate(given))


@pytest.mark.parametrize("part", range(PARTS))
def test_advice_on_faulty_streams_helps(part: int) -> None:
    """Every defect and preset that can be injected is checked."""
    numbers = range(part, len(FAULTS), PARTS)
    assert sum(check(number, given) for number in numbers for given in faulty(number, FAULTS[number]))
