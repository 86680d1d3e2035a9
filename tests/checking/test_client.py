"""Several clients in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolstream_core.checking.client import Client, clients_of
from toolstream_core.errors import ToolstreamError

if TYPE_CHECKING:
    from pathlib import Path

COMMON = Client(name="", command=(), prompt="Go.", timeout=9)


def test_clients_are_read(tmp_path: Path) -> None:
    """They keep their order, and missing settings have the common values."""
    path = tmp_path / "clients.toml"
    path.write_text(
        '[clients.b]\ncommand = ["b", "{prompt}"]\nprotocol = "gemini"\nenv = {X = "1"}\n'
        '[clients.a]\ncommand = ["a"]\nprompt = "Stop."\ntimeout = 3\n'
    )
    assert clients_of(path, COMMON) == [
        Client(name="b", command=("b", "{prompt}"), protocol="gemini", environment={"X": "1"}, prompt="Go.", timeout=9),
        Client(name="a", command=("a",), prompt="Stop.", timeout=3),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[clients", "not valid TOML"),
        ("", "has no clients; expected"),
        ("[clients]\na = 1", "clients.a has no command"),
        ("[clients.a]\ncommand = 'a b'", "clients.a has no command"),
        ("[clients.a]\ncommand = ['a']\nenv = {X = 1}", "env must be a table of strings"),
        ("[clients.a]\ncommand = ['a']\nprotocol = 'x'", "unknown protocol 'x'; known are openai-chat"),
        ("[clients.a]\ncommand = ['a']\ntimeout = 'x'", "timeout must be a number"),
        ("[clients.a]\ncommand = ['a']\nprompts = 'x'", "clients.a has the unknown key 'prompts'; known are command"),
    ],
)
def test_an_invalid_file_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    """The message names what was expected, and nothing runs."""
    path = tmp_path / "clients.toml"
    path.write_text(text)
    with pytest.raises(ToolstreamError, match=message):
        clients_of(path, COMMON)
