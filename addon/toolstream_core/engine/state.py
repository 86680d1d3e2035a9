"""How far the reading of a body is."""

from __future__ import annotations

import enum


class State(enum.Enum):
    """FRAMING → RECOGNISING → READING → OVER, and from each of them to PASSING."""

    FRAMING = enum.auto()
    """It is not known yet how the body is framed."""
    RECOGNISING = enum.auto()
    """There are frames; their protocol is not known yet."""
    READING = enum.auto()
    """Events reach the stages."""
    OVER = enum.auto()
    """The answer has said its end; whatever follows is looked at."""
    PASSING = enum.auto()
    """Nothing is read any more: the body is over, is none of an LLM, or reading failed."""
