"""The session view: how a client interpreted recorded responses, as a document and as a page."""
