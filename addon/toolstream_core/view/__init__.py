"""The session view: what a client did with recorded responses, as one document and as a page."""
