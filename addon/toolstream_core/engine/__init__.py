"""Takes one answer from its bytes to its events and back."""
