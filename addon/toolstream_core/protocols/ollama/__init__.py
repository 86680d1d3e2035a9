"""Ollama's native chat: everything that knows how this protocol is spoken."""
