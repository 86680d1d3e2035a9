"""Streams inside pasted text: what people copy from terminals, logs, issues and tools, made a bare stream again."""
