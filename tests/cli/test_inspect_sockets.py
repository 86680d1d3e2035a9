"""`toolstream inspect` of saved sockets prints each response separately."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.inspected import save
from tests.invariants.healthy import request, streams
from tests.invariants.test_invariants import injected
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
"""The path of a socket and the client's first messages, for protocols without another transport."""
CALLS = [("get_weather", {"city": "Oslo 😀\nsouth"}), ("get_time", {"zone": "UTC"})]


def save_socket(path: Path, protocol: str, *bodies: bytes) -> Path:
    """Write a socket with these responses into a flow file."""
    address, first = SOCKETS[protocol]
    lines = [line for body in bodies for line in body.splitlines()]
    lines_ = [*((True, json.dumps(payload).encode()) for payload in first), *((False, line) for line in lines)]
    messages = [SavedMessage(client, 1_700_000_000.0 + at, data) for at, (client, data) in enumerate(lines_)]
    return save(path, socket(messages, address))


@pytest.mark.parametrize("protocol", SOCKETS)
def test_a_saved_socket(inspect: Inspect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str) -> None:
    """Text and JSON number each response under its socket."""
    healthy = next(
        stream for stream in streams() if stream.protocol == protocol and stream.name in {"fragments of two", "two"}
    )
    monkeypatch.chdir(tmp_path)
    path = save_socket(Path("a.flow"), protocol, healthy.body)
    [stream] = inspect.streams(path)
    assert (stream["source"], stream["dialect"]) == (f"{path}#0.1", protocol)
    assert (stream["host"], stream["model"], stream["findings"]) == ("api.openai.com", "gpt-realtime", [])
    assert [(call["name"], json.loads(call["arguments"])) for call in stream["calls"]] == CALLS
    text = "\n".join(inspect(path))
    assert text.startswith("#1 a.flow#0.1 api.openai.com/")
    assert f"gpt-realtime {protocol}" in text
    assert all(f"call {at} {name} " in text for at, (name, _) in enumerate(CALLS))


def test_findings_on_a_saved_socket(inspect: Inspect, tmp_path: Path) -> None:
    """Only the response with the defect has findings."""
    healthy = next(
        stream for stream in streams() if (stream.protocol, stream.name) == ("openai-realtime", "fragments of two")
    )
    other = healthy.body.replace(json.loads(healthy.body.splitlines()[0])["response"]["id"].encode(), b"resp_other")
    broken = injected(healthy, "cumulative-arguments").body
    first, second = inspect.streams(save_socket(tmp_path / "a.flow", healthy.protocol, broken, other), code=1)
    assert {finding["name"] for finding in first["findings"]} == {"cumulative-arguments"}
    assert second["findings"] == []
