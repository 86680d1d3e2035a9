"""The protocols: one package for each, and their registry."""
