"""The only place that decides which call a fragment belongs to."""

from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.resolver import Calls, ResolvedFragment

__all__ = ["Calls", "OpenCall", "ResolvedFragment", "nonblank"]
