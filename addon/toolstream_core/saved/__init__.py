"""Saved responses of every form: read, redacted, matched to requests, and written."""
