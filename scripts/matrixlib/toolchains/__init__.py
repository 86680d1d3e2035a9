"""Languages in which clients are published: how their packages are pinned, installed and run."""
