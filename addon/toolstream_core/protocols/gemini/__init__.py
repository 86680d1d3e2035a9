"""Gemini generateContent: everything that knows how this protocol is spoken."""
