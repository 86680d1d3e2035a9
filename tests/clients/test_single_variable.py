"""Clients that keep one variable for all calls, simulated for valid streams of protocols with start events."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.clients.streams import anthropic, block, echoed, input_delta
from tests.invariants.healthy import streams
from toolstream_core.calls.json_text import is_json
from toolstream_core.clients.deviations import fix
from toolstream_core.clients.explanation import Explainer
from toolstream_core.clients.fit import MAX_CONTINUED, groupings
from toolstream_core.clients.model import STANDARD, Adding, Invalid, Key, entries_of
from toolstream_core.clients.received import Received, ReceivedBytes
from toolstream_core.model import Phase
from toolstream_core.protocols.protocol import CallForm
from toolstream_core.report.judging import reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolstream_core.clients.model import Entry
    from toolstream_core.model import Fragment

ONLY_DELTAS = ("anthropic", "bedrock", "cohere-v2")
"""Protocols that send arguments only in deltas."""


class SimulatedCall(NamedTuple):
    """A call of a simulated client. `text` has its fragments of arguments."""

    id: str
    name: str
    text: list[str]


def first_opened(fragments: Iterable[Fragment]) -> list[SimulatedCall]:
    """Calls of a client with `current = current or block` at each start. Every delta goes to `current`."""
    calls: list[SimulatedCall] = []
    for one in fragments:
        if one.phase is Phase.OPEN:
            calls.append(SimulatedCall(str(one.id), str(one.name), []))
        elif one.phase is Phase.MORE:
            calls[0].text.append(str(one.arguments))
    return calls


def one_buffer(fragments: Iterable[Fragment]) -> list[SimulatedCall]:
    """Calls of a client with `buffer += delta`. A call's end takes the buffer, and nothing resets it."""
    calls: list[SimulatedCall] = []
    buffer: list[str] = []
    for one in fragments:
        if one.phase is Phase.OPEN:
            calls.append(SimulatedCall(str(one.id), str(one.name), []))
        elif one.phase is Phase.MORE:
            buffer.append(str(one.arguments))
        elif one.phase is Phase.CLOSE and calls:
            calls[-1].text[:] = buffer
    return calls


def sequential() -> dict[str, Received]:
    """Valid streams with several calls, one after the other, by protocol and name."""
    found = {}
    for one in streams():
        got = Received(ReceivedBytes(one.exchange, one.body))
        if one.protocol in ONLY_DELTAS and len(got.intended) > 1 and "interleaved" not in one.name:
            found[f"{one.protocol}/{one.name}"] = got
    return found


SEQUENTIAL = sequential()


@pytest.mark.parametrize(
    ("client", "bug", "invalid"),
    [
        (first_opened, Key.FIRST_OPENED, Invalid.RAW),
        (one_buffer, Adding.CONTINUED, Invalid.RAW),
        (one_buffer, Adding.CONTINUED, Invalid.EMPTY),
    ],
)
@pytest.mark.parametrize("name", SEQUENTIAL)
def test_the_bug_is_named_with_its_fix(
    name: str, client: Callable[[Iterable[Fragment]], list[SimulatedCall]], bug: Key | Adding, invalid: Invalid
) -> None:
    """The bug is also named if the client replaces invalid JSON by `{}`. The event is the first misread one."""
    got = SEQUENTIAL[name]
    assert got.protocol is not None
    fragments = [one.fragment for one in got.entries]
    sent = [(one.id, one.name, "".join(one.text)) for one in client(fragments)]
    if invalid is Invalid.EMPTY:
        sent = [(call, name, text if not text or is_json(text) else "{}") for call, name, text in sent]
    found = Explainer().explain(got.protocol.call_form, got.events, echoed(*sent))
    assert found is not None
    assert set(found.model.deviations) == ({bug} if invalid is Invalid.RAW else {bug, invalid})
    opened = [one for one in got.entries if one.fragment.phase is Phase.OPEN]
    after = [one for one in got.entries if one.event > opened[1].event and one.fragment.phase is Phase.MORE]
    assert found.event == (after[0] if bug is Key.FIRST_OPENED else opened[1]).event
    assert f"event {found.event} " in reason(found).replace(",", " ")
    assert f"`{got.protocol.call_keys[-1]}`" in fix((bug,), got.protocol)


def test_streams_of_every_protocol_are_tried() -> None:
    """Each of the protocols has a stream."""
    assert {name.split("/")[0] for name in SEQUENTIAL} == set(ONLY_DELTAS)


def test_many_calls_with_one_buffer_are_not_tried() -> None:
    """The arguments would grow with the square of the number of calls."""
    for count in (1, 2, MAX_CONTINUED, MAX_CONTINUED + 1):
        blocks = [one for at in range(count) for one in (block(at, f"c{at}", "f"), input_delta(at, "{}"))]
        got = [*groupings(CallForm.ANNOUNCED, entries(blocks), 1)]
        assert (STANDARD.with_deviations([Adding.CONTINUED]) in got) is (1 < count <= MAX_CONTINUED)


def entries(blocks: list[dict[str, object]]) -> list[Entry]:
    """The entries of a Messages stream."""
    return entries_of(anthropic(*blocks))
