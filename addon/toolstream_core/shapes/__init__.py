"""Lawful but rare ways to say the same calls, one file a protocol; they are never findings."""
