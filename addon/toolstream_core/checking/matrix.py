"""Several clients in one file: `[clients.NAME]` with `command`, and perhaps `protocol`, `env`, `prompt`, `timeout`."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.checking.run import Client
from toolstream_core.protocols.registry import PROTOCOLS

if TYPE_CHECKING:
    from pathlib import Path

_KEYS: Final = ("command", "protocol", "env", "prompt", "timeout")
_EXAMPLE: Final = '[clients.agent] with command = ["python", "agent.py"]'


class MatrixError(ValueError):
    """A file without valid clients; the message says what is expected."""


def clients_of(path: Path, usual: Client) -> list[Client]:
    """The clients in a file, in their order; `usual` has protocol, prompt and timeout of those that name none.

    Raises `MatrixError`.
    """
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MatrixError(f"--matrix: {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise MatrixError(f"{path} is not valid TOML: {error}") from error
    tables = read.get("clients")
    if not isinstance(tables, dict) or not tables:
        raise MatrixError(f"{path} has no clients; expected {_EXAMPLE}")
    return [_client(name, table, usual) for name, table in tables.items()]


def _client(name: str, table: Any, usual: Client) -> Client:
    given = table if isinstance(table, dict) else {}
    command, environment = given.get("command"), given.get("env", {})
    protocol = given.get("protocol", usual.protocol)
    if unknown := [key for key in given if key not in _KEYS]:
        raise MatrixError(f"clients.{name} has the unknown key {unknown[0]!r}; known are {', '.join(_KEYS)}")
    if not _are_texts(command) or not command:
        raise MatrixError(f"clients.{name} has no command; expected {_EXAMPLE}")
    if not isinstance(environment, dict) or not _are_texts(list(environment.values())):
        raise MatrixError(f'clients.{name}: env must be a table of strings, for example env = {{ MODEL = "small" }}')
    if protocol is not None and protocol not in {one.name for one in PROTOCOLS}:
        raise MatrixError(f"clients.{name}: unknown protocol {protocol!r}; {protocols_text()}")
    seconds = given.get("timeout", usual.timeout)
    if not isinstance(seconds, int | float) or seconds <= 0:
        raise MatrixError(f"clients.{name}: timeout must be a number of seconds, more than 0")
    return Client(
        name=name,
        command=tuple(command),
        protocol=protocol,
        environment=environment,
        prompt=str(given.get("prompt", usual.prompt)),
        timeout=float(seconds),
        workdir=usual.workdir,
    )


def protocols_text() -> str:
    """The protocols that there are, for messages."""
    return "known are " + ", ".join(one.name for one in PROTOCOLS)


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
