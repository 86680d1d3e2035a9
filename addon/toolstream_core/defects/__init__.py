"""The defects of streams: one definition (`Row`) for each."""
