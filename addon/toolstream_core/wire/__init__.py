"""The wire: bytes to frames and back, losing nothing. Knows framings and codings, no protocol."""
