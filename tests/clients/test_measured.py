"""The client models return the same calls as the measured versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.clients.test_explanation import conversations, recorded
from tests.conftest import needs_shared
from toolstream_core.clients.deviations import MEASURED, PROJECTS, MeasuredClient, measured_in
from toolstream_core.clients.fit import reproduces
from toolstream_core.clients.received import Received
from toolstream_core.protocols.registry import PROTOCOLS

if TYPE_CHECKING:
    from pathlib import Path

CELLS: Final = {
    "agno": "agno",
    "AI SDK": "ai-sdk-openai-compatible",
    "langchain-openai": "langchain-openai-py",
    "litellm stream_chunk_builder": "litellm-chunk-builder",
    "openai-agents-js": "openai-agents-js",
    "openai-node runTools": "openai-node-runTools",
    "openai-python, loop of its docs": "openai-py-docs-loop",
    "openai-python stream helper": "openai-py-stream",
    "pi-ai": "pi-ai-0.51.1",
    "pydantic-ai": "pydantic-ai",
    "strands-agents": "strands-agents",
}
"""Measured clients, and their names in the recorded conversations."""


@needs_shared
@pytest.mark.parametrize("client", MEASURED, ids=lambda client: client.name)
def test_a_model_returns_the_calls_of_its_client(client: MeasuredClient, shared: Path) -> None:
    """The number of reproduced conversations is that of the table."""
    reproduced = []
    for cell, response, returned in conversations(recorded(shared)):
        if cell["client"] != CELLS[client.name] or cell["next"] is None:
            continue
        got = Received(response)
        assert got.protocol is not None
        assert got.protocol.name == client.protocol
        choices = {one.fragment.choice for one in got.entries} or {0}
        parts = [[one for one in got.entries if one.fragment.choice == choice] for choice in choices]
        reproduced.append(any(reproduces(client.model, got.protocol.call_form, part, returned) for part in parts))
    assert (sum(reproduced), len(reproduced)) == (client.reproduced, client.measured)


def test_the_table_of_measured_clients() -> None:
    """Each client has an existing protocol and project, and nearly all of its responses are reproduced."""
    for client in MEASURED:
        assert client.project in PROJECTS
        assert client in measured_in(client.protocol)
        assert client.protocol in {one.name for one in PROTOCOLS}
        assert client.reproduced >= 0.9 * client.measured >= 20
