"""What scripts/docs.py writes: a module for each page, or for the pages of one kind, with the function `files`."""
