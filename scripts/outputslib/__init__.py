"""What `scripts/outputs` is made of."""
