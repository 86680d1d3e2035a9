"""What can be injected into each protocol, its shapes, and what only a repair restores."""

from toolstream_core.protocols.registry import PROTOCOLS

INJECTORS = {protocol.name: protocol.injectors for protocol in PROTOCOLS}
SHAPES = {protocol.name: protocol.shapes for protocol in PROTOCOLS}
REPAIRED_ONLY = frozenset({"decorated-name", "missing-namespace", "trailing-garbage", "split-surrogate"})
"""Defects whose broken stream is read as it is: only the repair restores the intended calls."""
