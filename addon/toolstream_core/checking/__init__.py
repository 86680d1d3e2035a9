"""Runs a client once for each case, with a proxy that injects the fault, and grades the client."""
