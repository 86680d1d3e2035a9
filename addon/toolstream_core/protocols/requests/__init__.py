"""Requests to LLM APIs: tools on offer, options, and the earlier turns that they repeat."""
