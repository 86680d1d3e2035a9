"""Parts of repairs that need no protocol."""
