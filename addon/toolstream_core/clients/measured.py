"""Client versions whose reading was measured: what they returned after streams with and without defects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.clients.model import (
    STANDARD,
    Adding,
    Id,
    Invalid,
    Kept,
    Key,
    Name,
    NoIndex,
    NoObject,
    Objects,
)
from toolstream_core.defects.row import CHAT

if TYPE_CHECKING:
    from toolstream_core.clients.model import ClientModel, Deviation


class MeasuredClient(NamedTuple):
    """A client version, and the fewest deviations that reproduce what it returned."""

    name: str
    version: str
    project: str
    """Its name in `PROJECTS`."""
    protocol: str
    deviations: tuple[Deviation, ...]
    reproduced: int
    """Responses after which it returned exactly what its model gives."""
    measured: int
    """Responses after which it sent another request."""

    @property
    def model(self) -> ClientModel:
        """As a point of the space of client models."""
        return STANDARD.having(self.deviations)


MEASURED: Final = (
    MeasuredClient("agno", "3.1.10 (openai 3.54.0)", "agno", CHAT, (Name.LAST, Id.LAST, Kept.PADDED), 43, 45),
    MeasuredClient(
        "AI SDK",
        "6.0.326 (@ai-sdk/openai-compatible 2.0.87)",
        "AI SDK",
        CHAT,
        (Key.ONLY_OF_INDEX, Id.OPENING, Invalid.EMPTY, NoObject.INVALID),
        42,
        44,
    ),
    MeasuredClient(
        "langchain-openai",
        "1.7.3 (langchain-core 1.7.2)",
        "langchain",
        CHAT,
        (Key.FIRST_OF_INDEX, Invalid.COMPLETED),
        35,
        35,
    ),
    MeasuredClient("litellm stream_chunk_builder", "1.106.2", "litellm", CHAT, (), 34, 34),
    MeasuredClient(
        "openai-agents-js",
        "0.20.0 (openai 7.57.0)",
        "openai-agents-js",
        CHAT,
        (Objects.OWN_STRING, Kept.WITH_ID),
        36,
        36,
    ),
    MeasuredClient(
        "openai-node runTools", "6.49.0", "openai-node", CHAT, (Name.LAST, Id.LAST, Objects.OWN_STRING), 36, 36
    ),
    MeasuredClient("openai-python, loop of its docs", "3.54.0", "openai-python", CHAT, (Id.OPENING,), 32, 32),
    MeasuredClient("openai-python stream helper", "3.54.0", "openai-python", CHAT, (Id.JOINED,), 25, 25),
    MeasuredClient("pi-ai", "0.51.1", "pi-ai", CHAT, (Key.CHANGED_ID,), 36, 36),
    MeasuredClient(
        "pydantic-ai",
        "2.68.0 (openai 3.54.0)",
        "pydantic-ai",
        CHAT,
        (NoIndex.ID, Name.JOINED, Id.LAST, Invalid.WRAPPED, NoObject.INVALID),
        44,
        45,
    ),
    MeasuredClient(
        "strands-agents",
        "1.62.0 (openai 2.54.0)",
        "strands",
        CHAT,
        (Adding.FINISH, Invalid.EMPTY, Kept.WITH_ID),
        42,
        43,
    ),
)


def measured_in(protocol: str) -> list[MeasuredClient]:
    """The client versions that were measured in a protocol."""
    return [one for one in MEASURED if one.protocol == protocol]
