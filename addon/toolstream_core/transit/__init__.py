"""Timing and connection faults, as actions without a clock."""
