"""The worker's reports on requests, responses and errors contain no secrets."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

from mitmproxy.test import tflow, tutils

from toolstream_core.proxy.worker.records import Ledger, LogKeeper
from toolstream_core.proxy.worker.service import Service

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SECRET = "plain-words-that-are-a-secret"
HEADERS = ((b"authorization", f"Bearer {SECRET}-a".encode()), (b"cookie", f"a={SECRET}-b".encode()))


def fail() -> None:
    """Raise an error that quotes a secret."""
    raise KeyError(SECRET)


def test_an_error_is_kept_without_its_message() -> None:
    """Mitmproxy logs the message of an addon's exception."""
    ledger = Ledger()
    keeper = LogKeeper(ledger)
    try:
        fail()
    except KeyError as error:
        raised = (KeyError, error, error.__traceback__)
        keeper.emit(logging.LogRecord("", logging.ERROR, "", 0, "Addon error: %s", (error,), raised))
    keeper.emit(logging.LogRecord("", logging.WARNING, "", 0, "no key %s", (f"sk-proj-{'0123abcdEFGH' * 4}",), None))
    first, second = ledger.log
    assert first.startswith("internal error: KeyError at test_ledger.py:")
    assert second == "no key [redacted]"


def test_a_failed_order_is_reported_without_the_error_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client that gave the order prints the reply."""

    def failing(_: object) -> Any:
        raise ValueError(SECRET)

    async def replies() -> dict[str, Any]:
        order = {"keep": True, "network": "none", "set": [], "port": 0, "confdir": str(tmp_path), "routes": {}}
        service = Service(order)
        monkeypatch.setitem(service._orders, "exchanges", failing)
        return await service._carry_out({"do": "exchanges"})

    reply = asyncio.run(replies())
    assert reply["error"].startswith("internal error: ValueError at test_ledger.py:")
    assert SECRET not in json.dumps(reply)


def test_a_request_is_reported_without_its_credentials() -> None:
    """Headers, URL, comment and error are redacted, and the body stays for tests to read."""
    path = f"/v1/chat/completions?key={SECRET}-c&page=2"
    request = tutils.treq(method=b"POST", path=path.encode(), headers=HEADERS, content=b'{"model": "m"}')
    flow = tflow.tflow(req=request, err=True)
    assert flow.error is not None
    flow.error.msg = f"no server takes {SECRET}-a"
    flow.comment = f"no flow has {SECRET}-b"
    ledger = Ledger()
    ledger.request(flow)
    ledger.last.error(flow)
    [entry] = [stored.as_json(bodies=True) for stored in ledger.entries.values()]
    secrets = entry["request"].pop("secrets")
    assert set(secrets) >= {f"{SECRET}-a", f"{SECRET}-b", f"{SECRET}-c"}
    assert SECRET not in json.dumps(entry)
    assert entry["request"]["path"] == "/v1/chat/completions?key=[redacted]&page=2"
    assert entry["request"]["body"] == '{"model": "m"}'
