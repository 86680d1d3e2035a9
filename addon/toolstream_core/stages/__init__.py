"""What sees the events of a stream one by one, and rewrites them: what all protocols share."""
