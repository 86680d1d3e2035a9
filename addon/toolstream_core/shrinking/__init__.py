"""The smallest reproduction: saved responses reduced to the fewest and smallest events that still show a bug."""
