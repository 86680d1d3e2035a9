"""`toolstream inspect` of saved sockets: each of their answers is one of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.inspected import save
from tests.invariants.healthy import request, streams
from tests.invariants.test_invariants import injector
from tests.saved.test_sockets import socket
from toolstream_core.sockets.saved import SavedMessage

if TYPE_CHECKING:
    from tests.cli.inspected import Inspect

LIVE = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
TOOLS = request("openai-realtime")["tools"]
SOCKETS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "openai-realtime": (
        "/v1/realtime?model=gpt-realtime",
        [{"type": "session.update", "session": {"tools": TOOLS}}, {"type": "response.create"}],
    ),
    "gemini-live": (LIVE, [{"setup": {"model": "models/gpt-realtime"}}]),
}
"""The path of a socket in each protocol that has no other transport, and what its client says first."""
CALLS = [("get_weather", {"city": "Oslo 😀\nsouth"}), ("get_time", {"zone": "UTC"})]


def saved(path: Path, dialect: str, *bodies: bytes) -> Path:
    """A socket in a flow file, with these answers on it."""
    address, first = SOCKETS[dialect]
    lines = [line for body in bodies for line in body.splitlines()]
    said = [*((True, json.dumps(one).encode()) for one in first), *((False, line) for line in lines)]
    messages = [SavedMessage(client, 1_700_000_000.0 + at, data) for at, (client, data) in enumerate(said)]
    return save(path, socket(messages, address))


@pytest.mark.parametrize("dialect", SOCKETS)
def test_a_saved_socket(inspect: Inspect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str) -> None:
    """Each answer, in text and as JSON, under the socket's number and its own."""
    two = next(one for one in streams() if one.dialect == dialect and one.name in {"fragments of two", "two"})
    monkeypatch.chdir(tmp_path)
    path = saved(Path("a.flow"), dialect, two.body)
    [stream] = inspect.streams(path)
    assert (stream["source"], stream["dialect"]) == (f"{path}#0.1", dialect)
    assert (stream["host"], stream["model"], stream["findings"]) == ("api.openai.com", "gpt-realtime", [])
    assert [(call["name"], json.loads(call["arguments"])) for call in stream["calls"]] == CALLS
    text = "\n".join(inspect(path))
    assert text.startswith("#1 a.flow#0.1 api.openai.com/")
    assert f"gpt-realtime {dialect}" in text
    assert all(f"call {at} {name} " in text for at, (name, _) in enumerate(CALLS))


def test_what_is_wrong_on_a_saved_socket(inspect: Inspect, tmp_path: Path) -> None:
    """Only in the answer that has it."""
    two = next(one for one in streams() if (one.dialect, one.name) == ("openai-realtime", "fragments of two"))
    other = two.body.replace(json.loads(two.body.splitlines()[0])["response"]["id"].encode(), b"resp_other")
    broken = injector(two, "cumulative-arguments").body
    first, second = inspect.streams(saved(tmp_path / "a.flow", two.dialect, broken, other), code=1)
    assert {one["name"] for one in first["findings"]} == {"cumulative-arguments"}
    assert second["findings"] == []
