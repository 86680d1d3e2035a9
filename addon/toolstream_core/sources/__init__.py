"""Saved answers, wherever they were saved: files, folders, standard input."""
