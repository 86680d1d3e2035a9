"""One answer in time: what is sent when, and calls that are asked for a second time. Knows no socket."""
