"""Faults: which defects are caused in which streams, calls and events, by specification, chance and count."""

from toolstream_core.faults.spec import Fault, Picker, parse_fault

__all__ = ["Fault", "Picker", "parse_fault"]
