"""The measurements of `scripts/bench.py`."""
