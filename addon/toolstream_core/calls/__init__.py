"""The calls of a stream: which one a fragment belongs to, and its arguments as they grow."""

from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.parameters import Parameters
from toolstream_core.calls.resolver import Calls, ResolvedFragment

__all__ = ["Calls", "OpenCall", "Parameters", "ResolvedFragment", "nonblank"]
