"""The timing of one response, and the second request of a repair. Knows no socket."""
