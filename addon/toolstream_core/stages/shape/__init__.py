"""Parts of shapes that no protocol is needed for."""
