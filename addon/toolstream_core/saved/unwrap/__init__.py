"""Streams inside pasted text: text from terminals, logs, issues and tools becomes a bare stream again."""
