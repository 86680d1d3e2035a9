"""Chat Completions: everything that knows how this protocol is spoken."""
