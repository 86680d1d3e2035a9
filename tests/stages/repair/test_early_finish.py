"""The repair `early-finish`: a finish reason before the end of the calls is moved after them."""

from __future__ import annotations

import pytest

from tests.invariants import strict
from tests.invariants.driven import injected, inspected, repaired
from tests.invariants.healthy import Healthy, streams
from toolstream_core.defects.table import named
from toolstream_core.engine.session import Session
from toolstream_core.settings import Settings

NAME = "early-finish"
HEALTHY = [one for one in streams() if one.protocol in {"bedrock", "cohere-v2"}]
WITH_FRAGMENTS = [one for one in HEALTHY if one.name in {"fragments", "fragments of two"}]


def early(healthy: Healthy) -> bytes:
    """Return the stream with an early finish reason."""
    return injected(healthy.body, healthy.exchange, NAME).out


def events(healthy: Healthy, body: bytes) -> list[bytes]:
    """Split a body into events."""
    return Healthy(healthy.protocol, "", body).frames


@pytest.mark.parametrize("healthy", WITH_FRAGMENTS, ids=str)
def test_an_early_finish_reason_is_moved_after_the_calls(healthy: Healthy) -> None:
    """An early finish reason is moved after the calls, the change is reported, and a strict client reads the calls."""
    body = early(healthy)
    fixed = repaired(body, healthy.exchange, NAME)
    assert fixed.finding_names == [NAME]
    assert set(fixed.record.changes) == {NAME}
    assert strict.calls(healthy.protocol, fixed.out, healthy.exchange) == strict.calls(
        healthy.protocol, healthy.body, healthy.exchange
    )
    assert inspected(fixed.out, healthy.exchange).finding_names == []
    assert sorted(events(healthy, fixed.out)) == sorted(events(healthy, body))


@pytest.mark.parametrize("healthy", WITH_FRAGMENTS, ids=str)
def test_the_repair_is_not_safe(healthy: Healthy) -> None:
    """Safe repairs report an early finish reason and do not move it, as this holds every finish reason."""
    body = early(healthy)
    outcome = repaired(body, healthy.exchange)
    assert outcome.out == body
    assert outcome.finding_names == [NAME]


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_a_correct_finish_reason_keeps_its_place(healthy: Healthy) -> None:
    """A correct finish reason is held until the next event only, and keeps its place."""
    session = Session(healthy.exchange, Settings(named([NAME])))
    sent = [b"".join(session.feed(frame)) for frame in healthy.frames]
    assert b"".join([*sent, *session.end()]) == healthy.body
    assert sent[-2] == b""
    assert sent[-1] == b"".join(healthy.frames[-2:])
    assert [one for one, frame in zip(sent, healthy.frames, strict=True) if one != frame] == sent[-2:]


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_a_held_finish_reason_is_sent_after_a_disconnect(healthy: Healthy) -> None:
    """After a disconnect, a held finish reason is sent, and no event is lost."""
    body = b"".join(healthy.frames[:-1])
    assert repaired(body, healthy.exchange, NAME, broken="reset").out == body
    cut = b"".join(events(healthy, early(healthy))[:-1])
    out = repaired(cut, healthy.exchange, NAME, broken="reset").out
    assert sorted(events(healthy, out)) == sorted(events(healthy, cut))


def test_a_finish_reason_is_held_over_some_comments() -> None:
    """A finish reason is held over a few comments; before many comments, it is sent."""
    (healthy,) = [one for one in WITH_FRAGMENTS if (one.protocol, one.name) == ("cohere-v2", "fragments")]
    frames = events(healthy, early(healthy))
    at = next(at for at, frame in enumerate(frames) if b"message-end" in frame)
    for count, moved in ((2, True), (40, False)):
        body = b"".join([*frames[: at + 1], *[b": wait\n\n"] * count, *frames[at + 1 :]])
        out = repaired(body, healthy.exchange, NAME).out
        assert (out != body) == moved
        assert out.count(b": wait") == count
