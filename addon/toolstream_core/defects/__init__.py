"""The defects of streams: one definition (`Defect`) for each."""
