"""Faults of time and of the connection: what no rewriting of events can cause."""

from toolstream_core.transit.actions import Action, Ask, Cut, Finish, Hold, How, Place, Send, Wait
from toolstream_core.transit.rows import TRANSIT, TransitFault, transit_of

__all__ = [
    "TRANSIT",
    "Action",
    "Ask",
    "Cut",
    "Finish",
    "Hold",
    "How",
    "Place",
    "Send",
    "TransitFault",
    "Wait",
    "transit_of",
]
