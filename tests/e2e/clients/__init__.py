"""Models of clients that real streams broke, each in the state in which it was reported."""
