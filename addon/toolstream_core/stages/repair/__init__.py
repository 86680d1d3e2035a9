"""Parts of repairs that no protocol is needed for."""
