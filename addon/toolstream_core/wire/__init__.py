"""Bytes to frames and back, without loss. Knows framings and content codings, no protocol."""
