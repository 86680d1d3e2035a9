"""The only place that decides which call a fragment belongs to."""

from toolstream_core.calls.open_call import OpenCall, known
from toolstream_core.calls.resolver import Calls, Heard

__all__ = ["Calls", "Heard", "OpenCall", "known"]
