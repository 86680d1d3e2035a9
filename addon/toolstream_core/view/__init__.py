"""The session view: what a client did with recorded responses, as a document and as a page."""
