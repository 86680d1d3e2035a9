"""Requests to LLM APIs: what they offer, what they ask for, and what they say of earlier answers."""
