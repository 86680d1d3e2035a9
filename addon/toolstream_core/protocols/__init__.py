"""The protocols: a folder each, with everything that knows how that one is spoken."""
