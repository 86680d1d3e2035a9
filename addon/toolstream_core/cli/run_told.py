"""What `toolstream run` says it has set: names of variables, added arguments, no values."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolstream_core.agents import Launch

_SHOWN: Final = ("HTTPS_PROXY", "SSL_CERT_FILE", "OPENAI_BASE_URL", "OPENAI_API_KEY")
_LOGIN: Final = re.compile(r"//[^/@\s]+@")


def told_of(started: Launch, variables: Mapping[str, str], proxy: str) -> Iterator[str]:
    """One line on all clients, and one on the agent where the command is one; `variables` are those for all."""
    shown = [name for name in _SHOWN if name in variables]
    yield f"proxy {proxy}: set {', '.join(shown)} and {len(variables) - len(shown)} more variables"
    parts = [
        f"{word} {', '.join(names)}" for word, names in (("set", started.variables), ("not", started.removed)) if names
    ]
    if started.arguments:
        parts.append(f"arguments {_LOGIN.sub('//…@', shlex.join(started.arguments))}")
    if started.agent is not None and parts:
        yield f"{started.agent.name}: {'; '.join(parts)}"
