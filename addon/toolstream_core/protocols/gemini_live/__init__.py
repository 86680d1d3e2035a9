"""Gemini Live: everything that knows how this protocol is spoken."""
