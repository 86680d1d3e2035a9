"""Reads and rewrites one response: bytes to events and back."""
