"""What `scripts/bench.py` measures with, a module a thing measured. Knows toolstream as its users do."""
