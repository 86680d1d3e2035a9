"""Stages read and rewrite the events of one stream: the part that all protocols share."""
