"""What a failing test prints: how to see the same outside pytest."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolstream_core.protocols.registry import PROTOCOLS, named
from toolstream_core.testing.environment import provider_variables
from toolstream_core.testing.understanding import unanswered

if TYPE_CHECKING:
    import pytest

    from toolstream_core.protocols.api import Api
    from toolstream_core.pytest_plugin.fixture import Toolstream
    from toolstream_core.testing import Setup

_PORT = 8765


def reproduction(item: pytest.Item, current: Toolstream) -> str:
    """The commands, then what the proxy told of the answers."""
    arguments = shlex.join(_relative(current.setup).arguments())
    spoken = [named(one.protocol) for one in current.requests if one.protocol] or [PROTOCOLS[0]]
    variables = provider_variables(f"http://127.0.0.1:{_PORT}")
    names = dict.fromkeys(name for protocol in spoken for name in _variables(protocol.api) if name in variables)
    lines = [reason] if not current.exchanges and (reason := unanswered([])) else []
    if current.setup.flows:
        lines += [
            "To reproduce this outside pytest:",
            f"  toolstream serve {arguments} --port {_PORT}",
            f"  export {' '.join(f'{name}={variables[name]}' for name in names)}",
            "or with the command of your client:",
            f"  toolstream run {arguments} -- COMMAND",
        ]
    else:
        lines += [f"This test has no saved flows; give some, as in @pytest.mark.toolstream({_example(item)!r})"]
    answered = [f"request {one.request.number} {one.comment}" for one in current.exchanges if one.comment]
    told = [*answered, *current.log]
    return "\n".join([*lines, *(["The proxy reported:", *(f"  {line}" for line in told)] if told else [])])


def _variables(api: Api) -> tuple[str, ...]:
    """Where a client of that API looks for its base URL and its key."""
    return api.base_url_variables[0], api.key_variables[0]


def _relative(setup: Setup) -> Setup:
    """With paths as they are said in the folder that pytest was started in."""
    return replace(setup, flows=tuple(_said(path) for path in setup.flows))


def _said(path: Path) -> Path:
    here = os.path.relpath(path.resolve())
    return path.resolve() if here.startswith(os.pardir) else Path(here)


def _example(item: pytest.Item) -> str:
    return f"flows/{item.name.partition('[')[0]}.flow"
