"""The record of a response as text, JSON, JSON Lines and Markdown."""
