"""What of a stream passes unparsed."""
