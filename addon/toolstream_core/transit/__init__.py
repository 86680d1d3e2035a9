"""Timing and connection faults, as actions without a clock."""

from toolstream_core.transit.actions import (
    Action,
    Ask,
    BreakKind,
    Cut,
    EventPlace,
    Finish,
    Hold,
    Send,
    Wait,
    repair_cut,
)
from toolstream_core.transit.definitions import TRANSIT, TransitFault, transit_of

__all__ = [
    "TRANSIT",
    "Action",
    "Ask",
    "BreakKind",
    "Cut",
    "EventPlace",
    "Finish",
    "Hold",
    "Send",
    "TransitFault",
    "Wait",
    "repair_cut",
    "transit_of",
]
