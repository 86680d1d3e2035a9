"""Why a case was skipped."""

from __future__ import annotations

import enum


class Skip(enum.StrEnum):
    """The reasons of skipped cases in reports."""

    IMPOSSIBLE = "not possible in this protocol"
    OTHER_CONNECTION = "not possible over this connection"
    NO_STREAM = "the client does not stream"
    NOTHING_TO_CHANGE = "nothing to change"
    NO_BASELINE = "its baseline did not pass"
    NOT_RUN = "not run"
