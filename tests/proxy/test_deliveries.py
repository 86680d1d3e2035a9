"""Which responses need the gate, and the error if mitmproxy's internals differ."""

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
    """Return the number of gates."""
    return sum(isinstance(addon, gate.Gate) for addon in context.master.addons.chain)


def test_the_gate_is_present_only_while_an_option_needs_it() -> None:
    """Faults with a delay, replay speeds, some repairs and the shape `destream` need the gate."""
    with taddons.context(NextLayer()) as context:
        delivered = Deliveries(lambda _: None, lambda _: ABSENT)
        delivered.run()
        assert gates(context) == 0
        for settings_, speed, needed in (
            (TIMED, None, 1),
            (Settings(), None, 0),
            (Settings(), 0.0, 1),
            (Settings(), 1.0, 1),
            (settings(Words(repair=["empty-id"])), None, 1),
            (settings(Words(repair=["safe"])), None, 1),
            (settings(Words(shape=["destream"])), None, 1),
            (settings(Words(fault=["http-error"])), None, 1),
        ):
            delivered.configure(settings_, speed)
            assert gates(context) == needed


def test_an_error_at_the_end_of_a_delivery_is_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    """The message and the traceback of an error may quote the request."""

    def closed(flow_id: str) -> None:
        raise ValueError(f"{flow_id}: plain-words-that-are-a-secret")

    Deliveries(closed, lambda _: ABSENT)._close("flow 1")
    [message] = caplog.messages
    assert "flow 1: ValueError at test_deliveries.py:" in message
    assert "plain-words" not in caplog.text


@pytest.mark.parametrize("missing", ["HttpLayer.make_stream", None])
def test_a_mitmproxy_with_other_internals(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, missing: str | None
) -> None:
    """One error names the missing part, and all other functions work."""
    if missing is not None:
        monkeypatch.delattr(HttpLayer, "make_stream")
    with taddons.context(NextLayer()) as context, caplog.at_level(logging.ERROR, deliveries.__name__):
        delivered = Deliveries(lambda _: None, lambda _: ABSENT)
        delivered.configure(TIMED, None)
        delivered.run()
        delivered.configure(TIMED, 1.0)
        assert gates(context) == (0 if missing else 1)
        messages = [record.getMessage() for record in caplog.records]
        if missing is None:
            assert messages == []
        else:
            assert len(messages) == 1
            assert f"has no {missing}" in messages[0]
            assert not delivered.destreams(tflow.tflow())
