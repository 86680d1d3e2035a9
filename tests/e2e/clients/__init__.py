"""Models of clients that failed at real streams, each in the reported version."""
