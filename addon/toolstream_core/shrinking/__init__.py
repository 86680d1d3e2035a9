"""The smallest saved responses that still show a bug."""
