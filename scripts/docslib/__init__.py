"""The generated pages of scripts/docs.py: each module has a function that returns the files of a kind of page."""
