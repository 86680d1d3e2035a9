"""One client run once for each case, behind a proxy that plants it, and what the client is graded."""
