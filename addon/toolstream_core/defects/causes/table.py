"""The table of causes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.causes.arguments import ARGUMENTS
from toolstream_core.defects.causes.finish import ENDING
from toolstream_core.defects.causes.framing import FRAMING
from toolstream_core.defects.causes.identity import IDENTITY
from toolstream_core.defects.causes.leak import LEAK

if TYPE_CHECKING:
    from toolstream_core.defects.causes.rule import Cause, Injection

INJECTIONS: Final[tuple[Injection, ...]] = (*FRAMING, *IDENTITY, *ARGUMENTS, *ENDING, *LEAK)
"""Injections that need only the fields that protocols share. The others are in the protocol's `inject`."""


def causes_for(protocol: str) -> dict[str, Cause]:
    """The causes that hold for a protocol, by the defect's name."""
    return {one.defect.name: one.cause for one in INJECTIONS if protocol in one.protocols}
