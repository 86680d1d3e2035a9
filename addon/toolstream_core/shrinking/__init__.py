"""The smallest reproduction: saved answers cut down to the fewest and smallest events that still show a bug."""
