"""The session view, live: recorded while it passes, and served on loopback."""
