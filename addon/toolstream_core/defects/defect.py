"""The definition of a defect. Knows no stream."""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from toolstream_core.model import Finding, Severity

CHAT: Final = "openai-chat"
RESPONSES: Final = "openai-responses"
REALTIME: Final = "openai-realtime"
ANTHROPIC: Final = "anthropic"
GEMINI: Final = "gemini"
GEMINI_LIVE: Final = "gemini-live"
GEMINI_INTERACTIONS: Final = "gemini-interactions"
OLLAMA: Final = "ollama"
COHERE: Final = "cohere-v2"
BEDROCK: Final = "bedrock"
ALL_PROTOCOLS: Final = (
    *(CHAT, REALTIME, RESPONSES, ANTHROPIC, GEMINI, GEMINI_INTERACTIONS, GEMINI_LIVE, OLLAMA, COHERE, BEDROCK),
)
BLOCK_PROTOCOLS: Final = (ANTHROPIC, GEMINI_INTERACTIONS, COHERE, BEDROCK)
"""Protocols that stream content blocks: events start and stop each call."""
CHECKED_PROTOCOLS: Final = tuple(name for name in ALL_PROTOCOLS if name != GEMINI_LIVE)
"""Protocols whose streams are repaired; those of Gemini Live are only read."""

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


class Safety(enum.StrEnum):
    """Whether a repair may be switched on without naming it."""

    SAFE = "safe"
    """Proved: a correct reader sees the same calls before and after."""
    UNSAFE = "unsafe"
    """Guesses, costs a request, or turns text into an executable call: only when named."""


SAFE, UNSAFE = Safety.SAFE, Safety.UNSAFE

ID_KEYS: Final = ("id", "call_id", "tool_call_id", "toolUseId")
ITEM_KEYS: Final = ("item_id",)
NAME_KEYS: Final = ("name",)
TYPE_KEYS: Final = ("type",)
INDEX_KEYS: Final = ("index", "output_index", "contentBlockIndex")
ARGUMENT_KEYS: Final = ("arguments", "partial_json", "input", "args", "delta")
FINISH_KEYS: Final = ("finish_reason", "stop_reason", "stopReason", "status")
TEXT_KEYS: Final = ("content", "text", "delta")
"""Keys of events that findings are about, in all protocols."""

LIVE: Final = frozenset({"TS302", "TS303", "TS307"})
"""Codes of the defects whose repair needs the connection, or another request: only the proxy has those."""


class Defect(NamedTuple):
    """A defect. Its code is never used for another; its name describes the malformed stream."""

    code: str
    name: str
    family: str
    severity: Severity
    """The usual severity; a finding may be milder if all healthy streams of a provider have the defect."""
    repair: Safety | None
    protocols: tuple[str, ...]
    meaning: str
    """The problem, as part of a sentence."""
    must: str
    """The behaviour of a correct client."""
    also: tuple[str, ...] = ()
    """Names of the defects that the same stream has, or may have, wherever this one is injected."""
    lossy: bool = False
    """Whether a part of the response is lost: a client that does not run the call is correct then."""
    may_refuse: bool = False
    """Whether a client may also report it, instead of running the call."""
    keys: tuple[str, ...] = ()
    """Keys of the event that it is about; none if it is about the event, the body or the connection."""

    def found(self, event: int, message: str, call: int | None = None, *, severity: Severity | None = None) -> Finding:
        """This defect, seen at an event and perhaps in a call."""
        return Finding(self.code, self.name, severity or self.severity, event, call, message, self.repair)
