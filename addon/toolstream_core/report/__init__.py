"""The record in the forms in which it is told."""
