"""Healthy responses that were never recorded: calls of the tools that a request offers, then a text."""
