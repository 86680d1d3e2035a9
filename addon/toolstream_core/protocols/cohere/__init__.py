"""Cohere v2 chat: everything that knows how this protocol is spoken."""
