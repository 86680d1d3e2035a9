"""Clients that keep one variable for all calls, simulated over valid streams of every protocol with announced calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.clients.streams import anthropic, block, echoed, part
from tests.invariants.healthy import streams
from toolstream_core.calls.json_text import is_json
from toolstream_core.clients.deviations import fix
from toolstream_core.clients.explanation import explain
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

NO_WHOLE = ("anthropic", "bedrock", "cohere-v2")
"""Protocols whose deltas are the only place of the arguments."""


class Made(NamedTuple):
    """A call of a simulated client; `text` are its fragments of arguments."""

    id: str
    name: str
    text: list[str]


def first_opened(fragments: Iterable[Fragment]) -> list[Made]:
    """`current = current or block` where a call opens; every delta goes to `current`."""
    calls: list[Made] = []
    for one in fragments:
        if one.phase is Phase.OPEN:
            calls.append(Made(str(one.id), str(one.name), []))
        elif one.phase is Phase.MORE:
            calls[0].text.append(str(one.arguments))
    return calls


def one_buffer(fragments: Iterable[Fragment]) -> list[Made]:
    """`buffer += delta`; a call that closes takes the buffer, which nothing resets."""
    calls: list[Made] = []
    buffer: list[str] = []
    for one in fragments:
        if one.phase is Phase.OPEN:
            calls.append(Made(str(one.id), str(one.name), []))
        elif one.phase is Phase.MORE:
            buffer.append(str(one.arguments))
        elif one.phase is Phase.CLOSE and calls:
            calls[-1].text[:] = buffer
    return calls


def received() -> dict[str, Received]:
    """Valid streams of several calls, one after the other, by protocol and name."""
    found = {}
    for one in streams():
        got = Received(ReceivedBytes(one.exchange, one.body))
        if one.dialect in NO_WHOLE and len(got.intended) > 1 and "interleaved" not in one.name:
            found[f"{one.dialect}/{one.name}"] = got
    return found


RECEIVED = received()


@pytest.mark.parametrize(
    ("client", "bug", "invalid"),
    [
        (first_opened, Key.FIRST_OPENED, Invalid.RAW),
        (one_buffer, Adding.CONTINUED, Invalid.RAW),
        (one_buffer, Adding.CONTINUED, Invalid.EMPTY),
    ],
)
@pytest.mark.parametrize("name", RECEIVED)
def test_the_bug_is_named_with_its_fix(
    name: str, client: Callable[[Iterable[Fragment]], list[Made]], bug: Key | Adding, invalid: Invalid
) -> None:
    """Also if the client replaces what is no JSON by `{}`; the event is the first that goes wrong."""
    got = RECEIVED[name]
    assert got.protocol is not None
    fragments = [one.fragment for one in got.entries]
    sent = [(one.id, one.name, "".join(one.text)) for one in client(fragments)]
    if invalid is Invalid.EMPTY:
        sent = [(call, name, text if not text or is_json(text) else "{}") for call, name, text in sent]
    found = explain(got.protocol.call_form, got.events, echoed(*sent))
    assert found is not None
    assert set(found.model.deviations) == ({bug} if invalid is Invalid.RAW else {bug, invalid})
    opened = [one for one in got.entries if one.fragment.phase is Phase.OPEN]
    after = [one for one in got.entries if one.event > opened[1].event and one.fragment.phase is Phase.MORE]
    assert found.event == (after[0] if bug is Key.FIRST_OPENED else opened[1]).event
    assert f"event {found.event} " in reason(found).replace(",", " ")
    assert f"`{got.protocol.call_keys[-1]}`" in fix((bug,), got.protocol)


def test_streams_of_every_protocol_are_tried() -> None:
    """At least one for each."""
    assert {name.split("/")[0] for name in RECEIVED} == set(NO_WHOLE)


def test_many_calls_with_one_buffer_are_not_tried() -> None:
    """The texts would grow with the square of their number."""
    for count in (1, 2, MAX_CONTINUED, MAX_CONTINUED + 1):
        blocks = [one for at in range(count) for one in (block(at, f"c{at}", "f"), part(at, "{}"))]
        got = [*groupings(CallForm.ANNOUNCED, _entries(blocks), 1)]
        assert (STANDARD.having([Adding.CONTINUED]) in got) is (1 < count <= MAX_CONTINUED)


def _entries(blocks: list[dict[str, object]]) -> list[Entry]:
    return entries_of(anthropic(*blocks))
