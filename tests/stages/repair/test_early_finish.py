"""A finish that comes before the calls are over goes behind them, where that was asked for by name."""

from __future__ import annotations

import pytest

from tests.invariants import strict
from tests.invariants.driven import injected, inspected, repaired
from tests.invariants.healthy import Healthy, streams
from toolstream_core.defects.table import named
from toolstream_core.engine.session import Session
from toolstream_core.settings import Settings

NAME = "early-finish"
HEALTHY = [one for one in streams() if one.dialect in {"bedrock", "cohere-v2"}]
CUT = [one for one in HEALTHY if one.name in {"fragments", "fragments of two"}]


def early(healthy: Healthy) -> bytes:
    """The stream with its finish too early."""
    return injected(healthy.body, healthy.exchange, NAME).out


def events(healthy: Healthy, body: bytes) -> list[bytes]:
    """What the client gets, event by event."""
    return Healthy(healthy.dialect, "", body).frames


@pytest.mark.parametrize("healthy", CUT, ids=str)
def test_the_finish_goes_behind_the_calls(healthy: Healthy) -> None:
    """The strictest reader gets the calls, nothing is left to be said, and the change has its name."""
    body = early(healthy)
    fixed = repaired(body, healthy.exchange, NAME)
    assert fixed.finding_names == [NAME]
    assert set(fixed.record.changes) == {NAME}
    assert strict.calls(healthy.dialect, fixed.out, healthy.exchange) == strict.calls(
        healthy.dialect, healthy.body, healthy.exchange
    )
    assert inspected(fixed.out, healthy.exchange).finding_names == []
    assert sorted(events(healthy, fixed.out)) == sorted(events(healthy, body))


@pytest.mark.parametrize("healthy", CUT, ids=str)
def test_it_has_to_be_named(healthy: Healthy) -> None:
    """Every finish waits for it: safe repairs only tell it."""
    body = early(healthy)
    told = repaired(body, healthy.exchange)
    assert told.out == body
    assert told.finding_names == [NAME]


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_a_finish_at_its_place_stays_there(healthy: Healthy) -> None:
    """It waits for the next event, and for nothing more."""
    line = Session(healthy.exchange, Settings(named([NAME])))
    sent = [b"".join(line.feed(frame)) for frame in healthy.frames]
    assert b"".join([*sent, *line.end()]) == healthy.body
    assert sent[-2] == b""
    assert sent[-1] == b"".join(healthy.frames[-2:])
    assert [one for one, frame in zip(sent, healthy.frames, strict=True) if one != frame] == sent[-2:]


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_nothing_is_lost_where_the_connection_breaks(healthy: Healthy) -> None:
    """Not even the finish that waits."""
    body = b"".join(healthy.frames[:-1])
    assert repaired(body, healthy.exchange, NAME, broken="reset").out == body
    cut = b"".join(events(healthy, early(healthy))[:-1])
    out = repaired(cut, healthy.exchange, NAME, broken="reset").out
    assert sorted(events(healthy, out)) == sorted(events(healthy, cut))


def test_comments_do_not_end_the_wait() -> None:
    """Up to some: where more come, the finish goes on before them."""
    (healthy,) = [one for one in CUT if (one.dialect, one.name) == ("cohere-v2", "fragments")]
    frames = events(healthy, early(healthy))
    at = next(at for at, frame in enumerate(frames) if b"message-end" in frame)
    for count, moved in ((2, True), (40, False)):
        body = b"".join([*frames[: at + 1], *[b": wait\n\n"] * count, *frames[at + 1 :]])
        out = repaired(body, healthy.exchange, NAME).out
        assert (out != body) == moved
        assert out.count(b": wait") == count
