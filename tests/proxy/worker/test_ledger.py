"""What the worker tells of requests, responses and errors holds no secret."""

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


def raising() -> None:
    """What goes wrong quotes what passes."""
    raise KeyError(SECRET)


def test_an_error_with_a_traceback_is_kept_without_its_text() -> None:
    """The proxy logs the text of what an addon raises."""
    ledger = Ledger()
    keeper = LogKeeper(ledger)
    try:
        raising()
    except KeyError as error:
        raised = (KeyError, error, error.__traceback__)
        keeper.emit(logging.LogRecord("", logging.ERROR, "", 0, "Addon error: %s", (error,), raised))
    keeper.emit(logging.LogRecord("", logging.WARNING, "", 0, "no key %s", (f"sk-proj-{'0123abcdEFGH' * 4}",), None))
    first, second = ledger.log
    assert first.startswith("internal error: KeyError at test_ledger.py:")
    assert second == "no key [redacted]"


def test_a_failed_order_is_told_without_the_text_of_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever gave it prints the reply."""

    def failing(_: object) -> Any:
        raise ValueError(SECRET)

    async def replies() -> dict[str, Any]:
        order = {"keep": True, "network": "none", "set": [], "port": 0, "confdir": str(tmp_path), "routes": {}}
        service = Service(order)
        monkeypatch.setitem(service._orders, "tell", failing)
        return await service._carry_out({"do": "tell"})

    reply = asyncio.run(replies())
    assert reply["error"].startswith("internal error: ValueError at test_ledger.py:")
    assert SECRET not in json.dumps(reply)


def test_a_request_is_told_without_its_credentials() -> None:
    """In its headers, its URL, the comment and the error; its body stays, for tests to read."""
    path = f"/v1/chat/completions?key={SECRET}-c&page=2"
    request = tutils.treq(method=b"POST", path=path.encode(), headers=HEADERS, content=b'{"model": "m"}')
    flow = tflow.tflow(req=request, err=True)
    assert flow.error is not None
    flow.error.msg = f"no server takes {SECRET}-a"
    flow.comment = f"no flow has {SECRET}-b"
    ledger = Ledger()
    ledger.request(flow)
    ledger.last.error(flow)
    [told] = [entry.as_json(bodies=True) for entry in ledger.entries.values()]
    secrets = told["request"].pop("secrets")
    assert set(secrets) >= {f"{SECRET}-a", f"{SECRET}-b", f"{SECRET}-c"}
    assert SECRET not in json.dumps(told)
    assert told["request"]["path"] == "/v1/chat/completions?key=[redacted]&page=2"
    assert told["request"]["body"] == '{"model": "m"}'
