"""Which answers go in their own time, and what is said where mitmproxy's inside is another one."""

from __future__ import annotations

import logging

import pytest
from mitmproxy.addons.next_layer import NextLayer
from mitmproxy.proxy.layers.http import HttpLayer
from mitmproxy.test import taddons, tflow

from toolstream_core.model import ABSENT
from toolstream_core.proxy import deliveries, gate
from toolstream_core.proxy.deliveries import Deliveries
from toolstream_core.settings import Settings, Words, settings

TIMED = settings(Words(fault=["stall"]))


def gates(context: taddons.context) -> int:
    """How many gates there are."""
    return len([one for one in context.master.addons.chain if isinstance(one, gate.Gate)])


def test_there_is_a_gate_only_while_something_needs_it() -> None:
    """It comes and goes with the options."""
    with taddons.context(NextLayer()) as context:
        clock = Deliveries(lambda _: None, lambda _: ABSENT)
        clock.run()
        assert gates(context) == 0
        for wanted, speed, needed in (
            (TIMED, None, 1),
            (Settings(), None, 0),
            (Settings(), 0.0, 1),
            (Settings(), 1.0, 1),
            (settings(Words(repair=["empty-id"])), None, 1),
            (settings(Words(repair=["safe"])), None, 1),
            (settings(Words(shape=["destream"])), None, 1),
            (settings(Words(fault=["http-error"])), None, 1),
        ):
            clock.configure(wanted, speed)
            assert gates(context) == needed


def test_an_error_at_the_end_of_a_delivery_is_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    """Its text and traceback may quote the request."""

    def closed(flow_id: str) -> None:
        raise ValueError(f"{flow_id}: plain-words-that-are-a-secret")

    Deliveries(closed, lambda _: ABSENT)._close("flow 1")
    [told] = caplog.messages
    assert "flow 1: ValueError at test_deliveries.py:" in told
    assert "plain-words" not in caplog.text


@pytest.mark.parametrize("lack", ["HttpLayer.make_stream", None])
def test_another_mitmproxy(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, lack: str | None) -> None:
    """One clear error says what is off; everything else goes on."""
    if lack is not None:
        monkeypatch.delattr(HttpLayer, "make_stream")
    with taddons.context(NextLayer()) as context, caplog.at_level(logging.ERROR, deliveries.__name__):
        clock = Deliveries(lambda _: None, lambda _: ABSENT)
        clock.configure(TIMED, None)
        clock.run()
        clock.configure(TIMED, 1.0)
        assert gates(context) == (0 if lack else 1)
        told = [record.getMessage() for record in caplog.records]
        if lack is None:
            assert told == []
        else:
            assert len(told) == 1
            assert f"has no {lack}" in told[0]
            assert not clock.destreams(tflow.tflow())
