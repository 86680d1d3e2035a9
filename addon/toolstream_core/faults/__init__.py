"""Faults: which are injected into which streams, calls and events."""

from toolstream_core.faults.spec import Fault, Picker, parse_fault

__all__ = ["Fault", "Picker", "parse_fault"]
