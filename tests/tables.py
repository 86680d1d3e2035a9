"""The injectors and shapes of each protocol, and the defects that only a repair undoes."""

from toolstream_core.protocols.registry import PROTOCOLS

INJECTORS = {protocol.name: protocol.injectors for protocol in PROTOCOLS}
SHAPES = {protocol.name: protocol.shapes for protocol in PROTOCOLS}
REPAIRED_ONLY = frozenset({"decorated-name", "missing-namespace", "trailing-garbage", "split-surrogate"})
"""Defects that the resolver does not undo: only the repair restores the intended calls."""
