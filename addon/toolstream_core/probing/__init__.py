"""Compares a provider's streaming responses with its non-streaming ones."""
