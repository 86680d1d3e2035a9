"""Generated responses: calls of the tools that a request offers, then a text."""
