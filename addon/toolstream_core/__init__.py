"""The core. Imports nothing here, so that each part can be had without the others."""
